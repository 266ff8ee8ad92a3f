# ruff: noqa: ANN001, ANN002, ANN003, ANN202, ANN204, ANN206
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
    from _collections import _tuplegetter  # `collections` takes half as long as Python's start

    Any = TypeAlias = object  # for annotations, which nothing evaluates

    _CALLS_BEFORE_COMPILING = 20

    class _Value(tuple):
        """What all named tuples can do, as those of `collections`."""

        __slots__ = ()
        _fields = ()

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"{cls.__name__} has {len(cls._fields)} fields, not {len(made)}")
            return made

        def _replace(self, /, **changes):
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"{type(self).__name__} has no {', '.join(changes)}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            values = (f"{field}={value!r}" for field, value in self._asdict().items())
            return f"{type(self).__name__}({', '.join(values)})"

        def __getnewargs__(self):
            return tuple(self)

    class _Made(type):
        """Makes a named tuple of a class with annotated fields."""

        def __new__(cls, name: str, bases: tuple[type, ...], own: dict[str, object]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, own)
            fields = tuple(own.get("__annotations__", ()))
            defaults = {field: own.pop(field) for field in fields if field in own}
            first_calls = iter(range(_CALLS_BEFORE_COMPILING))

            def new(value_class, *args, **named):
                """Slow, for few values: compiling takes as long as a hundred calls."""
                left = fields[len(args) :]
                values = [
                    named[name] if name in named else defaults.get(name, new) for name in left
                ]
                is_right = (
                    new not in values and named.keys() <= set(left) and len(args) <= len(fields)
                )
                if is_right and next(first_calls, None) is not None:
                    return tuple.__new__(value_class, (*args, *values))
                words = ", ".join(fields)
                line = f"lambda _cls, {words}: _new(_cls, ({words}{',' if fields else ''}))"
                quick = eval(line, {"_new": tuple.__new__, "__builtins__": {}})  # noqa: S307  our fields
                quick.__defaults__, quick.__qualname__ = tuple(defaults.values()), name
                made.__new__ = staticmethod(quick)
                return quick(value_class, *args, **named)

            getters = {field: _tuplegetter(at, None) for at, field in enumerate(fields)}
            known = {
                "__slots__": (),
                "_fields": fields,
                "__match_args__": fields,
                "_field_defaults": defaults,
            }
            made = type(name, (_Value,), {**known, **getters, "__new__": new, **own})
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
