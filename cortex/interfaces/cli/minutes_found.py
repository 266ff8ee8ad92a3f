"""What the minutes that were just captured hold, as one line for a person."""

from __future__ import annotations

from cortex.interfaces.cli.text import format_count


def summary(text: str) -> str:
    """A line such as `2 decisions, 3 actions (1 without a date)`; empty where reading fails."""
    try:
        # markdown-it-py takes 40 ms to import; no other capture is kept waiting for it.
        from cortex.core.minutes.meeting import parse_meeting  # noqa: PLC0415

        meeting = parse_meeting(text)
    except Exception:  # noqa: BLE001  the capture counts, and normalizing names what is wrong
        return ""
    undated = sum(not one.due for one in meeting.actions if not one.done)
    parts = [format_count(len(meeting.decisions), "decision")]
    more = f" ({undated} without a date)" if undated else ""
    parts.append(format_count(len(meeting.actions), "action") + more)
    if meeting.questions:
        parts.append(format_count(len(meeting.questions), "question"))
    day = "" if meeting.date else "; no date of the meeting"
    return f"{', '.join(parts)}{day}\n"
