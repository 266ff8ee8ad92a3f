"""The files that Cortex starts notes and vaults from; they ship inside the package."""

from __future__ import annotations

import os

from cortex.core.model.problem import NotFoundError
from cortex.core.text.lazy_re import lazy_re

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# In the wheel they lie in the package; in a checkout beside it, where people look for them.
_SEARCH_FOLDERS = (
    os.path.join(_PACKAGE_FOLDER, "templates"),
    os.path.join(os.path.dirname(_PACKAGE_FOLDER), "templates"),
    os.path.join(os.path.dirname(_PACKAGE_FOLDER), "plugins", "claude"),  # its commands
)
_NAME_RE = lazy_re(r"(?:(?:agents?|completion|prompts|commands)/)?[a-z][a-z.-]{0,30}")


def read_template(name: str) -> str:
    """The text of a template; `NotFoundError` when there is none of that name."""
    for folder in _SEARCH_FOLDERS:
        path = os.path.join(folder, name)
        if _NAME_RE.fullmatch(name) and os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
    hint = f"templates: {', '.join(list_template_names())}"
    raise NotFoundError(f"there is no template {name!r}", hint)


def list_template_names(room: str = "") -> list[str]:
    """The types of note that have a template of their own; of a `room`, as `prompts`, its texts."""
    folders = (os.path.join(folder, room) for folder in _SEARCH_FOLDERS)
    folder = next((folder for folder in folders if os.path.isdir(folder)), "")
    names = os.listdir(folder) if folder else ()
    return sorted(name.removesuffix(".md") for name in names if name.endswith(".md"))
