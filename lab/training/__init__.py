"""How the shipped weights were made: trainers of the span reader, the writer of questions and the reader of passages.

Commands, each with ``--help``: ``python -m lab.training.train_reader``, ``… .train_writer``, ``… .mix_readers``,
``… .reader_data``, ``… .passages`` and ``… .train_passages``. Importing this package loads no model.
"""
