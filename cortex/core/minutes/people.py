"""People by their names: Cleo, cleo, @cleo and the only Cleo Diaz are one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.tokenizer import fold_accents

_WORD_RE = lazy_re(r"[^\W_]+")


def people_in(names: str) -> set[str]:
    """The people of some names, as they are compared: `@ana-maria` is Ana Maria."""
    words = (_WORD_RE.findall(one) for one in fold_accents(names).casefold().split(","))
    return {*map(" ".join, words)} - {""}


def usual_names(counts: Mapping[str, int]) -> dict[str, str]:
    """Each of these names, counted, as its person is named most often. A first name is the only full
    name that begins with it."""
    keys = {name: " ".join(people_in(name.replace(",", " "))) for name in counts}
    full: dict[str, set[str]] = {}
    for key in keys.values():
        full.setdefault(key.partition(" ")[0], set()).update({key} if " " in key else ())
    whole = {one: min(full[one]) for one in full if len(full[one]) == 1}
    forms: dict[str, Counter[str]] = {}
    for name, count in counts.items():
        forms.setdefault(whole.get(keys[name], keys[name]), Counter())[name] += count
    best = {one: max(some, key=lambda name: (some[name], name)) for one, some in forms.items()}
    return {name: best[whole.get(key, key)] for name, key in keys.items()}
