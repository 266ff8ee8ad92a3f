"""Codex's own memory. MEMORY.md is the source of truth: a record for each of its groups of tasks.
Each rollout's summary becomes a session. `raw_memories.md` and `memory_summary.md` say the same in
other words: they are read only where there is no MEMORY.md yet."""

from __future__ import annotations

import os
from collections.abc import Iterator

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import slugify
from cortex.importers.archive import Archive
from cortex.importers.item import ForeignItem, ForeignRecord, ForeignSession, ForeignTurn, items_of

_FILES = ("MEMORY.md", "raw_memories.md", "memory_summary.md")
_GROUP_RE = lazy_re(r"(?m)^# (?=Task Group:)")
_CWD_RE = lazy_re(r"\bcwd=([^\s;,]+)")


def accepts(path: str) -> bool:
    """Whether a folder is the memory of Codex."""
    return any(os.path.isfile(os.path.join(path, name)) for name in _FILES[1:])


def read(path: str) -> Iterator[ForeignItem]:
    """A record for each group of tasks, and a session for each rollout's summary."""
    archive = Archive(path, None)
    names = [name for name in archive.names(".md") if name.startswith("rollout_summaries/")]
    truth = next((one for one in _FILES if os.path.isfile(os.path.join(path, one))), "")
    if not truth and not names:
        message = f"{path} holds no memory of Codex"
        raise InvalidInputError(message, "name the folder: ~/.codex/memories")
    at = os.stat(os.path.join(path, truth)).st_mtime
    for group in _GROUP_RE.split(archive.read(truth)) if truth else ():
        head, _, text = group.strip().partition("\n")
        title, folder = head.removeprefix("Task Group:").lstrip("# ").strip(), _CWD_RE.search(text)
        topic = f"codex-memory/{slugify(title, 80)}"
        if text.strip():
            project = folder[1].rstrip("/") if folder else ""
            key, text = f"{truth}: {title}", text.strip()
            yield ForeignRecord(key, title, text, "context", at, project=project, topic=topic)
    rows = ({"id": name, "text": archive.read(name)} for name in names)
    yield from items_of(rows, lambda row: _session(row["text"]), "")
    yield from archive.problems


def _session(summary: str) -> ForeignSession:
    head, _, text = summary.partition("\n\n")
    told = dict(line.partition(": ")[::2] for line in head.splitlines())
    at, folder, branch = told["updated_at"], told.get("cwd", ""), told.get("git_branch", "")
    turns = (ForeignTurn("summary", at, summary=text),)
    return ForeignSession(told["thread_id"], turns, "", "codex", "", folder, branch, at)
