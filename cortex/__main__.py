"""`python -m cortex` is the same program as the `cortex` command."""

from cortex.interfaces.cli.main import console

console()
