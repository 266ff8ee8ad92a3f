"""The files that Cortex starts notes and vaults from; they ship inside the package."""

from __future__ import annotations

import os
import re
from datetime import datetime

from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.core.text.lazy_re import lazy_re
from cortex.vault import files
from cortex.vault.layout import layout_of

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# In the wheel they lie in the package; in a checkout beside it, where people look for them.
_SEARCH_FOLDERS = (
    os.path.join(_PACKAGE_FOLDER, "templates"),
    os.path.join(os.path.dirname(_PACKAGE_FOLDER), "templates"),
    os.path.join(os.path.dirname(_PACKAGE_FOLDER), "plugins", "claude"),  # its commands
)
_NAME_RE = lazy_re(r"(?:(?:agents?|completion|prompts|commands|views)/)?[A-Za-z][a-z.-]{0,30}")

_PLACEHOLDER_RE = lazy_re(r"\{\{([^{}]*)\}\}")
_LETTERS_RE = lazy_re(r"([A-Za-z])\1*")
_CODES = {"YYYY": "%Y", "YY": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "DD": "%d", "dddd": "%A", "ddd": "%a", "HH": "%H", "mm": "%M"}  # fmt: skip
_MAX_BYTES = 64 * 1024  # of a vault's own


def read_note_template(root: str, type_: str) -> tuple[str, str]:
    """What notes of a type begin with, of the vault or the package, else as a `note`; and its path."""
    for name in (type_, "note"):
        if files.exists(root, path := layout_of(root).path(f"templates/{name}.md")):
            return read_own(root, path)
        if name in list_template_names():
            break
    return read_template(f"{name}.md"), f"{name}.md"


def read_own(root: str, path: str) -> tuple[str, str]:
    """The text of a person's template, and its path. Raises `CortexError` if it cannot be read."""
    try:
        return files.read(root, path, _MAX_BYTES).decode("utf-8-sig"), path
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}", "mend it") from error


def fill_template(text: str, path: str, at: datetime, title: str, project: str = "") -> str:
    """A template with its words. Raises `InvalidInputError` for a placeholder that there is not."""
    known = {"title": title, "project": project, "date": f"{at:%Y-%m-%d}", "time": f"{at:%H:%M}", "cursor": ""}  # fmt: skip

    def value(found: re.Match[str]) -> str:
        name, _, form = found[1].strip().partition(":")
        try:
            return format_moment(at, {"date": form, "time": form}[name]) if form else known[name]
        except KeyError:
            hint = f"it may have {', '.join(f'{{{{{one}}}}}' for one in known)}"
            raise InvalidInputError(f"{path}: {found[0]} is unknown", hint) from None

    return _PLACEHOLDER_RE.sub(value, text)


def format_moment(at: datetime, form: str) -> str:
    """A time in a simple form of Obsidian's. `KeyError` if it has other letters."""
    return at.strftime(_LETTERS_RE.sub(lambda found: _CODES[found[0]], form.replace("%", "%%")))


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
