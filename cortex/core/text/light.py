# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, ANN204, RUF012
"""What hooks and captures take instead of `contextlib`, `functools`, `json` and `re`, which with what
they import take as long as the rest of a hook. The type checker sees the originals.

`re` is imported at its first use. `loads` and `dumps` are the C parts of `json`; where this Python
has others, they are those of `json`.
"""

from __future__ import annotations

from cortex.core.text.value import TYPE_CHECKING

__all__ = ["cache", "contextmanager", "dumps", "loads", "re", "suppress"]

if TYPE_CHECKING:
    import re
    from contextlib import contextmanager, suppress
    from functools import cache
    from json import dumps, loads
else:

    class suppress:  # noqa: N801  as it is called
        """As `contextlib.suppress`."""

        def __init__(self, *kinds):
            self.kinds = kinds

        def __enter__(self):
            pass

        def __exit__(self, kind, error, trace):
            return kind is not None and issubclass(kind, self.kinds)

    class _Context:
        def __init__(self, steps):
            self.steps = steps

        def __enter__(self):
            return next(self.steps)

        def __exit__(self, kind, error, trace):
            if error is None:
                return next(self.steps, None)
            try:
                self.steps.throw(error)
            except StopIteration as stop:
                return stop is not error
            except BaseException as raised:
                # Out of a generator a `StopIteration` comes as the cause of another error.
                is_stop = type(error) is StopIteration and raised.__cause__ is error
                if raised is not error and not is_stop:
                    raise
                error.__traceback__ = trace
            return False

    def contextmanager(function):
        """As `contextlib.contextmanager`, for functions that yield once."""

        def make(*args, **named):
            return _Context(function(*args, **named))

        make.__doc__, make.__wrapped__ = function.__doc__, function
        return make

    def cache(function):
        """As `functools.cache`, for arguments by position."""
        known = {}

        def cached(*args):
            if args not in known:
                known[args] = function(*args)
            return known[args]

        cached.known = known
        return cached

    class _LazyRe:
        def __getattr__(self, name):
            import re  # noqa: PLC0415  8 ms with what it imports

            value = self.__dict__[name] = getattr(re, name)
            return value

    re = _LazyRe()

    try:
        import _json

        class _Loose:
            """The settings of a decoder that takes control characters in texts."""

            strict = False
            object_hook = object_pairs_hook = array_hook = None
            parse_float, parse_int = float, int
            parse_constant = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}.get  # fmt: skip
            memo = {}

        _scan = _json.make_scanner(_Loose)
        _encoders = {
            is_sorted: _json.make_encoder(
                None, None, _json.encode_basestring_ascii, None, ": ", ", ", is_sorted, False, True
            )
            for is_sorted in (False, True)
        }
        if "".join(_encoders[True]([{"b": 1.5, "a": None}], 0)) != '[{"a": null, "b": 1.5}]':
            raise TypeError
    except (ImportError, AttributeError, TypeError):  # another Python
        import json

        def loads(text):
            return json.loads(text, strict=False)

        dumps = json.dumps
    else:

        def loads(text):
            """The value of a JSON text. Raises `ValueError`, `RecursionError`."""
            text = text.strip(" \t\n\r") if isinstance(text, str) else text.decode().strip()
            try:
                value, end = _scan(text, 0)
            except (StopIteration, SystemError):  # the second as long as `json.decoder` is missing
                raise ValueError("no JSON") from None
            if end != len(text):
                raise ValueError("more than one value")
            return value

        def dumps(value, *, sort_keys=False):
            """A value as JSON, in ASCII."""
            return "".join(_encoders[sort_keys](value, 0))
