"""The files that Cortex starts notes and vaults from; they ship inside the package."""

from __future__ import annotations

import os
import re

from cortex.core.model.problem import NotFoundError

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# In the wheel they lie in the package; in a checkout beside it, where people look for them.
_SEARCH_FOLDERS = (
    os.path.join(_PACKAGE_FOLDER, "templates"),
    os.path.join(os.path.dirname(_PACKAGE_FOLDER), "templates"),
)
_NAME_RE = re.compile(r"(?:(?:agent|completion)/)?[a-z][a-z.-]{0,30}")


def read_template(name: str) -> str:
    """The text of a template; `NotFoundError` when there is none of that name."""
    for folder in _SEARCH_FOLDERS:
        path = os.path.join(folder, name)
        if _NAME_RE.fullmatch(name) and os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
    hint = f"templates: {', '.join(list_template_names())}"
    raise NotFoundError(f"there is no template {name!r}", hint)


def list_template_names() -> list[str]:
    """The types of note that have a template of their own."""
    folder = next((folder for folder in _SEARCH_FOLDERS if os.path.isdir(folder)), "")
    names = os.listdir(folder) if folder else ()
    return sorted(name.removesuffix(".md") for name in names if name.endswith(".md"))
