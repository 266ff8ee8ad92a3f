"""Foreign formats, read into values of the core. Nothing here writes, and nothing unknown is an error."""
