"""The default full-text engine: Whoosh, with postings and segments of our own."""
