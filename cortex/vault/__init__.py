"""Files, locks, layout and git: the only part of Cortex that writes a vault."""
