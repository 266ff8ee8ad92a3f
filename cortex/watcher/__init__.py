"""The watcher: keeps index, records, briefings and commits fresh while nobody asks. Nothing needs
it to run."""
