"""The files that Cortex starts notes and vaults from; they ship inside the package."""

from __future__ import annotations

import os
import re

from cortex.core.model.problem import NotFound

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# In the wheel they lie in the package; in a checkout beside it, where people look for them.
_FOLDERS = (
    os.path.join(_PACKAGE, "templates"),
    os.path.join(os.path.dirname(_PACKAGE), "templates"),
)
_NAME = re.compile(r"(?:agent/)?[a-z][a-z.-]{0,30}")


def template(name: str) -> str:
    """The text of a template; `NotFound` when there is none of that name."""
    for folder in _FOLDERS:
        path = os.path.join(folder, name)
        if _NAME.fullmatch(name) and os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
    raise NotFound(f"there is no template {name!r}", f"templates: {', '.join(template_names())}")


def template_names() -> list[str]:
    """The types of note that have a template of their own."""
    folder = next((folder for folder in _FOLDERS if os.path.isdir(folder)), "")
    return (
        sorted(name.removesuffix(".md") for name in os.listdir(folder) if name.endswith(".md"))
        if folder
        else []
    )
