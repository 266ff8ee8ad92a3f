"""The watcher: an optional daemon that keeps index, records, briefings and commits fresh."""
