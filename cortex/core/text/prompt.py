"""A prompt as it is passed on: a sentence, or a page of pasted log of any size. Little and light: a hook imports it on each."""

from __future__ import annotations

MOST = (
    8_000  # characters that are looked at: most of them from the beginning, the rest from the end
)
_TAIL = 2_500  # a question often stands below what was pasted


def bounded(prompt: str) -> str:
    """As much of a prompt as is looked at, as text that can be sent anywhere. Taken twice it is the same."""
    text = prompt if len(prompt) <= MOST else f"{prompt[: MOST - _TAIL - 1]}\n{prompt[-_TAIL:]}"
    # JSON can carry halves of surrogate pairs, which nothing else takes.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
