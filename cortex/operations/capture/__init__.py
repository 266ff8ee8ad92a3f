"""Verbs that bring something into the vault, and what hooks capture."""
