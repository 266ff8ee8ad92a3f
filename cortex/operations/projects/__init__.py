"""Projects, and records that move between them and a person's own vault."""
