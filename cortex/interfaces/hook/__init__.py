"""What hosts of agents call on every event of a session: one command, one adapter for each host."""
