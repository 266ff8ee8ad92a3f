"""What an agent said and did between two captures, and the text of the event that holds it.

The text is markdown: the message, then, below a mark that is escaped in the message, lists of what
was done. `parse_turn_summary` reads it back, so that every clone extracts the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from cortex.core.text.strings import one_line
from cortex.core.text.value import NamedTuple

ACTIVITY_MARK = "<!-- cortex: what was done -->"
MEMORY_TAG_START = "[memory"  # how a memory tag begins, in lower case
_HEADINGS = ("Asked to remember:", "Files changed:", "Commands:", "Plan:")
_ESCAPED_MARK = ACTIVITY_MARK.replace("<!--", "<!- -")


class CommandRun(NamedTuple):
    """A command that was run. `outcome` is `ok`, or `failed: ` and a reason."""

    line: str
    outcome: str = "ok"


class PlannedStep(NamedTuple):
    """A step of the agent's plan."""

    text: str
    done: bool


class TurnSummary(NamedTuple):
    """What was said and done. Texts but `message` are one line; files are project-relative."""

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


def compose_text(turn: TurnSummary) -> str:
    """The text of an event. `parse_turn_summary` reads it back, but for blanks around the message
    and backticks in commands."""
    items = (
        turn.tagged_lines,
        turn.changed_files,
        ["`{}` {}".format(run.line.replace("`", "'"), run.outcome) for run in turn.commands],
        [f"[{'x' if step.done else ' '}] {step.text}" for step in turn.plan],
    )
    done = [
        f"{heading}\n\n" + "\n".join(f"- {one_line(line)}" for line in lines)
        for heading, lines in zip(_HEADINGS, items, strict=True)
        if lines
    ]
    said = turn.message.strip().replace(ACTIVITY_MARK, _ESCAPED_MARK)
    return "\n\n".join([*([said] if said else []), *([ACTIVITY_MARK, *done] if done else [])])


def parse_turn_summary(text: str) -> TurnSummary:
    """The turn of an event's text. A text without the mark is all message."""
    said, _, done = text.partition(ACTIVITY_MARK)
    items: dict[str, list[str]] = {heading: [] for heading in _HEADINGS}
    current: list[str] = []
    for line in done.splitlines():
        if line in items:
            current = items[line]
        elif line.startswith("- "):
            current.append(line[2:])
    asked, changed, ran, plan = items.values()
    runs = (item.removeprefix("`").partition("` ") for item in ran)
    return TurnSummary(
        said.strip(),
        tuple(asked),
        tuple(changed),
        tuple(CommandRun(line, outcome) for line, _, outcome in runs),
        tuple(PlannedStep(item[4:], item.startswith("[x]")) for item in plan),
    )


def join_messages(messages: Iterable[str]) -> str:
    """Messages as one text. A code block or `<private>` left open is closed at a message's end."""
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
