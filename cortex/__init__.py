"""A memory you can read, diff and push: markdown notes in git, captured, normalized, searched.

`from cortex import Vault` gives a vault with each verb as a method.
"""

from cortex.core import __version__ as __version__


def __getattr__(name: str) -> object:
    """`Vault`, which a command that captures does not load."""
    if name == "Vault":
        from importlib import import_module  # noqa: PLC0415  not before: commands pay for it

        return import_module("cortex.interfaces.python_api").OpenVault
    raise AttributeError(f"module 'cortex' has no attribute {name!r}")
