"""Pure values and functions: no file, no clock, no randomness; those come in as arguments."""
