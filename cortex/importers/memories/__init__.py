"""Memories that agents keep, as records."""
