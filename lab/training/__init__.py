"""How the shipped weights were made: trainers of the span reader, the writer of questions and the verifier of findings.

Commands, each with ``--help``: ``python -m lab.training.train_reader``, ``… .train_writer``, ``… .mix_readers``,
``… .reader_data``, ``… .findings`` and ``… .train_verifier``. Importing this package loads no model.
"""
