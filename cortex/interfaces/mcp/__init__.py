"""Agents ask over the Model Context Protocol: each tool is a verb under the names that agents know."""
