"""Whoosh, imported in half the time: the one place that imports it.

`whoosh.compat` imports `urllib.request` for one name that nothing calls, and with it http, email
and ssl; other parts do the like on a smaller scale. While Whoosh is imported, stand-ins answer for
these modules. What is taken from a stand-in imports the real module when it is first called, so
nothing is lost, and no stand-in stays behind under its name. With other threads about, nothing
stands in: they could be importing the same modules.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from types import ModuleType

from cortex.core.model.problem import CortexError

# What Whoosh imports and the names it takes from there with `from ... import`.
_STUBBED_MODULES = {
    "urllib.request": ["urlretrieve"],
    "html": ["escape"],
    "hashlib": ["md5"],
    "shutil": ["copyfileobj"],
    "tempfile": [],
    "calendar": [],
    "queue": [],
    "random": [],
    "decimal": ["Decimal"],
    "whoosh.analysis": ["unstopped", "entoken"],
    "whoosh.automata.lev": [],
    "whoosh.support.levenshtein": ["distance"],
    "whoosh.lang.morph_en": ["variations"],
    "whoosh.lang.porter": ["stem"],
}


class _StubModule(ModuleType):
    def __init__(self, module: str, names: list[str]) -> None:
        super().__init__(module)
        for name in names:
            setattr(self, name, self._make_lazy_function(name))

    def _make_lazy_function(self, name: str) -> Callable[..., object]:
        def late(*args: object, **options: object) -> object:
            return getattr(self._import_real_module(), name)(*args, **options)

        return late

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # what the import system looks for
            raise AttributeError(name)
        return getattr(self._import_real_module(), name)

    def _import_real_module(self) -> ModuleType:
        self.uninstall()
        return __import__(self.__name__, fromlist=["*"])

    def uninstall(self) -> None:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]


def import_parts(*parts: str) -> None:
    """Import modules of Whoosh while stand-ins answer for what they import and do not call."""
    spared = [
        module
        for module in _STUBBED_MODULES
        if module not in sys.modules and threading.active_count() == 1
    ]
    standing = [_StubModule(module, _STUBBED_MODULES[module]) for module in spared]
    sys.modules.update((each.__name__, each) for each in standing)
    try:
        with warnings.catch_warnings():
            # Compiling Whoosh 2.7.4, Python warns about escapes and comparisons.
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            for part in parts:
                __import__(part)
    except SyntaxError as error:  # Python has announced that it will refuse these escapes one day
        version = ".".join(map(str, sys.version_info[:2]))
        raise CortexError(
            f"Python {version} cannot read Whoosh 2.7.4, the search engine: {error}",
            "set Cortex up with an older one: make clean demo PYTHON=python3.15",
        ) from error
    finally:
        for each in standing:
            each.uninstall()


import_parts("whoosh.codec.whoosh3", "whoosh.reading")

from whoosh import columns, fields, formats  # noqa: E402
from whoosh.codec import whoosh3  # noqa: E402
from whoosh.filedb import filetables  # noqa: E402
from whoosh.filedb.filestore import FileStorage  # noqa: E402
from whoosh.index import TOC  # noqa: E402
from whoosh.util.numeric import byte_to_length, length_to_byte  # noqa: E402

__all__ = [
    "TOC", "FileStorage", "byte_to_length", "columns", "fields", "filetables", "formats", "import_parts",
    "length_to_byte", "whoosh3",
]  # fmt: skip
