"""Retrieval quality of `cortex search` on sets of documents and queries whose right answers people have named.

A set is a JSON file: `docs` (id, title, text, perhaps date) and `queries` (text, rel: the ids of the right documents, perhaps
category). Each document becomes a note, and each query is asked as it stands. The sets are not part of this project.
`python -m benchmarks.retrieval --data DIR [--sample N] [--sets a,b] [--embed] [--words-only] [--engine NAME] [--json]`
"""

from __future__ import annotations

import argparse
import inspect
import json
import math
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.measure import row, timed
from cortex.core.model.caller import Caller, no_progress
from cortex.index.full_text import choose_engine
from cortex.index.refresh import query_index
from cortex.operations.care.embed import embed
from cortex.operations.care.init import init
from cortex.operations.find.search import search
from cortex.vault.locate import Vault

_RESAMPLES = 400
_LOW, _HIGH = 10, 389  # of the sorted means of the resamples: 95 % lie between


class LabelledQuery(NamedTuple):
    """A query and the ids of the documents that answer it."""

    text: str
    right: frozenset[str]
    category: str


class RetrievalSet(NamedTuple):
    """Documents, and queries about them."""

    name: str
    docs: list[dict[str, str]]
    queries: list[LabelledQuery]


class Score(NamedTuple):
    """How one answer does; the fields are the columns of the tables."""

    r5: float  # the share of the right documents among the first five
    r10: float
    mrr: float  # one divided by the rank of the first right one
    ndcg: float
    hit1: float


class Interval(NamedTuple):
    """A mean over queries, and where 95 % of the means of resampled queries lie."""

    mean: float
    low: float
    high: float


class Result(NamedTuple):
    """The figures of one set, or of one category of its queries."""

    set: str
    category: str  # empty for the whole set
    docs: int
    queries: int
    scores: dict[str, Interval]
    query_ms: float  # CPU
    build_cpu: float  # seconds
    build_wall: float


HEADINGS = {"r5": "R@5", "r10": "R@10", "mrr": "MRR@10", "ndcg": "nDCG@10", "hit1": "hit@1"}


def load_sets(folder: str, names: Sequence[str] = (), sample: int = 0) -> Iterator[RetrievalSet]:
    """The sets of a folder, each with at most `sample` of its queries, always the same ones."""
    there = sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".json"))
    if unknown := [name for name in names if name not in there]:
        raise SystemExit(f"no set {', '.join(unknown)} in {folder}: there is {', '.join(there)}")
    for name in names or there:
        with open(os.path.join(folder, f"{name}.json"), encoding="utf-8") as file:
            data = json.load(file)
        queries = data["queries"]
        if sample and sample < len(queries):
            queries = random.Random(0).sample(queries, sample)
        labelled = [
            LabelledQuery(one["text"], frozenset(one["rel"]), str(one.get("category") or ""))
            for one in queries
        ]
        yield RetrievalSet(name, data["docs"], labelled)


def write_notes(of: RetrievalSet, root: str) -> dict[str, str]:
    """Write a note for each document. Returns the id of the document by the name of its file."""
    ids = {}
    for number, doc in enumerate(of.docs):
        name = f"n{number:05d}.md"
        ids[name] = doc["id"]
        head = f"---\ndate: {doc['date']!r}\n---\n" if doc.get("date") else ""
        title = f"# {doc['title']}\n\n" if doc.get("title") else ""
        with open(os.path.join(root, name), "w", encoding="utf-8") as file:
            file.write(head + title + doc["text"].strip() + "\n")
    return ids


def judge(answer: Sequence[str | None], right: frozenset[str]) -> Score:
    """The score of an answer: the ids of its first ten documents, None for what is no document."""
    first = answer[:10]
    hits = [number for number, id_ in enumerate(first) if id_ in right]
    best = sum(1 / math.log2(number + 2) for number in range(min(10, len(right))))
    return Score(
        len(right.intersection(answer[:5])) / len(right),
        len(right.intersection(first)) / len(right),
        1 / (hits[0] + 1) if hits else 0.0,
        sum(1 / math.log2(number + 2) for number in hits) / best,
        float(hits[:1] == [0]),
    )


def intervals(scores: Sequence[Score]) -> dict[str, Interval]:
    """The mean of each measure, with its bootstrap interval."""
    found = {}
    for measure, values in zip(Score._fields, zip(*scores, strict=True), strict=True):
        chance = random.Random(1)
        means = sorted(
            sum(chance.choice(values) for _ in values) / len(values) for _ in range(_RESAMPLES)
        )
        found[measure] = Interval(statistics.fmean(values), means[_LOW], means[_HIGH])
    return found


def search_options(*, words_only: bool) -> dict[str, Any]:
    """The options of `cortex search` that are asked for; exits where it has no such option."""
    wanted: dict[str, Any] = {"words_only": True} if words_only else {}
    known = inspect.signature(search).parameters
    if missing := [name for name in wanted if name not in known]:
        have = ", ".join(list(known)[3:])
        raise SystemExit(
            f"not available: this cortex's search has no {', '.join(missing)}; it has {have}"
        )
    return wanted


def measure(
    of: RetrievalSet, root: str, options: Mapping[str, Any], *, embeds: bool = False
) -> list[Result]:
    """The figures of a set, then of each category of its queries; with vectors if `embeds`."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    caller = Caller(root, now, os.urandom, "bench", no_progress)
    vault = Vault(init(caller, root).root)
    ids = write_notes(of, root)

    def build() -> None:
        query_index(vault, no_progress, lambda index: index.catalogue.count_notes())
        if embeds:
            embed(vault, caller)

    build_cpu, build_wall = timed(build)
    search(vault, caller, "warm", number=10, **options)
    scores, spent = [], []
    for query in of.queries:
        start = time.process_time()
        hits = search(vault, caller, query.text, number=10, **options).hits
        spent.append(1000 * (time.process_time() - start))
        scores.append(judge([ids.get(os.path.basename(hit.path)) for hit in hits], query.right))
    found = []
    categories = sorted({query.category for query in of.queries} - {""})
    for category in ("", *categories):
        chosen = [
            number
            for number, query in enumerate(of.queries)
            if not category or query.category == category
        ]
        found.append(
            Result(
                of.name,
                category,
                len(of.docs),
                len(chosen),
                intervals([scores[number] for number in chosen]),
                statistics.fmean(spent[number] for number in chosen),
                build_cpu,
                build_wall,
            )
        )
    return found


def _print_row(one: Result) -> None:
    figures = (f"{x.mean:.3f} ({x.low:.3f}–{x.high:.3f})" for x in one.scores.values())
    built = "" if one.category else f"{one.build_cpu:.1f}"
    name = f"{one.set}: {one.category}" if one.category else one.set
    row(name, f"{one.docs:,}", f"{one.queries:,}", *figures, f"{one.query_ms:.1f}", built)


def _as_json(one: Result) -> dict[str, object]:
    return one._asdict() | {"scores": {name: x._asdict() for name, x in one.scores.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", required=True, help="the folder of the sets")
    parser.add_argument("--sets", default="", help="only these, by name, with commas between")
    parser.add_argument("--sample", type=int, default=0, help="at most so many queries of each")
    parser.add_argument("--embed", action="store_true", help="give each set vectors first")
    parser.add_argument("--words-only", action="store_true", help="search without vectors")
    parser.add_argument("--engine", default="", help="which full-text engine searches")
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    given = parser.parse_args()
    options = search_options(words_only=given.words_only)
    if given.engine:
        os.environ["CORTEX_ENGINE"] = given.engine
        if choose_engine(given.engine) != given.engine:
            raise SystemExit(f"not available: {given.engine}")
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="cortex-bench-") as work:
        for variable in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            os.environ[variable] = os.path.join(work, "home")
        if not given.json:
            row("set", "notes", "queries", *HEADINGS.values(), "CPU ms a query", "build, CPU s")
            row("---", *["---:"] * (len(HEADINGS) + 4))
        names = [name for name in given.sets.split(",") if name]
        for of in load_sets(given.data, names, given.sample):
            found = measure(of, os.path.join(work, of.name), options, embeds=given.embed)
            results += found
            for one in found if not given.json else ():
                _print_row(one)
    if given.json:
        print(json.dumps([_as_json(one) for one in results], ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
