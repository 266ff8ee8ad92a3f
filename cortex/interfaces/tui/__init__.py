"""The view for a terminal: screens that each show what one verb answers."""
