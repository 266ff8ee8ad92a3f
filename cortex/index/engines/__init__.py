"""Full-text engines; each keeps words in a folder of the user's cache, by numbers of notes."""
