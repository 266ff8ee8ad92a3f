"""`python -m cortex` is the same program as the `cortex` command."""

from cortex.interfaces.entry import console

console()
