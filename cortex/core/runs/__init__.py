"""Runs of agents: their notes, their events, what is sent, and when one is due."""
