"""What bears on a prompt, as the text that an agent is given: a hook passes on what it reads here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.interfaces.escape_terminal import visible


def remind(answer: Any) -> Iterable[str]:
    if answer.text:
        yield visible(answer.text, lines=True)


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {"remind": remind}
NO: dict[str, Callable[[Any], bool]] = {"remind": lambda answer: not answer.lines}
