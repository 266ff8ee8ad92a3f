"""Where Cortex's own folders lie in a vault: at its root, or together below one folder of it."""

from __future__ import annotations

from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

SETTINGS_FILE = "cortex.toml"
BRIEFINGS_FOLDER = "briefings"
VIEWS_FOLDER = "views"  # tables of Obsidian, which go along with the settings
QUEUE, ACTIVE = "runs/queue", "runs/active"  # of runs that wait, and that an agent is at
OWN_FOLDERS = ("inbox", "events", "records", "sessions", BRIEFINGS_FOLDER)
# Below whatever folder, so that a clone in which they lie elsewhere is understood: at the root of
# the vault every file of these folders, elsewhere those that are named as Cortex names them.
_EVENT_PATH_RE = lazy_re(
    r"(?:events|inbox)/|.*/inbox/(?:pending|failed)/|.*/events/(?:.*/)?\d{8}t\d{6}z-[^/]*\.md$"
)
# What Cortex writes below `runs/` and git keeps: a person may have notes of theirs there.
_RUN_FILE_RE = lazy_re(
    r"runs/(?:\.gitignore|\d{4}/\d\d/run-\d{8}t\d{6}z-[0-9a-f]{6}(?:\.md|\.d/\d+\.json)|output/.+)"
)


class Layout(NamedTuple):
    """The folders of one vault. Paths are vault-relative, with slashes."""

    folder: str = ""  # `cortex`, `meta/cortex`; empty: the root of the vault

    def path(self, below: str) -> str:
        """The path of what has `below` as its path in a vault without a folder for Cortex."""
        return f"{self.folder}/{below}" if self.folder else below

    def below(self, path: str) -> str:
        """The reverse of `path`; empty for a path outside the folder."""
        if not self.folder:
            return path
        return path[len(self.folder) + 1 :] if path.startswith(f"{self.folder}/") else ""

    def is_in(self, path: str, *folders: str) -> bool:
        """True if a path lies below one of these folders of Cortex."""
        return self.own_folder(path) in folders

    def own_folder(self, path: str) -> str:
        """The one of `OWN_FOLDERS` that a path lies below; empty if it lies in none."""
        first, slash, _ = self.below(path).partition("/")
        return first if slash and first in OWN_FOLDERS else ""

    def is_run_file(self, path: str) -> bool:
        """True for the file of a run that has ended, for what it wrote, and for the folder's rules."""
        return _RUN_FILE_RE.fullmatch(self.below(path)) is not None

    def event(self, id_: str) -> str:
        """The path of a normalized event."""
        return self.path(f"events/{id_[:4]}/{id_[4:6]}/{id_}.md")

    def pending(self, id_: str = "") -> str:
        """The path of an event that waits for `cortex normalize`; of its folder without an id."""
        return self.path(f"inbox/pending/{id_}.md" if id_ else "inbox/pending")

    def failed(self, id_: str = "") -> str:
        """The path of an event that could not be normalized; of its folder without an id."""
        return self.path(f"inbox/failed/{id_}.md" if id_ else "inbox/failed")

    def record(self, type_: str, id_: str) -> str:
        """The path of a new record."""
        return self.path(f"records/{type_}/{id_}.md")


AT_ROOT = Layout()


def is_event_path(path: str) -> bool:
    """True if this is where events lie, normalized or not."""
    return _EVENT_PATH_RE.match(path) is not None


def inbox_status(path: str) -> str:
    """What the place of an event says of it: pending, failed or normalized; else empty."""
    if not is_event_path(path):
        return ""
    if "/inbox/pending/" in f"/{path}":
        return "pending"
    return "failed" if "/inbox/failed/" in f"/{path}" else "normalized"


def is_among_briefings(path: str) -> bool:
    """True if a path lies where briefings do; other notes may lie there, too."""
    return f"/{BRIEFINGS_FOLDER}/" in f"/{path}"
