"""The values that everything else is about: events, records, sessions, topics, problems."""
