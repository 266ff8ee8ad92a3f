"""What verbs answer, as text for a person and as JSON for a program."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, TextIO

from cortex.core.model.event import is_event_id
from cortex.core.model.note_status import MATCH_END, MATCH_START
from cortex.core.text.agent_escape import escape_for_agent
from cortex.interfaces.cli import text
from cortex.interfaces.escape_terminal import escape
from cortex.operations import VERBS
from cortex.vault.files import iter_chunks

_FRAMED_VERBS = ("brief", "remind")  # their text is neutral, in a frame of ours
_EXIT_INTERRUPTED = 130  # as a shell counts a program that Ctrl-C ended
# verb -> True (exit code 1) if the answer is no: no hits, a failed event, a problem found by doctor
_IS_NEGATIVE: dict[str, Callable[[Any], object]] = {
    "actions": lambda answer: not answer.hits,
    "distill": lambda answer: any(one.outcome == "failed" for one in answer.sessions),
    "doctor": lambda answer: answer.problems,
    "entities": lambda answer: answer.name and not answer.entities,
    "extract": lambda answer: not (answer.replay.notes if answer.replay else answer.found),
    "forget": lambda answer: answer.outcome in ("unclear", "none"),
    "git": lambda answer: answer.action == "status" and answer.problems,
    "graph": lambda answer: not answer.hits,
    "heal": lambda answer: answer.stale,
    "hooks": lambda answer: answer.action == "status" and answer.problems,
    "import": lambda answer: answer.problems,
    "lifecycle": lambda answer: answer.problems,
    "meetings": lambda answer: not answer.hits,
    "merge": lambda answer: not answer.clean,
    "normalize": lambda answer: answer.failed or answer.problems,
    "project": lambda answer: not getattr(answer, "projects", True),
    "prune": lambda answer: answer.confirm or (answer.done and answer.kept),
    "recall": lambda answer: not answer.hits,
    "remind": lambda answer: not answer.hits,
    "restore": lambda answer: any(one.outcome == "refused" for one in answer.hits),
    "search": lambda answer: not answer.hits,
    "session": lambda answer: (
        getattr(answer, "outcome", "") == "captured" or not getattr(answer, "hits", True)
    ),
    "sync": lambda answer: answer.trouble or answer.waiting,
    "topic": lambda answer: not (answer.hits or answer.suggested),
    "watch": lambda answer: answer.refused,
}


def as_json(answer: Any) -> object:
    """The answer as JSON values: a tuple with names becomes an object."""
    fields = _to_json(answer)
    assert isinstance(fields, dict)
    return fields


def print_answer(verb: str, answer: Any, out: TextIO) -> None:
    """Print the answer; in colour on a terminal alone.

    Elsewhere an agent may read it: a text that was asked for is printed as it is, and lines about
    notes are escaped for an agent.
    """
    if not out.isatty() and (pieces := _raw_content(verb, answer)) is not None:
        for piece in pieces:
            _write_bytes(out, piece)
        return
    paint = out.isatty() and "NO_COLOR" not in os.environ
    shown = "\n".join(_text_renderer(verb)(answer))
    for code in (text.BOLD, text.DIM, text.YELLOW, text.OFF) if not paint else ():
        shown = shown.replace(code, "")
    if not out.isatty() and verb not in _FRAMED_VERBS:
        shown = escape_for_agent(f"\n{shown}")[1:]  # the first line begins one too
    if shown:
        out.write(shown + "\n")


def _raw_content(verb: str, answer: Any) -> Iterable[bytes] | None:
    """The bytes of the text that this answer is; None where it is a page about several things."""
    if verb == "completion":
        return [answer.script.encode()]
    if verb == "show":
        return iter_chunks(answer.file.removesuffix(answer.path), answer.path)
    if verb == "history" and answer.at:
        # What an event says is no file: a line end is only the end of what is printed.
        end = "\n" if is_event_id(answer.at) and not answer.text.endswith("\n") else ""
        return [f"{answer.text}{end}".encode("utf-8", "surrogateescape")]
    return None


def _write_bytes(out: TextIO, data: bytes) -> None:
    if hasattr(out, "buffer"):
        out.flush()
        out.buffer.write(data)
    else:
        out.write(data.decode("utf-8", "surrogateescape"))


def exit_code(verb: str, answer: Any) -> int:
    """0 for yes, 1 for no, 130 for an import that Ctrl-C ended."""
    if verb == "import" and answer.stopped:
        return _EXIT_INTERRUPTED
    return int(bool(verb in _IS_NEGATIVE and _IS_NEGATIVE[verb](answer)))


def _text_renderer(verb: str) -> Callable[[Any], Iterable[str]]:
    """The function of the verb's name in `render_ROOM`; no other room's renderers are loaded."""
    module, function = VERBS[verb]
    if verb == "completion":
        return lambda answer: answer.script.splitlines()
    if not module.startswith("operations."):
        return lambda answer: map(escape, answer.lines())
    room = import_module(f"cortex.interfaces.cli.render_{module.split('.')[-2]}")
    renderer: Callable[[Any], Iterable[str]] = getattr(room, function, text.change_lines)
    return renderer


def _to_json(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        # `from_` is `from`, a word that Python keeps for itself.
        fields = {key.rstrip("_"): _to_json(item) for key, item in value._asdict().items()}
        if isinstance(fields.get("hit"), dict):  # a note with more about it: one object
            fields = fields.pop("hit") | fields
        elif "snippet" in fields:  # a hit, wherever it stands
            fields["snippet"] = fields["snippet"].replace(MATCH_START, "").replace(MATCH_END, "")
        return fields
    if isinstance(value, dict):
        return {key: _to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(item) for item in value]
    return value
