"""Secrets in a text, the patterns by which they are recognized; what is kept of a prompt."""
