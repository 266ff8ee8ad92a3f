"""Sessions of agents: begin and end, briefings, context."""
