"""A stretch of an agent's session: what it said and did between two captures, and the text of an event that tells it.

The text is markdown: first what was said, then, below a mark that nothing said can hold, lists of what was done. What an
event's text tells is read back from it alone, so that every clone extracts the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from cortex.core.text.value import NamedTuple

ACTIVITY_MARK = "<!-- cortex: what was done -->"
MEMORY_TAG_START = "[memory"  # how a memory tag begins, in lower case
_ASKED_HEADING, _CHANGED_HEADING, _RAN_HEADING, _PLAN_HEADING = (
    "Asked to remember:",
    "Files changed:",
    "Commands:",
    "Plan:",
)
_ESCAPED_MARK = ACTIVITY_MARK.replace("<!--", "<!- -")


class CommandRun(NamedTuple):
    """A command that was run: its line, and as `outcome` `ok`, or `failed` with the first words of why."""

    line: str
    outcome: str = "ok"


class PlannedStep(NamedTuple):
    """A step of the agent's plan."""

    text: str
    done: bool


class TurnSummary(NamedTuple):
    """What was said, and what was done. Every text but `said` is one line; files are relative to the project."""

    message: str = ""
    tagged_lines: tuple[str, ...] = ()  # lines of the user's own that hold a memory tag
    changed_files: tuple[str, ...] = ()
    commands: tuple[CommandRun, ...] = ()
    plan: tuple[PlannedStep, ...] = ()  # the latest

    def __bool__(self) -> bool:
        return bool(self.message.strip() or any(self[1:]))


def may_hold_memory_tag(text: str) -> bool:
    """Whether a memory tag may stand in a text; what is one, `core/extract/memory_tags.py` says."""
    return MEMORY_TAG_START in text.lower()


def compose_text(stretch: TurnSummary) -> str:
    """The text of an event. `read` gives the stretch back; blanks at the ends of what was said are lost, and backticks in commands."""
    stretch = stretch._replace(
        commands=tuple(one._replace(line=one.line.replace("`", "'")) for one in stretch.commands)
    )
    lists = (
        (_ASKED_HEADING, stretch.tagged_lines),
        (_CHANGED_HEADING, stretch.changed_files),
        (_RAN_HEADING, [f"`{line}` {outcome}" for line, outcome in stretch.commands]),
        (_PLAN_HEADING, [f"[{'x' if step.done else ' '}] {step.text}" for step in stretch.plan]),
    )
    done = [
        part
        for heading, items in lists
        if items
        for part in (heading, "\n".join(f"- {_one_line(item)}" for item in items))
    ]
    said = stretch.message.strip().replace(ACTIVITY_MARK, _ESCAPED_MARK)
    return "\n\n".join([*([said] if said else []), *([ACTIVITY_MARK, *done] if done else [])])


def parse_turn_summary(text: str) -> TurnSummary:
    """The stretch that an event's text tells. A text without the mark is all said."""
    said, _, done = text.partition(ACTIVITY_MARK)
    held: dict[str, list[str]] = {
        _ASKED_HEADING: [],
        _CHANGED_HEADING: [],
        _RAN_HEADING: [],
        _PLAN_HEADING: [],
    }
    here: list[str] = []
    for line in done.splitlines():
        if line in held:
            here = held[line]
        elif line.startswith("- "):
            here.append(line[2:])
    ran = (item.removeprefix("`").partition("` ") for item in held[_RAN_HEADING])
    return TurnSummary(
        said.strip(), tuple(held[_ASKED_HEADING]), tuple(held[_CHANGED_HEADING]), tuple(CommandRun(line, outcome) for line, _, outcome in ran),
        tuple(PlannedStep(item[4:], item.startswith("[x]")) for item in held[_PLAN_HEADING]),
    )  # fmt: skip


def joined(stretches: Iterable[TurnSummary]) -> TurnSummary:
    """Several stretches as one: all that was said, each thing done once, the last plan."""
    all_ = list(stretches)
    return TurnSummary(
        "\n\n".join(one.message.strip() for one in all_ if one.message.strip()),
        tuple(dict.fromkeys(line for one in all_ for line in one.tagged_lines)),
        tuple(dict.fromkeys(path for one in all_ for path in one.changed_files)),
        tuple(dict.fromkeys(command for one in all_ for command in one.commands)),
        next((one.plan for one in reversed(all_) if one.plan), ()),
    )


def join_messages(messages: Iterable[str]) -> str:
    """Messages as one text: what one has opened, a code block or `<private>`, ends with it, and swallows no later one."""
    return "\n\n".join(_close_open_blocks(message) for message in messages)


def _close_open_blocks(message: str) -> str:
    fence = ""
    for line in message.splitlines() if "```" in message or "~~~" in message else ():
        mark = line.lstrip(" ")
        if not fence and mark.startswith(("```", "~~~")) and len(line) - len(mark) <= 3:
            fence = mark[: len(mark) - len(mark.lstrip(mark[0]))]
        elif fence and mark.startswith(fence) and not mark.strip(f"{fence[0]} \t"):
            fence = ""
    low = message.lower() if "<" in message else ""
    open_ = low.count("<private>") + low.count("<private ") - low.count("</private")
    return message + (f"\n{fence}" if fence else "") + "</private>" * max(0, open_)


def _one_line(text: str) -> str:
    return " ".join(text.split())
