"""An attack on polyqa: what is lost, what is run, what crashes, and what goes wrong without a word.

python -m lab.faults --help
"""
