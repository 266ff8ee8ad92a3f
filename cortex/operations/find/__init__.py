"""Verbs that read: search, recall, show, graph and their kin."""
