"""What `watch` answers, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cortex.interfaces.escape_terminal import escape


def watch(answer: Any) -> Iterable[str]:
    return map(escape, answer.lines())
