"""Items of a transcript, in their order, the same for every host."""

from __future__ import annotations

import os
from collections.abc import Iterable

from cortex.core.model import turn_summary
from cortex.core.model.turn_summary import CommandRun, PlannedStep, TurnSummary, Utterance
from cortex.core.redact.person_words import keep_of_prompt, keep_of_reply, unquoted_lines
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import format_time, one_line
from cortex.core.text.value import NamedTuple

AGENT_TEXT, PROMPT, SUMMARY = "said", "prompt", "summary"
REPLY = "reply"  # of the person within a turn: an answer, a refusal, what was typed meanwhile
FILE_CHANGE, COMMAND_RUN, PLAN = "changed", "ran", "plan"
MAX_COMMANDS, MAX_COMMAND_CHARS, MAX_REASON_CHARS = 30, 140, 60  # of one turn
MAX_CHANGED_FILES, MAX_PATH_CHARS = 300, 300
MAX_PLAN_STEPS, MAX_STEP_CHARS = 50, 200
MAX_TAGGED_LINE_CHARS = 2000


class TranscriptItem(NamedTuple):
    """One thing that a transcript tells."""

    kind: str
    id: str = ""  # the host's own for a message; may be empty
    at: str = (
        ""  # UTC with milliseconds, `2026-06-15T10:00:01.000Z`; empty if the host has no times
    )
    text: str = ""  # what was said or asked; the path that was changed, absolute
    cwd: str = ""
    branch: str = ""
    command: CommandRun | None = None
    plan: tuple[PlannedStep, ...] = ()
    sidechain: str = ""  # its side chain, if a session's file holds the work of subagents too
    about: str = ""  # of a reply: the question, or what it refuses


def summarize_items(items: Iterable[TranscriptItem], root: str, prompts: str) -> TurnSummary:
    """What was said, each change and command once, the last plan. Summaries are left out;
    `prompts` says what is kept of a person's words (`core/redact/person_words.py`)."""
    said: list[Utterance] = []
    tagged: dict[str, None] = {}
    changed: dict[str, None] = {}
    commands: dict[CommandRun, None] = {}
    plan: tuple[PlannedStep, ...] = ()
    for item in items:
        if item.kind == AGENT_TEXT:
            said.append(Utterance(turn_summary.AGENT, item.text))
        elif item.kind in (PROMPT, REPLY):
            keep = keep_of_prompt if item.kind == PROMPT else keep_of_reply
            if words := keep(item.text, prompts):
                said.append(Utterance(turn_summary.USER, words, item.about))
            tagged.update(dict.fromkeys(tagged_lines(item.text)))
        elif item.kind == FILE_CHANGE:
            changed[project_relative_path(item.text, item.cwd, root)] = None
        elif item.command:
            commands.pop(item.command, None)
            commands[item.command] = None
        elif item.kind == PLAN:
            plan = item.plan
    text = turn_summary.format_utterances(said)
    files = tuple(path for path in changed if path)[:MAX_CHANGED_FILES]
    return TurnSummary(text, tuple(tagged), files, tuple(commands)[-MAX_COMMANDS:], plan)


def tagged_lines(prompt: str) -> list[str]:
    """The lines of a person's own words with a memory tag: no quotes, code, or pasted talk."""
    if not turn_summary.may_hold_memory_tag(prompt):
        return []
    return [
        redacted_line(line)[:MAX_TAGGED_LINE_CHARS]
        for line in unquoted_lines(sanitize_text(prompt))
        if turn_summary.may_hold_memory_tag(line)
    ]


def redacted_line(text: str) -> str:
    """A text on one line, without secrets. Redacted before and after joining the lines: some are
    known by their line ends, others span them. Cut it only afterwards: half a token is missed."""
    return sanitize_text(one_line(sanitize_text(text)))


def project_relative_path(path: str, cwd: str, root: str) -> str:
    """A path relative to the project, with `/`; empty when it lies outside, or is the project."""
    if not path or not root or "\0" in path or "\0" in cwd:
        return ""
    root = root.rstrip("/") or "/"
    full = os.path.normpath(os.path.join(cwd or root, path))
    below = _path_below(full, root)
    if not below and cwd and (rest := _path_below(full, os.path.normpath(cwd))):
        # The project was entered through a link: `/tmp` on a Mac, a home directory on a network.
        below = _path_below(os.path.join(os.path.realpath(cwd), rest), os.path.realpath(root))
    line = one_line(below) if len(below) <= MAX_PATH_CHARS else redacted_line(below)
    return line[:MAX_PATH_CHARS]


def _path_below(path: str, root: str) -> str:
    start = root if root == "/" else f"{root}/"
    return path[len(start) :] if path.startswith(start) else ""


def normalize_timestamp(value: object) -> str:
    """A host's time as UTC with milliseconds; empty if it is none. Numbers are ms since 1970."""
    if isinstance(value, str) and len(value) <= 40:
        head, tail = value[:19], value[19:]
        if len(head) == 19 and _is_valid_timestamp(head):
            if tail.endswith(("Z", "+00:00")):
                part = tail.removesuffix("Z").removesuffix("+00:00")
                if not part or (part[0] == "." and part[1:].isdigit() and part.isascii()):
                    return f"{head}.{part[1:4]:0<3}Z"
            return _convert_offset_timestamp(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e14:
        return f"{format_time(value // 1000)[:-1]}.{int(value) % 1000:03}Z"
    return ""


def _is_valid_timestamp(head: str) -> bool:
    numbers = head[:4] + head[5:7] + head[8:10] + head[11:13] + head[14:16] + head[17:]
    if not (
        numbers.isascii()
        and numbers.isdigit()
        and head[4] == head[7] == "-"
        and head[10] == "T"
        and head[13] == head[16] == ":"
    ):
        return False
    month, day, hour, minute, second = (int(numbers[at : at + 2]) for at in range(4, 14, 2))
    is_date = head[:4] >= "1970" and 1 <= month <= 12 and 1 <= day <= 31
    return is_date and hour < 24 and minute < 60 and second < 60


def _convert_offset_timestamp(value: str) -> str:
    # 1 ms for its pattern, and no known host writes offsets.
    from cortex.core.text.iso_time import parse_utc  # noqa: PLC0415

    try:
        moment = parse_utc(value)
    except ValueError:
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"
