"""Briefings: the committed pages of item lines, and the text injected into a session."""
