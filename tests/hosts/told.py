"""What some lines of a transcript tell, in the order of the lines: for tests of readers."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model.turn_summary import MESSAGE_BREAK, TurnSummary
from cortex.hosts.transcript_item import AGENT_TEXT, PROMPT
from cortex.hosts.transcript_reader import TranscriptReader


class Message(NamedTuple):
    """What the agent (`assistant`) or the person (`user`) said in one go."""

    id: str
    role: str
    text: str


class Told(NamedTuple):
    """What the agent said, with blank lines between messages, and what was done; all messages."""

    turn_summary: TurnSummary
    messages: tuple[Message, ...]
    reader: TranscriptReader


def told_by(reader: TranscriptReader, lines: list[bytes], root: str, since: str = "") -> Told:
    parsed = reader.parse(lines, since)
    summary = parsed.turn_summary(root, "none")
    said = summary.message.replace(f"\n\n{MESSAGE_BREAK}\n\n", "\n\n")
    messages = tuple(
        Message(item.id, "assistant" if item.kind == AGENT_TEXT else "user", item.text)
        for item in parsed.items
        if item.kind in (AGENT_TEXT, PROMPT)
    )
    return Told(summary._replace(message=said), messages, parsed.reader)
