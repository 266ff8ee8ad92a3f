"""Patterns that are compiled when they are first used: a save imports 230 of them and uses about 60,
and one takes 0.1 to 5 ms."""

from __future__ import annotations

from cortex.core.text.light import re
from cortex.core.text.value import TYPE_CHECKING, Any


class LazyPattern:
    """A pattern that compiles itself at the first use of a method, and keeps that method, so that
    the next use takes no longer than that of a compiled one."""

    def __init__(self, pattern: Any, flags: Any = 0) -> None:
        self.pattern = pattern
        self._flags = flags

    def compiled(self) -> re.Pattern[Any]:
        """The pattern as `re` compiles it."""
        return re.compile(self.pattern, self._flags)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.compiled(), name)
        self.__dict__[name] = value
        return value


if TYPE_CHECKING:  # it sees what a compiled pattern can do
    lazy_re = re.compile
else:
    lazy_re = LazyPattern
