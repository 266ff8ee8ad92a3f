"""How good `remind` is: prompts as people write them, against this project's own vault as it was when they were written.

Precision is of the lines that are shown, recall of the records that should come. The floor in `core/ranking/relevance.py` was set on the
prompts that are `seen`, `reported` or `near`. `--show` names what went wrong.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import NamedTuple

from benchmarks.measure import row
from cortex.core.model.caller import Caller, no_progress
from cortex.index.refresh import query_index
from cortex.operations.find.remind import remind
from cortex.vault.locate import Vault

_HERE = os.path.dirname(os.path.abspath(__file__))
# Records that are younger than a set of prompts were not thought of.
_THEN, _LATER = "2026-11-21T01:31", "2026-11-21T04:55"
_SUPERSEDED_RE = re.compile(r"^(?:status: superseded|superseded_\w+: .*)\n", re.MULTILINE)
_WRITTEN_UNTIL = {
    "seen": _THEN,
    "held out": _THEN,
    "reported": _LATER,
    "near": _LATER,
    "later": _LATER,
}
_UNSEEN = ("held out", "later")


class Case(NamedTuple):
    """A prompt and the last six signs of the ids that should come, and of those that may."""

    prompt: str
    must: frozenset[str]
    may: frozenset[str]
    set: str  # one of `_WRITTEN_UNTIL`


class Marks(NamedTuple):
    """How it went for some prompts."""

    prompts: int
    lines: int
    right: int
    wanted: int
    came: int
    first: int  # prompts whose first line is one that should come
    quiet: int  # of which nothing should come
    stayed: int  # of which nothing came


def cases(path: str) -> list[Case]:
    found: list[Case] = []
    named_set = ""
    with open(path, encoding="utf-8") as file:
        for line in map(str.strip, file):
            if line.startswith("#= "):
                named_set = line[3:].partition(":")[0]
            if not line or line.startswith("#"):
                continue
            ids, _, prompt = line.partition(":")
            may = frozenset(id_[1:] for id_ in ids.split() if id_.startswith("~"))
            must = frozenset(id_ for id_ in ids.split() if not id_.startswith("~"))
            in_set = named_set or ("held out" if len(found) % 3 == 2 else "seen")
            found.append(Case(prompt.strip().replace("\\n", "\n"), must, may, in_set))
    return found


def vaults_of_then(work: str) -> dict[str, Vault]:
    """This project's vault for each set of prompts, without what was written later than these."""
    vaults = {until: _vault_until(work, until) for until in set(_WRITTEN_UNTIL.values())}
    return {name: vaults[until] for name, until in _WRITTEN_UNTIL.items()}


def _vault_until(work: str, until: str) -> Vault:
    root = os.path.join(work, f"own-{until.replace(':', '')}")
    shutil.copytree(os.path.join(os.path.dirname(_HERE), "vault"), root)
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if _is_later("created|at", text, until):
                os.unlink(path)
            elif _is_later("superseded_at", text, until):  # then it held
                with open(path, "w", encoding="utf-8") as file:
                    file.write(_SUPERSEDED_RE.sub("", text))
    return Vault(root, is_explicit=True)


def _is_later(keys: str, text: str, until: str) -> bool:
    """Whether a field of a note's frontmatter is a time after `until`."""
    said = re.search(rf"^(?:{keys}): [\"']?(\S+?)[\"']?$", text, re.MULTILINE)
    return said is not None and said[1] > until


def marks(vaults: dict[str, Vault], some: list[Case], *, show: bool = False) -> Marks:
    lines = right = wanted = came = first = quiet = stayed = 0
    for case in some:
        vault = vaults[case.set]
        # As a hook asks: the index is that of the last look.
        caller = Caller(vault.root, "2026-11-21T05:00:00Z", os.urandom, "hook", no_progress)
        told = [
            line.id[-6:]
            for line in remind(vault, caller, case.prompt, project="cortex", branch="main").hits
        ]
        good = case.must | case.may
        lines, right = lines + len(told), right + len(good.intersection(told))
        wanted, came = wanted + len(case.must), came + len(case.must.intersection(told))
        first += bool(told) and told[0] in good
        quiet, stayed = quiet + (not case.must), stayed + (not case.must and not told)
        if show and (case.must.difference(told) or set(told) - good):
            missed, wrong = (
                sorted(case.must.difference(told)),
                [id_ for id_ in told if id_ not in good],
            )
            print(
                f"{case.set}: {case.prompt[:90]!r}\n    missed {missed}, wrong {wrong}, of {told}"
            )
    return Marks(len(some), lines, right, wanted, came, first, quiet, stayed)


def tables(work: str, path: str = os.path.join(_HERE, "prompts.txt")) -> None:
    vaults = vaults_of_then(work)
    for vault in vaults.values():
        query_index(vault, no_progress, lambda index: index.catalogue.count_notes())
    every = cases(path)
    print(
        f"\nReminders, {len(every)} prompts of which {sum(not case.must for case in every)} concern nothing that is known\n"
    )
    row(
        "prompts",
        "precision of lines",
        "recall",
        "first line right",
        "nothing shown when nothing should be",
    )
    row("---", "---:", "---:", "---:", "---:")
    for name in _WRITTEN_UNTIL:
        one = marks(
            vaults,
            [case for case in every if case.set == name],
            show="--show" in sys.argv and (name not in _UNSEEN or "--all" in sys.argv),
        )
        asked = one.prompts - one.quiet
        row(f"{name}: {one.prompts}", *(f"{good / max(1, all_):.2f} ({good}/{all_})" for good, all_ in ((one.right, one.lines), (one.came, one.wanted), (one.first, asked), (one.stayed, one.quiet))))  # fmt: skip


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory(prefix="cortex-bench-") as folder:
        os.environ |= {
            "XDG_CACHE_HOME": os.path.join(folder, "cache"),
            "XDG_STATE_HOME": os.path.join(folder, "state"),
            "XDG_CONFIG_HOME": folder,
        }
        tables(folder)
