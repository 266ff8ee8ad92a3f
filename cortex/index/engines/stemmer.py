"""The stemmer of all engines, Porter's second, without the rest of Whoosh, which takes 45 ms."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    # As in `whoosh_import`: Python warns when it first compiles Whoosh 2.7.4.
    warnings.simplefilter("ignore", SyntaxWarning)
    warnings.simplefilter("ignore", DeprecationWarning)
    from whoosh.lang.porter2 import stem

__all__ = ["stem"]
