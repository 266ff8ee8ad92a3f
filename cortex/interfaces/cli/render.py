"""What verbs answer, as text for a person and as JSON for a program."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, TextIO

from cortex.core.model.event import is_event_id
from cortex.core.model.note_status import MATCH_END, MATCH_START, SET_ASIDE_STATUSES
from cortex.core.text.agent_escape import escape_for_agent
from cortex.interfaces.cli.style import (
    BOLD,
    DIM,
    OFF,
    YELLOW,
    format_count,
    problem_lines,
)
from cortex.interfaces.escape_terminal import escape
from cortex.vault.agent_settings import agent_settings_notice
from cortex.vault.files import iter_chunks

_FRAMED_VERBS = ("brief", "remind")  # their text is neutral, in a frame of ours
_MAX_PROBLEMS = 3  # under a search; `cortex doctor` names all


def as_json(verb: str, answer: Any) -> object:
    """The answer as JSON values: a tuple with names becomes an object."""
    if hasattr(answer, "as_json"):  # a name that JSON may have and Python may not: `from`
        return answer.as_json()
    fields = _to_json(answer)
    assert isinstance(fields, dict)
    if verb == "search":
        fields.pop("hint")
    return fields


def print_answer(verb: str, answer: Any, out: TextIO) -> None:
    """Print the answer. Colour only where a terminal will show it. Where none is, an agent may read it: a text that was asked for stands
    as it is, and what is told of notes is neutral."""
    if not out.isatty() and (pieces := _raw_content(verb, answer)) is not None:
        for piece in pieces:
            _write_bytes(out, piece)
        return
    paint = out.isatty() and "NO_COLOR" not in os.environ
    text = "\n".join(_text_renderer(verb)(answer))
    for code in (BOLD, DIM, YELLOW, OFF) if not paint else ():
        text = text.replace(code, "")
    if not out.isatty() and verb not in _FRAMED_VERBS:
        text = escape_for_agent(f"\n{text}")[1:]  # the first line begins one too
    if text:
        out.write(text + "\n")


def _raw_content(verb: str, answer: Any) -> Iterable[bytes] | None:
    """The bytes of the text that this answer is; None where it is a page about several things."""
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
    """0 for yes, 1 for no: no hits, an event that failed, a problem that doctor found."""
    no = (
        _load_render_module(verb).NO.get(verb)
        if verb in _RENDER_MODULES
        else _IS_NEGATIVE.get(verb)
    )
    return int(no(answer)) if no else 0


# verb -> the module beside this one with its `TEXT` and `NO`: most commands need none of them
_RENDER_MODULES = {
    "relate": "render_graph",
    "unrelate": "render_graph",
    "graph": "render_graph",
    "entities": "render_graph",
    "save": "render_save",
    "topic": "render_save",
    "passive": "render_save",
    "recall": "render_recall",
    "remind": "render_recall",
    "timeline": "render_recall",
    "brief": "render_brief",
    "context": "render_recall",
    "actions": "render_recall",
    "meetings": "render_recall",
    "session": "render_session",
    "status": "render_session",
    "update": "render_edit",
    "done": "render_edit",
    "pin": "render_edit",
    "unpin": "render_edit",
    "supersede": "render_edit",
    "archive": "render_edit",
    "delete": "render_edit",
    "forget": "render_edit",
    "restore": "render_edit",
    "consolidate": "render_edit",
    "import": "render_import",
    "sync": "render_git",
    "merge": "render_git",
    "history": "render_git",
    "git": "render_git",
    "hooks": "render_hooks",
    "promote": "render_vaults",
    "project": "render_vaults",
    "score": "render_score",
    "extract": "render_save",
    "lifecycle": "render_score",
    "prune": "render_score",
}


def _text_renderer(verb: str) -> Callable[[Any], Iterable[str]]:
    return (
        _load_render_module(verb).TEXT[verb] if verb in _RENDER_MODULES else _TEXT_RENDERERS[verb]
    )


def _load_render_module(verb: str) -> Any:
    return import_module(f"cortex.interfaces.cli.{_RENDER_MODULES[verb]}")


_IS_NEGATIVE: dict[str, Callable[[Any], bool]] = {
    "search": lambda found: not found.hits,
    "normalize": lambda done: bool(done.failed or done.problems),
    "doctor": lambda examined: bool(examined.problems),
    "heal": lambda healed: bool(healed.stale),
    "watch": lambda watched: watched.refused,
}


def _to_json(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        fields = {key: _to_json(item) for key, item in value._asdict().items()}
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


def _search_lines(found: Any) -> Iterable[str]:
    for number, hit in enumerate(found.hits):
        if number:
            yield ""
        status = (
            f"  {YELLOW}{escape(hit.status)}{OFF}"
            if hit.status in (*SET_ASIDE_STATUSES, "failed")
            else ""
        )
        yield f"{BOLD}{escape(hit.title)}{OFF}{status}"
        place = f"(personal) {found.personal}/{hit.path}" if hit.vault == "personal" else hit.path
        yield f"  {DIM}{escape(hit.type) or 'note'}  {hit.date[:10] or 'no date'}  {escape(place)}:{hit.line}{OFF}"
        if hit.snippet:
            yield "  " + escape(hit.snippet).replace(MATCH_START, YELLOW).replace(MATCH_END, OFF)
    if not found.hits:
        yield f"no hits for {escape(found.query)!s}"
    elif found.hint:
        yield ""
    if found.hint:
        yield f"{DIM if found.hits else '  '}{escape(found.hint)}{OFF if found.hits else ''}"
    if found.problems:
        yield ""
    yield from problem_lines(found.problems, _MAX_PROBLEMS)


def _normalize_lines(done: Any) -> Iterable[str]:
    verb = ("would be made", "would change") if done.dry_run else ("made", "changed")
    for path in done.created:
        yield f"{verb[0]}: {escape(path)}"
    for path in done.changed:
        yield f"{verb[1]}: {escape(path)}"
    yield from problem_lines((*done.failed, *done.problems))
    counts = f"{format_count(len(done.events), 'event')}, {format_count(len(done.created), 'new note')}, {len(done.changed)} changed"
    yield counts + (f", {len(done.failed)} failed" if done.failed else "")


def _heal_lines(healed: Any) -> Iterable[str]:
    for one in healed.brought_back:
        yield f"brought back: {escape(one.path)}: {escape(one.what)}"
    for path in healed.written:
        yield f"written: {escape(path)}"
    for path in healed.removed:
        yield f"removed: {escape(path)}"
    for path in healed.stale:
        yield f"{YELLOW}stale{OFF}: {escape(path)}"
    for path in healed.newer:
        yield f"{YELLOW}left alone{OFF}: {escape(path)} was made by a newer cortex"
    yield from problem_lines(healed.problems)
    if healed.stale:
        yield f"{format_count(len(healed.stale), 'briefing')} not as the notes give them: cortex heal"
    elif not (healed.brought_back or healed.written or healed.removed or healed.newer):
        yield "the briefings are as the notes give them"


def _doctor_lines(examined: Any) -> Iterable[str]:
    for line in examined.fixed:
        yield f"mended: {escape(line)}"
    yield from problem_lines(examined.problems)
    if examined.agent_settings:
        yield agent_settings_notice(examined.agent_settings)
    found = format_count(len(examined.problems), "problem") if examined.problems else "no problems"
    yield f"{format_count(examined.notes, 'note')}, {found}; the search index was {_INDEX_STATES[examined.found]}"


_INDEX_STATES = {
    "current": "current",
    "updated": "brought up to date",
    "built": "missing, old or damaged, and was built anew",
}


def _init_lines(made: Any) -> Iterable[str]:
    yield f"{escape(made.root)} is a vault" + (", your default one" if made.default else "")
    for name in made.added:
        yield f"  added {name}"
    if made.agent_settings:
        yield f"{YELLOW}note{OFF}: {agent_settings_notice(made.agent_settings)}"
    yield 'next: cortex capture "Decision: keep what we learn in a vault"'


def _show_lines(shown: Any) -> Iterable[str]:
    yield escape(
        shown.text.removesuffix("\n"), lines=True
    )  # on a terminal alone: see _as_it_stands
    if shown.vault == "personal":
        yield f"{DIM}(personal) {escape(shown.file)}{OFF}"
    if shown.cut:
        yield f"{YELLOW}only the beginning is shown{OFF}: open {escape(shown.path)} in an editor"


_TEXT_RENDERERS: dict[str, Callable[[Any], Iterable[str]]] = {
    "init": _init_lines,
    "capture": lambda captured: [captured.id],
    "search": _search_lines,
    "show": _show_lines,
    "new": lambda written: [escape(written.file)],
    "normalize": _normalize_lines,
    "heal": _heal_lines,
    "watch": lambda watched: map(escape, watched.lines()),
    "retry": lambda retried: [f"{escape(retried.path)}: waiting again; cortex normalize"],
    "doctor": _doctor_lines,
    "rebuild": lambda rebuilt: [
        f"{format_count(rebuilt.notes, 'note')} indexed, {format_count(rebuilt.problems, 'problem')}"
    ],
}
