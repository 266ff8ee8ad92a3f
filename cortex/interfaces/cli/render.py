"""What verbs answer, as text for a person and as JSON for a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, TextIO

from cortex.core.model.event import is_event_id
from cortex.core.model.note_status import MATCH_END, MATCH_START
from cortex.core.text.agent_escape import escape_for_agent
from cortex.interfaces.cli import text
from cortex.interfaces.cli.view import BOLD, DIM, OFF, YELLOW, View, finish, note_paths
from cortex.interfaces.escape_terminal import escape
from cortex.operations import VERBS
from cortex.vault.files import iter_chunks

FRAMED_VERBS = ("brief", "remind")  # their text is neutral, in a frame of ours
# Rooms of verbs whose answers another room's module renders: of `operations/find` that is `render_find`.
_RENDERED_WITH = {"distill": "sessions", "projects": "records", "share": "care", "upkeep": "care"}
_TEXT_OF_VERB: dict[str, Callable[[Any], Iterable[str]]] = {
    "completion": lambda answer: answer.script.splitlines(),
    "tui": lambda _answer: (),  # the person has seen it
}
_EXIT_INTERRUPTED = 130  # as a shell counts a program that Ctrl-C ended
_FINDING_VERBS = ("actions", "backlinks", "graph", "meetings", "recall", "remind", "search")
_PROBLEM_VERBS = ("agents", "doctor", "embed", "init", "lifecycle", "upgrade")
# verb -> True (exit code 1) if the answer is no: no hits, a failed event, a problem found by doctor
_IS_NEGATIVE: dict[str, Callable[[Any], object]] = {
    **dict.fromkeys(_FINDING_VERBS, lambda answer: not answer.hits),
    **dict.fromkeys(_PROBLEM_VERBS, lambda answer: answer.problems),
    **dict.fromkeys(("prune", "reset"), lambda answer: answer.confirm),
    **dict.fromkeys(("git", "hooks"), lambda answer: answer.action == "status" and answer.problems),
    "distill": lambda answer: any(session.outcome == "failed" for session in answer.sessions),
    "entities": lambda answer: answer.name and not answer.entities,
    "export": lambda answer: answer.problems or not answer.notes,
    "extract": lambda answer: not (answer.replay.notes if answer.replay else answer.found),
    "archive": lambda answer: answer.outcome in ("unclear", "none"),
    "heal": lambda answer: answer.stale,
    "import": lambda answer: any(one.hint for one in answer.problems) or not answer.found,
    "mcp": lambda answer: any(one.fault for one in answer.changes),
    "index-code": lambda answer: not answer.sources,
    "merge": lambda answer: not answer.clean,
    "normalize": lambda answer: answer.failed or answer.problems,
    "project": lambda answer: not (answer.projects or answer.name or answer.merge),
    "erase": lambda answer: answer.confirm or not answer.places,
    "run": lambda answer: (
        not answer.runs or (answer.outcome == "ended" and answer.runs[0].status != "finished")
    ),
    "restore": lambda answer: any(hit.outcome == "refused" for hit in answer.hits),
    "session": lambda answer: (
        answer.outcome == "captured" or not (answer.id or answer.session or answer.hits)
    ),
    "sync": lambda answer: answer.trouble or answer.waiting or answer.held or answer.refused,
    "topic": lambda answer: not (answer.hits or answer.suggested),
    "watch": lambda answer: answer.refused,
}


def print_answer(verb: str, answer: Any, out: TextIO, view: View) -> None:
    """Print the answer; in colour on a terminal alone.

    Elsewhere an agent may read it: a text that was asked for is printed as it is, and lines about
    notes are escaped for an agent.
    """
    if not view.width and (pieces := _raw_content(verb, answer)) is not None:
        for piece in pieces:
            if hasattr(out, "buffer"):
                out.flush()
                out.buffer.write(piece)
            else:
                out.write(piece.decode("utf-8", "surrogateescape"))
        return
    shown = finish(marked_text(verb, answer), view)
    for code in (BOLD, DIM, YELLOW, OFF) if not view.color else ():
        shown = shown.replace(code, "")
    if not view.width and not is_framed(verb, answer):
        shown = escape_for_agent(f"\n{shown}")[1:]  # the first line begins one too
    if shown:
        out.write(shown + "\n")


def marked_text(verb: str, answer: Any) -> str:
    """The answer as its renderer gives it: `view.finish` makes text of it."""
    return "\n".join(_text_renderer(verb)(answer))


def print_paths(answer: Any, out: TextIO, view: View) -> None:
    """The paths of the notes of a list, one a line, each once."""
    paths = note_paths(answer, view.cwd)
    out.writelines(f"{escape(path) if view.width else path}\n" for path in paths)


def _raw_content(verb: str, answer: Any) -> Iterable[bytes] | None:
    """The bytes of the text that this answer is; None where it is a page about several things."""
    if verb == "completion":
        return [answer.script.encode()]
    if verb == "show" and not answer.parts:
        return iter_chunks(answer.file.removesuffix(answer.path), answer.path)
    if verb == "history" and answer.at:
        # What an event says is no file: a line end is only the end of what is printed.
        end = "\n" if is_event_id(answer.at) and not answer.text.endswith("\n") else ""
        return [f"{answer.text}{end}".encode("utf-8", "surrogateescape")]
    return None


def is_framed(verb: str, answer: Any) -> bool:
    """Whether what is printed stands in a frame of ours, and is neutral inside."""
    return verb in FRAMED_VERBS and (verb != "brief" or answer.print)


def exit_code(verb: str, answer: Any) -> int:
    """0 for yes, 1 for no, 130 for an import that Ctrl-C ended."""
    if verb == "import" and answer.stopped:
        return _EXIT_INTERRUPTED
    is_negative = _IS_NEGATIVE.get(verb)
    return int(bool(is_negative and is_negative(answer)))


def _text_renderer(verb: str) -> Callable[[Any], Iterable[str]]:
    """The function named like the verb in its room's module, or `change_lines`."""
    module, function = VERBS[verb]
    if verb in _TEXT_OF_VERB:
        return _TEXT_OF_VERB[verb]
    if not module.startswith("operations."):
        return lambda answer: map(escape, answer.lines())
    room = module.split(".")[1]
    renderers = import_module(f"cortex.interfaces.cli.render_{_RENDERED_WITH.get(room, room)}")
    renderer: Callable[[Any], Iterable[str]] = getattr(renderers, function, text.change_lines)
    return renderer


def as_json(value: Any) -> Any:
    """An answer, or a part of one, as JSON values: a tuple with names becomes an object."""
    if hasattr(value, "_asdict"):
        # `from_` is `from`, a word that Python keeps for itself.
        fields = {key.rstrip("_"): as_json(item) for key, item in value._asdict().items()}
        if isinstance(fields.get("hit"), dict):  # a note with more about it: one object
            fields = fields.pop("hit") | fields
        elif "snippet" in fields:  # a hit, wherever it stands
            fields["snippet"] = fields["snippet"].replace(MATCH_START, "").replace(MATCH_END, "")
        return fields
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return value
