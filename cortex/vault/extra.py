"""Packages that only some verbs need, extras of this one: whether they are there, and how to install them."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from importlib.util import find_spec

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.strings import shell_quote

# What is imported -> what is installed, as `pyproject.toml` has it.
MCP = {"mcp": "mcp>=2.2,<3"}
WEB = {"starlette": "starlette>=1,<2", "uvicorn": "uvicorn>=0.40,<1", "nh3": "nh3>=0.3,<1"}
TUI = {"textual": "textual>=8.2,<9"}
FAST = {"tantivy": "tantivy>=0.27,<1"}
SEMANTIC = {"numpy": "numpy>=1.26,<3"}


def missing_packages(packages: Collection[str]) -> list[str]:
    """Those that are not installed, of packages by the names that are imported."""
    return [name for name in packages if find_spec(name) is None]


def require(asked: str, packages: Mapping[str, str]) -> None:
    """Raise `InvalidInputError` that names the command which installs what is missing."""
    if missing := missing_packages(packages):
        named = f"the package{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
        raise InvalidInputError(f"{asked} needs {named}", install_command(*packages.values()))


def install_command(*packages: str, alone: str = "") -> str:
    """The command that installs packages for this Python, by pipx, uv or pip; and `alone` without
    what that depends on."""
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        name = shell_quote(os.path.basename(sys.prefix))
        inject, install = f"pipx inject {name}", f"pipx runpip {name} install"
    else:
        python, has_pip = shell_quote(sys.executable), find_spec("pip")
        install = f"{python} -m pip install" if has_pip else f"uv pip install --python {python}"
        inject = install
    command = " ".join((inject, *(f"'{one}'" for one in packages)))
    return f"{command} && {install} --no-deps {alone}" if alone else command
