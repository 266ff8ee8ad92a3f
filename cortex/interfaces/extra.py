"""Packages that only some interfaces need, extras of this one: whether they are there, and how to install them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.strings import shell_quote

# What is imported -> what is installed, as `pyproject.toml` has it.
MCP = {"mcp": "mcp>=2.2,<3"}
WEB = {"starlette": "starlette>=1,<2", "uvicorn": "uvicorn>=0.40,<1", "nh3": "nh3>=0.3,<1"}
TUI = {"textual": "textual>=8.2,<9"}


def require(asked: str, packages: Mapping[str, str]) -> None:
    """Raise `InvalidInputError` that names the command which installs what is missing."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        named = f"the package{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
        raise InvalidInputError(f"{asked} needs {named}", _install_hint(packages))


def _install_hint(packages: Mapping[str, str]) -> str:
    """The command that installs the packages for this Python: by pipx, uv or pip."""
    named = " ".join(f"'{one}'" for one in packages.values())
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx inject {os.path.basename(sys.prefix)} {named}"
    python = shell_quote(sys.executable)
    if find_spec("pip") is None:
        return f"uv pip install --python {python} {named}"
    return f"{python} -m pip install {named}"
