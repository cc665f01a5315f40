"""How the embedded models were made: trainers of the span reader and of the writer of questions.

Commands, each with ``--help``: ``python -m lab.training.train_reader``, ``… .train_writer``, ``… .mix_readers`` and
``… .reader_data``. Importing this package loads no model.
"""
