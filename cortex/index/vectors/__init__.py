"""Vectors of passages, to find notes by meaning; `semantic.py` is what search asks."""

FOLDER = "vectors"  # of the cache of a vault
