"""The state of a vault: status, doctor, rebuild, init, hooks of agents."""
