"""What a person says in a turn in their own words, apart from what they paste.

Prompts are callouts in an event's text. A long prompt is mostly pasted: logs, reviews, plans, other
sessions. What a person says of it stands at its ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from cortex.core.model.session_asks import is_own_prompt
from cortex.core.model.turn_summary import CALLOUT_STARTS, PROMPT_START
from cortex.core.text.person_words import SPEAKER_RE, at_ends

_END_LINES = 3  # at either end of a long prompt, which may become records


def own_lines(prompt: str) -> list[str]:
    """The lines of a prompt likely the person's own: none of a plan, those before a pasted talk."""
    if not is_own_prompt(prompt):
        return []
    lines = [line for line in prompt.split("\n") if line.strip()]
    talk = [number for number, line in enumerate(lines) if SPEAKER_RE.match(line.lstrip())]
    if talk:
        return lines[: talk[0]]
    return at_ends(lines, len(prompt), _END_LINES)


def blank_callouts(said: str, *, keep_own: bool = False) -> str:
    """What was said in an event, as long as it was, with blanks for what the person said: their
    tagged lines stand among what was done, whole. `keep_own`: but for their own lines. The same
    text if it has no callout."""
    if not any(start in said for start in CALLOUT_STARTS):
        return said
    return "\n".join(_blank_lines(said.split("\n"), keep_own))


def _blank_lines(lines: list[str], keep_own: bool) -> Iterator[str]:
    number = 0

    def callout_of(line: str) -> int:
        nonlocal number
        number += line.startswith(CALLOUT_STARTS)
        return number if line.startswith(">") else 0

    for _, group in groupby(lines, callout_of):
        first, *rest = group
        if not first.startswith(CALLOUT_STARTS):
            yield from (first, *rest)
            continue
        is_prompt = first.startswith(PROMPT_START)
        texts = [first[len(PROMPT_START) :] if is_prompt else "", *(line[1:] for line in rest)]
        own = set(own_lines("\n".join(texts)) if is_prompt else texts) if keep_own else set()
        for line, text in zip((first, *rest), texts, strict=True):
            yield (text.strip() if text in own else "").ljust(len(line))
