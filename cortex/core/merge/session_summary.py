"""Summaries of a session that ended on two clones: the later one replaces the other before lines
are merged.

A summary that a person has changed is merged by lines.
"""

from __future__ import annotations

from cortex.core.model.generated_text import SUMMARY_MARK_RE, find_marked_text


def keep_latest_summary(base: bytes, newer: bytes, older: bytes) -> tuple[bytes, bytes, bytes]:
    """The three bodies with the later of two untouched summaries in the place of the others."""
    bodies = (base, newer, older)
    lines = [body.split(b"\n") for body in bodies]
    marked = [find_marked_text(some, SUMMARY_MARK_RE) for some in lines]
    found = [held if held and held.is_untouched else None for held in marked]
    _, one, two = found
    if not one or not two or one.mark[0] == two.mark[0]:
        return bodies
    latest = max((1, 2), key=lambda side: (found[side] or one).mark[0])
    stands = found[latest] or one
    text = lines[latest][stands.start : stands.end + 1]
    before, first, second = (
        b"\n".join([*some[: old.start], *text, *some[old.end + 1 :]])
        if old and old.mark[0] < stands.mark[0]
        else body
        for body, some, old in zip(bodies, lines, found, strict=True)
    )
    return before, first, second
