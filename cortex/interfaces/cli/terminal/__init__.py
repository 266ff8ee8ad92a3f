"""What a terminal is, what is asked there, and how a long answer comes to it."""
