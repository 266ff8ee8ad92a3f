"""What a model makes of a session: the prompt, the check of its answer, the records of it."""
