"""A prompt as it is passed on: a sentence, or a page of pasted log of any size. Little and light: a hook imports it on each."""

from __future__ import annotations

MAX_CHARS = (
    8_000  # characters that are looked at: most of them from the beginning, the rest from the end
)
_TAIL_CHARS = 2_500  # a question often stands below what was pasted


def truncate_prompt(prompt: str) -> str:
    """As much of a prompt as is looked at, as text that can be sent anywhere. Taken twice it is the same."""
    text = (
        prompt
        if len(prompt) <= MAX_CHARS
        else f"{prompt[: MAX_CHARS - _TAIL_CHARS - 1]}\n{prompt[-_TAIL_CHARS:]}"
    )
    # JSON can carry halves of surrogate pairs, which nothing else takes.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
