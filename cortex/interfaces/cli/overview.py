"""The verbs on one screen: those that people use every day, or all of them."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator

from cortex.core.text.strings import close_matches
from cortex.interfaces.declare import declaration_of, load_verb
from cortex.operations import ALIASES, VERBS

DAILY_VERBS = {
    "Keep": ("capture", "save", "new"),
    "Find": ("search", "show", "history"),
    "Change": ("edit", "update", "supersede", "archive", "done"),
    "Work": ("actions", "meetings", "session", "brief"),
    "Share": ("sync", "status", "doctor"),
    "Begin": ("init", "hooks", "import"),
}
# In the order of the reference.
VERB_GROUPS = {
    "Keep": ("capture", "save", "new", "session"),
    "Agents": ("brief", "remind", "hooks", "mcp", "import", "extract", "distill", "reflect"),
    "Find": ("search", "recall", "timeline", "show", "open", "graph", "entities", "topic", "history"),
    "Act": ("actions", "plan", "meetings", "done", "status"),
    "Keep it true": (
        "edit", "update", "supersede", "relate", "pin", "archive", "restore", "delete", "lifecycle", "prune", "consolidate", "promote", "project",
    ),
    "Share": ("sync", "merge", "git", "heal", "watch"),
    "Look after": ("init", "normalize", "retry", "doctor", "rebuild", "embed", "schema", "completion"),
}  # fmt: skip
SUMMARY_CHARS = 61  # of a verb, so that it stands in one line of 80 columns
HOOK_SUMMARY = "Called by an agent's host; cortex hooks install wires it."
_NARROW = 64  # columns, below which headings get a line of their own


def lines(*, all_verbs: bool = False) -> Iterator[str]:
    """The overview, each verb with its first sentence, as wide as the terminal."""
    width = terminal_width()
    is_beside = not all_verbs and width >= _NARROW
    yield from textwrap.wrap("usage: cortex VERB ...   a memory you can read, diff and push", width)
    for heading, names in (VERB_GROUPS if all_verbs else DAILY_VERBS).items():
        if not is_beside:
            yield from ("", heading)
        for name in names:
            lead = f"{heading if name == names[0] else '':<7}" if is_beside else "  "
            yield from _entry_lines(lead, name, declaration_of(load_verb(name)).summary, width)
    if all_verbs:
        yield from _entry_lines("  ", "hook", HOOK_SUMMARY, width)
        yield from ("", "Other names")
        for alias, words in ALIASES.items():
            yield f"  {alias:<12}cortex {' '.join(words)}"
    more = "" if all_verbs else "; cortex --help --all lists the rest"
    yield from textwrap.wrap(f"cortex VERB --help explains a verb{more}.", width)


def terminal_width() -> int:
    """The columns of the terminal, from 40 to 100; 80 where there is none."""
    return min(max(shutil.get_terminal_size().columns, 40), 100)


def suggest_verb(name: str) -> str:
    """What somebody may have meant who typed a verb that there is not."""
    known = [*VERBS, *ALIASES, "hook", "help", "version"]
    close = close_matches(name, known, 1, 0.7)
    close = close or [one for one in VERBS if len(name) > 2 and one.startswith(name)]
    return f"did you mean cortex {close[0]}?" if close else "cortex --help"


def _entry_lines(lead: str, name: str, summary: str, width: int) -> Iterator[str]:
    """The name and beside it its summary, wrapped."""
    start = f"{lead}{name:<12}"
    indent = " " * len(start)
    yield from textwrap.wrap(
        summary, width, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False
    )
