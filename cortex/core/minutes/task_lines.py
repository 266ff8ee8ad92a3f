"""Tasks that a text says by a check box or a label, on a line each, read as those of minutes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cortex.core.markdown.bound import fence_spans
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import slugify

if TYPE_CHECKING:
    from cortex.core.minutes.outcomes import ActionItem

# `- [ ] …`, `TODO: …`, `* **Action item:** …`, `TODO(ana): …`, `TODO ana: …`.
TASK_LINE_RE = lazy_re(
    r"(?m)^[ \t>]{0,40}(?:(?:[-*+]|\d{1,3}[.)])[ \t]{1,9})?"
    r"(?P<task>(?:\[[ xX]\][ \t]{1,9}|(?:\[[ xX]\][ \t]{1,9})?[*_]{0,3}"
    r"(?P<label>TODO|To-?do|todo|Action(?: [iI]tem)?|ACTION)(?:[ ]?\(@?(?P<who>[\w.-]{1,40})\))?[*_]{0,3}:[*_]{0,3}[ \t]"
    r"|(?P<bare>TODO[ \t]*[-–—,;.]?[ \t]+)(?!(?:lists?|items?|comments?|markers?|is|are)\b)(?=\w|[@*`]))"
    r"[^\n]{0,2000})$"
)


def split_tasks(text: str, day: str, *, strict: bool = False) -> tuple[list[ActionItem], str]:
    """The tasks in a text, each once, and the text without their lines and without headings that are
    its last lines then. `day` is the one from which `tomorrow` counts. With `strict` no quotes count,
    no `TODO` without a colon, and of boxes without a label only those with a day or a `@person`."""
    if not TASK_LINE_RE.search(text):
        return [], text
    # markdown-it-py takes 40 ms to import, and few texts hold a task.
    from cortex.core.minutes.blocks import parse_blocks  # noqa: PLC0415
    from cortex.core.minutes.outcomes import ActionItem, OutcomeReader  # noqa: PLC0415

    tasks: dict[str, ActionItem] = {}
    taken: set[int] = set()
    for number, mark in _task_lines(text):
        if strict and (mark["bare"] or mark[0].lstrip().startswith(">")):
            continue  # somebody else's words, or prose
        line, who, is_sure = mark["task"], mark["who"] or "", bool(mark["label"])
        if mark["bare"]:
            line = f"TODO: {line.removeprefix(mark['bare'])}"
        read = OutcomeReader(frozenset(), day, "en").read(parse_blocks(f"- {line}"))
        found = [one for one in read if isinstance(one, ActionItem)]
        if strict and not is_sure:
            found = [one for one in found if one.due or (one.owner and f"@{one.owner}" in line)]
        if found:
            taken.add(number)
        for one in found:
            tasks.setdefault(
                slugify(one.text, 400), one._replace(line=number, owner=one.owner or who)
            )
    lines = text.splitlines()
    rest = [line for number, line in enumerate(lines, 1) if number not in taken]
    while taken and rest and _only_leads_on(rest[-1]):
        del rest[-1]
    return list(tasks.values()), "\n".join(rest)


def _only_leads_on(line: str) -> bool:
    """Whether a line is empty, a heading, or a label of what follows."""
    bare = line.strip(" \t>*_-=")
    return not bare or bare.startswith("#") or bare.endswith(":")


def _task_lines(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Lines outside of code with a box or a label, with their numbers."""
    fences = list(fence_spans(text))
    for found in TASK_LINE_RE.finditer(text):
        if not any(start <= found.start("task") < end for start, end in fences):
            yield text.count("\n", 0, found.start("task")) + 1, found
