"""Values in JSON files of a vault's state folder. Standard library only: hooks are on this path."""

from __future__ import annotations

import os
from _collections_abc import Callable

from cortex.core.model.problem import CortexError
from cortex.core.text.light import dumps, loads, suppress
from cortex.core.text.value import Any, Generic, TypeVar
from cortex.vault import private
from cortex.vault.locate import Vault

T = TypeVar("T")
_WRONG = (ValueError, TypeError, KeyError, AttributeError, RecursionError, CortexError)


class JsonStore(Generic[T]):
    """A kind of value, each in a file of its own: `name`, with `{}` for the key of a value."""

    def __init__(self, name: str, parse: Callable[[Any], T], default: T, most: int) -> None:
        self.name, self.parse, self.default, self.most = name, parse, default, most

    def path(self, vault: Vault, key: str = "") -> str:
        return os.path.join(vault.state_folder(), self.name.format(key))

    def read(self, vault: Vault, key: str = "") -> T:
        """The value; the default, the same one each time, for none, for more than `most` bytes and for
        what is not ours."""
        try:
            data = private.read(self.path(vault, key), self.most)
            return self.parse(loads(data))
        except _WRONG:
            return self.default

    def write(
        self,
        vault: Vault,
        value: object,
        key: str = "",
        *,
        synced: bool = False,
        durable: bool = False,
    ) -> None:
        """Replace the value, as `private.replace` does. Raises `OSError`, `CortexError`."""
        data = dumps(value).encode()
        private.replace(self.path(vault, key), data, synced=synced, durable=durable)

    def remove(self, vault: Vault, key: str = "") -> None:
        """Forget the value, if there is one. Raises `OSError`, `CortexError`."""
        with suppress(FileNotFoundError, IsADirectoryError):
            os.unlink(self.path(vault, key))
