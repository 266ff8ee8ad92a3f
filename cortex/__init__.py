"""A memory you can read, diff and push: markdown notes in git, captured, normalized, searched."""

__version__ = "0.1.0"
