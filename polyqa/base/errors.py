"""The one exception family that a user of polyqa is meant to see."""


class PolyqaError(Exception):
    """Something the user can mend: the message says what was wrong, where, and what to do next.

    The command line prints the message on one line and exits with code 2; libraries catch this
    class to tell a user's mistake from a bug.
    """
