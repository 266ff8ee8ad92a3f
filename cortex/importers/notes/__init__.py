"""Notes, decisions and minutes that people write."""
