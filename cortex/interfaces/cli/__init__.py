"""The `cortex` command."""
