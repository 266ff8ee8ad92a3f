"""Where things lie in a vault, and which names every file system can hold."""

from __future__ import annotations

from cortex.core.text.strings import RESERVED_STEMS

SETTINGS_FILE = "cortex.toml"
PENDING_FOLDER = "inbox/pending"
FAILED_FOLDER = "inbox/failed"
RECORDS_FOLDER = "records"

_WINDOWS_FORBIDDEN_CHARS = frozenset('<>:"|?*\\') | frozenset(map(chr, range(32)))
MAX_PATH_CHARS = 200  # characters below the vault's root: Windows allows 260 for the whole path


def pending_path(event_id: str) -> str:
    return f"{PENDING_FOLDER}/{event_id}.md"


def failed_path(event_id: str) -> str:
    return f"{FAILED_FOLDER}/{event_id}.md"


def record_path(type_: str, record_id: str) -> str:
    return f"{RECORDS_FOLDER}/{type_}/{record_id}.md"


def portability_problem(path: str) -> str:
    """Why a vault-relative path cannot be checked out everywhere; empty when it can."""
    if len(path) > MAX_PATH_CHARS:
        return f"the path has {len(path)} characters; Windows may fail beyond {MAX_PATH_CHARS}"
    for part in path.split("/"):
        if not _WINDOWS_FORBIDDEN_CHARS.isdisjoint(part):
            return f"{part!r} holds a character that Windows refuses"
        if part.endswith((" ", ".")):
            return f"{part!r} ends with a blank or a dot, which Windows drops"
        if part.split(".")[0].casefold() in RESERVED_STEMS:
            return f"{part!r} is a reserved name on Windows"
    return ""
