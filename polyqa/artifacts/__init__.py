"""Compiled programs as they are kept: the state of their predictors, a card, and what tells two programs apart."""
