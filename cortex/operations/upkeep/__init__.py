"""Bring a vault up to date: what waits is normalized, what merges lost comes back, briefings are healed."""
