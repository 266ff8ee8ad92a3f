"""`NamedTuple` and more without `typing`, for what captures and hooks import: `typing` takes 2 ms,
and each class made with it 0.1 ms, since it compiles every annotation. The type checker sees the
original."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Any, NamedTuple as NamedTuple  # noqa: I001, PLC0414  handed on
    from typing import Generic as Generic, Protocol as Protocol  # noqa: PLC0414  these, too
    from typing import TypeAlias as TypeAlias, TypeVar as TypeVar  # noqa: PLC0414
else:
    from collections import namedtuple

    Any = TypeAlias = object  # for annotations, which nothing evaluates

    class _Made(type):
        """Makes a named tuple of a class with annotated fields."""

        def __new__(cls, name: str, bases: tuple[type, ...], own: dict[str, object]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, own)
            fields = own.pop("__annotations__", {})
            defaults = [own.pop(field) for field in fields if field in own]
            module = own.pop("__module__")
            made = namedtuple(name, fields, defaults=defaults, module=module)  # noqa: PYI024
            made.__annotations__ = fields
            for key, value in own.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Made):
        """The base of values."""

    def TypeVar(name: str) -> str:  # noqa: N802  as it is called
        return name

    class Generic:
        """The base of a class with a type as its parameter. Only the type checker looks at it."""

        def __class_getitem__(cls, _: object) -> type:
            return cls

    class Protocol:
        """What a value can do. Only the type checker looks at it."""
