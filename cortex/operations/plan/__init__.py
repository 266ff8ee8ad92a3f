"""What is to be done: actions and the meetings that they come from."""
