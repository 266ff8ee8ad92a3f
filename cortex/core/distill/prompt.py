"""The prompts for a model: about a session, in parts of a bounded size; and about a text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from cortex.core.distill.answer import DONE, said_in
from cortex.core.model.distillation import Distillation
from cortex.core.model.event import Event, time_of_id
from cortex.core.model.record import RECORD_TYPES
from cortex.core.model.turn_summary import AGENT, USER, Utterance, parse_turn_summary
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.agent_escape import escape_for_agent
from cortex.core.text.strings import shorten
from cortex.core.text.tables import read_sections
from cortex.core.text.token_count import count_tokens
from cortex.core.text.value import NamedTuple

MAX_PARTS = 3
MAX_TEXT_CHARS = 100_000  # characters of a text that are sent
TURN_TOKENS = 52_000  # of a part of 60,000, beside the instructions and what is known
# Of a message of the agent in a session that is too long, by steps; 0 for all of it.
_MESSAGE_CHARS = (0, 8000, 4000, 2000, 1000, 500, 250)
_MAX_PERSON_CHARS = 6_000  # of one message of the person; what is longer is pasted
_MAX_COMMANDS, _MAX_COMMAND_CHARS = 12, 160  # of a turn
_DELIMITER = "=" * 20
_SPEAKERS = {USER: "PERSON", AGENT: "AGENT"}


class SessionContext(NamedTuple):
    """What a model is told of a session beside its turns."""

    handle: str  # a short name of the session, which the answer repeats
    project: str
    branch: str
    commits: tuple[str, ...] = ()  # a line each, oldest first
    known: tuple[tuple[str, str], ...] = ()  # ids and titles of the nearest records
    own: tuple[tuple[str, str], ...] = ()  # and of what rules made of the session itself


class _Turn(NamedTuple):
    """An event, read once."""

    event: str  # its id
    head: str
    said: list[Utterance]
    done: list[str]  # lines


class SessionPart(NamedTuple):
    """Some turns of a session that fit into one prompt."""

    events: tuple[str, ...]  # their ids
    text: str


def plan_parts(
    ordered: Sequence[Event], most: int = MAX_PARTS, tokens: int = TURN_TOKENS
) -> list[SessionPart]:
    """The turns of a session in at most so many parts of so many tokens. Of a session that is too long the
    agent's long messages are cut in their middle; turns that still find no room are left out."""
    # Parts are seldom full to the last token; one alone is.
    room = int((most - (0.5 if most > 1 else 0)) * tokens)
    read = [turn for turn in map(_read_turn, ordered) if turn.said or turn.done]
    turns: list[tuple[str, str, int]] = []
    for limit in _MESSAGE_CHARS:
        texts = [(turn.event, _format_turn(turn, limit)) for turn in read]
        # A token has about 4 characters.
        is_last = limit == _MESSAGE_CHARS[-1]
        if not is_last and sum(len(text) for _, text in texts) > 6 * most * tokens:
            continue
        turns = [(id_, text, count_tokens(text)) for id_, text in texts]
        sizes = [size for _, _, size in turns]
        if sum(sizes) <= room and max(sizes, default=0) <= tokens:
            break
    parts: list[SessionPart] = []
    batch: list[tuple[str, str, int]] = []
    for one in [*turns, None]:
        if batch and (one is None or sum(turn[2] for turn in batch) + one[2] > tokens):
            ids, said = tuple(turn[0] for turn in batch), "\n\n".join(turn[1] for turn in batch)
            parts.append(SessionPart(ids, said))
            batch = []
        if one and one[2] <= tokens:
            batch.append(one)
    return parts[:most]


def _read_turn(event: Event) -> _Turn:
    turn = parse_turn_summary(event.text)
    ran = [
        f"{shorten(run.line, _MAX_COMMAND_CHARS)} -> {shorten(run.outcome, 80)}"
        for run in turn.commands
        if run.outcome != "ok" or "git " in run.line
    ]
    plan = [f"[{'x' if step.done else ' '}] {step.text}" for step in turn.plan]
    done = {"changed": turn.changed_files, "ran": ran[:_MAX_COMMANDS], "plan": plan}
    kind = "" if event.type in ("stop", "prompt") else f" {event.type}"
    return _Turn(
        event.id,
        f"--- {time_of_id(event.id)}{kind}",
        [one for one in said_in(event) if one.role != DONE and one.text.strip()],
        [f"({name}: {'; '.join(some)})" for name, some in done.items() if some],
    )


def _format_turn(turn: _Turn, most: int) -> str:
    """A turn as a model reads it, `most` characters of each message of the agent, if given."""
    lines = []
    for one in turn.said:
        limit = most if one.role == AGENT else _MAX_PERSON_CHARS
        about = f" (about: {shorten(one.about, 300)})" if one.about else ""
        lines.append(f"{_SPEAKERS[one.role]}{about}: {_cut_middle(one.text.strip(), limit)}")
    return "\n".join([turn.head, *lines, *turn.done])


def build_prompt(
    context: SessionContext, part: SessionPart, number: int, total: int, before: Distillation | None
) -> str:
    """The prompt for a part of a session; `before` is what the parts before it gave."""
    said = [_section("instructions").replace("{{handle}}", context.handle)]
    if before:
        head = _section("part").replace("{{number}}", str(number)).replace("{{total}}", str(total))
        gave = [f"title: {before.title}", f"outcome: {before.outcome}"]
        gave += [f"open: {one}" for one in before.open]
        gave += [f"record: {one.statement}" for one in before.records]
        said.append(f"{head}\n\n{_inside(gave)}")
    for name, records in (("own", context.own), ("known", context.known)):
        if lines := [f"- {id_}: {shorten(title, 200)}" for id_, title in records]:
            said.append(f"{_section(name)}\n\n{_inside(lines)}")
    about = {"project": context.project, "branch": context.branch}
    head_lines = [f"{name}: {value}" for name, value in about.items() if value]
    head_lines += [f"commit: {line}" for line in context.commits]
    said.append(f"{_DELIMITER}\n{_inside([*head_lines, '', part.text])}\n{_DELIMITER}")
    said.append(f'Now answer with the JSON object for session "{context.handle}".\n')
    return "\n\n".join(said)


def build_rollup(handle: str, records: Sequence[str]) -> str:
    """The prompt that asks for one text of many records; the answer repeats the `handle`."""
    instructions = _section("rollup").replace("{{handle}}", handle)
    return f"{instructions}\n\n{_DELIMITER}\n{_inside([*records])}\n{_DELIMITER}\n"


def build_question(text: str) -> str:
    """The prompt that asks for the memories in a text, of which the last 100,000 characters are sent."""
    instructions = _section("memories").replace("{{types}}", ", ".join(RECORD_TYPES[:11]))
    data = _as_data(f"\n{text[-MAX_TEXT_CHARS:]}")
    return f"{instructions}\n\n{_DELIMITER}{data}\n{_DELIMITER}\n"


def _inside(lines: list[str]) -> str:
    """Lines as data, without secrets."""
    return _as_data(sanitize_text("\n".join(lines)))


def _as_data(text: str) -> str:
    """A text in which nothing ends a frame."""
    return escape_for_agent(text.replace(_DELIMITER, "= " * 10))


def _cut_middle(text: str, most: int) -> str:
    if not most or len(text) <= most:
        return text
    half = most // 2
    left_out = len(text) - 2 * half
    return f"{text[:half].rstrip()}\n[… {left_out} characters …]\n{text[-half:].lstrip()}"


@cache
def _section(name: str) -> str:
    return "\n".join(read_sections(__file__, blank_lines=True)[name]).strip()
