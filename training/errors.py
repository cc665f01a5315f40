"""The one error that a user of the training commands is meant to see."""


class TrainingError(Exception):
    """Something the user can mend: the message says what was wrong, where, and what to do next."""
