"""Runs of agents: asked for, run, followed, stopped; agents and what they are trusted with."""
