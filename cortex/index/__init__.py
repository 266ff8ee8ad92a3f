"""Views that can be deleted and rebuilt from the notes at any time."""
