"""The extraction layers: each reads a text and returns candidates, and none writes anything."""
