"""Where things lie in a vault, and which names every file system can hold."""

from __future__ import annotations

from cortex.core.text.strings import RESERVED_STEMS

SETTINGS = "cortex.toml"
PENDING = "inbox/pending"
FAILED = "inbox/failed"
RECORDS = "records"

_WINDOWS_REFUSES = frozenset('<>:"|?*\\') | frozenset(map(chr, range(32)))
MAX_PATH = 200  # characters below the vault's root: Windows allows 260 for the whole path


def pending(event_id: str) -> str:
    return f"{PENDING}/{event_id}.md"


def failed(event_id: str) -> str:
    return f"{FAILED}/{event_id}.md"


def record(type_: str, record_id: str) -> str:
    return f"{RECORDS}/{type_}/{record_id}.md"


def name_problem(path: str) -> str:
    """Why a vault-relative path cannot be checked out everywhere; empty when it can."""
    if len(path) > MAX_PATH:
        return f"the path has {len(path)} characters; Windows may fail beyond {MAX_PATH}"
    for part in path.split("/"):
        if not _WINDOWS_REFUSES.isdisjoint(part):
            return f"{part!r} holds a character that Windows refuses"
        if part.endswith((" ", ".")):
            return f"{part!r} ends with a blank or a dot, which Windows drops"
        if part.split(".")[0].casefold() in RESERVED_STEMS:
            return f"{part!r} is a reserved name on Windows"
    return ""
