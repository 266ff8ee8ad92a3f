"""Vectors of passages, to find notes by meaning; `semantic.py` is what search asks."""
