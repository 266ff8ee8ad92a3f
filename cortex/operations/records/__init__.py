"""Verbs that change records: update, relate, pin, supersede, archive, delete, restore."""
