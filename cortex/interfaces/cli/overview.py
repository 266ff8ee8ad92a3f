"""All verbs on one screen, in the order in which a day of work meets them."""

from __future__ import annotations

from collections.abc import Iterator

from cortex.core.text.strings import close_matches
from cortex.interfaces.declare import declaration_of, load_verb
from cortex.operations import VERBS

VERB_GROUPS = {
    "Keep": ("capture", "save", "passive", "new", "session"),
    "Agents": ("brief", "remind", "hooks", "import", "extract", "distill"),
    "Find": ("search", "recall", "timeline", "show", "open", "context", "graph", "entities", "topic", "history"),
    "Act": ("actions", "meetings", "done", "status"),
    "Keep it true": (
        "edit", "update", "supersede", "relate", "unrelate", "pin", "unpin", "archive", "restore", "delete", "forget", "score", "lifecycle", "prune",
        "consolidate", "promote", "project",
    ),
    "Share": ("sync", "merge", "git", "heal", "watch"),
    "Look after": ("init", "layout", "normalize", "retry", "doctor", "rebuild", "schema", "completion"),
}  # fmt: skip
# The command that is no verb.
_HOOK = "What an agent's host calls on an event of a session; `cortex hooks install` wires it."


def lines() -> Iterator[str]:
    """The overview, each verb with its first sentence."""
    yield from ("usage: cortex VERB ...", "", "A memory you can read, diff and push.")
    for heading, names in VERB_GROUPS.items():
        if there := [name for name in names if name in VERBS]:
            yield from ("", heading)
        for name in there:
            yield f"  {name:<12}{declaration_of(load_verb(name)).summary}"
    yield f"  {'hook':<12}{_HOOK}"
    yield from ("", "cortex VERB --help explains a verb, with an example.", "")


def suggest_verb(name: str) -> str:
    """What somebody may have meant who typed a verb that there is not."""
    close = close_matches(name, VERBS, 1) or [one for one in VERBS if one.startswith(name[:3])]
    return f"did you mean cortex {close[0]}?" if close else "cortex --help"
