"""Secrets in a text and the patterns by which they are recognized."""
