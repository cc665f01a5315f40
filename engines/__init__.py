"""Language models that run in this process, behind DSPy's engine contract."""
