"""Cortex beside other programs that find notes by their words, on the same vault and in the same hour.

What an index and a search cost, whether the next answer is right after a note has changed, what happens to the files, and with
`--data` how good the answers are. Each program that is installed is measured; one that fails is shown with its error.
`python -m benchmarks.peers [--notes 10000] [--size 2000] [--data DIR] [--only a,b] [--json] [--write]`
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from benchmarks import retrieval
from benchmarks.corpus import write_vault
from benchmarks.peer_programs import PEERS, Peer, PeerError, Run
from benchmarks.retrieval import Interval, RetrievalSet

_TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
QUERIES = ("storage", "merge decision folder")
CHANGES = ("edit", "delete", "rename", "new note", "same size and mtime")
_SLOW = 2.0  # seconds of one search, from which on a fifth of the runs have to do
_FIRST_HITS = 10


class Cost(NamedTuple):
    """Medians of one kind of search, in a process for each."""

    cpu_ms: float
    wall_ms: float
    cpu_ratio: float  # to bare Python in the same minute
    wall_ratio: float


class Quality(NamedTuple):
    """How good the answers are on one set."""

    asked: int
    of: int  # fewer were asked where the time was over
    r5: Interval
    ndcg: Interval


class Measured(NamedTuple):
    """What one program showed; `error` says why the rest is missing."""

    name: str
    title: str
    version: str = ""  # empty if it is not installed
    notes: int = 0
    build_cpu: float = 0.0
    build_wall: float = 0.0
    costs: tuple[Cost, ...] = ()  # one for each of QUERIES
    answers: Mapping[str, str] = MappingProxyType({})  # by change: right, stale, or an error
    again: str = ""
    rewritten: int = 0
    added: int = 0
    asks: str = ""
    quality: Mapping[str, Quality | str] = MappingProxyType({})  # by set; or why there is none
    error: str = ""


class Settings(NamedTuple):
    """What is measured, and how long it may take."""

    notes: int
    size: int
    runs: int
    limit: float
    sample: int
    max_notes: dict[str, int]


def write_probes(root: str) -> None:
    """Notes, each with a word of its own, that are changed after the measuring."""
    os.makedirs(os.path.join(root, "probe"))
    for name in ("edit", "delete", "rename", "same"):
        _write(os.path.join(root, "probe", f"{name}.md"), f"# A probe\n\nIt says {name}quobrak.\n")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _replace(path: str, old: str, new: str) -> None:
    """Another text in place of one, in the note as the program has left it."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    _write(path, text.replace(old, new))


def _edit(root: str) -> None:
    _replace(os.path.join(root, "probe/edit.md"), "editquobrak", "editvandrok and more")


def _same(root: str) -> None:
    path = os.path.join(root, "probe/same.md")
    before = os.stat(path)
    _replace(path, "samequobrak", "samevandrok")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


# Each change, then the words that are asked, each with the note that its answer names, and one that it must not name.
_CHANGES: dict[str, tuple[Callable[[str], object], tuple[tuple[str, str, str], ...]]] = {
    "edit": (_edit, (("editvandrok", "probe/edit.md", ""), ("editquobrak", "", "probe/edit.md"))),
    "delete": (
        lambda root: os.unlink(os.path.join(root, "probe/delete.md")),
        (("deletequobrak", "", "probe/delete.md"),),
    ),
    "rename": (
        lambda root: os.rename(
            os.path.join(root, "probe/rename.md"), os.path.join(root, "probe/renamed.md")
        ),
        (("renamequobrak", "probe/renamed.md", "probe/rename.md"),),
    ),
    "new note": (
        lambda root: _write(os.path.join(root, "probe/new.md"), "# A probe\n\nnewquobrak\n"),
        (("newquobrak", "probe/new.md", ""),),
    ),
    "same size and mtime": (
        _same,
        (("samevandrok", "probe/same.md", ""), ("samequobrak", "", "probe/same.md")),
    ),
}


def answers_after_changes(peer: Peer) -> dict[str, str]:
    """Whether the next answer after each change is right."""
    found = {}
    for change, (make, questions) in _CHANGES.items():
        make(peer.root)
        try:
            right = True
            for word, wanted, unwanted in questions:
                paths = peer.paths(peer.search(word).said)
                right = right and (not wanted or wanted in paths) and unwanted not in paths
            found[change] = "right" if right else "stale"
        except PeerError as error:
            found[change] = f"error ({error})"
    return found


def _digests(root: str) -> dict[str, bytes]:
    found = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, root)] = hashlib.sha256(file.read()).digest()
    return found


def search_costs(peer: Peer, runs: int) -> tuple[Cost, ...]:
    """What a search of each of the queries takes, with the share of a process in the background."""
    found = []
    for query in QUERIES:
        first = peer.search(query)
        times = runs if first.wall < _SLOW else max(2, runs // 5)
        bare = [peer.run(sys.executable, "-c", "pass") for _ in range(runs)]
        before = peer.helper_cpu()
        spent = [peer.search(query) for _ in range(times)]
        cpu, wall = _medians(spent)
        if before:
            time.sleep(1)  # what it still does for them
            cpu += 1000 * (peer.helper_cpu() - before) / times
        bare_cpu, bare_wall = _medians(bare)
        found.append(Cost(cpu, wall, cpu / bare_cpu, wall / bare_wall))
    return tuple(found)


def _medians(runs: Sequence[Run]) -> tuple[float, float]:
    """(CPU ms, wall ms)"""
    cpu, wall = (statistics.median(column) for column in list(zip(*runs, strict=True))[:2])
    return 1000 * cpu, 1000 * wall


def quality_of(kind: type[Peer], of: RetrievalSet, folder: str, limit: float) -> Quality | str:
    """How good a program's answers are on a set, as far as the time goes."""
    root = os.path.join(folder, "vault")
    os.makedirs(root)
    _write(os.path.join(root, "cortex.toml"), "format = 1\n")
    ids = retrieval.write_notes(of, root)
    peer = kind(root, os.path.join(folder, "home"), limit)
    scores = []
    try:
        peer.is_installed()
        peer.build()
        until = time.monotonic() + limit
        for query in of.queries[: kind.max_queries or None]:
            paths = peer.paths(peer.search(query.text).said)[:_FIRST_HITS]
            answer = [ids.get(os.path.basename(path)) for path in paths]
            scores.append(retrieval.judge(answer, query.right))
            if time.monotonic() > until:
                break
    except (PeerError, OSError, ValueError, KeyError) as error:
        return f"error ({error})"
    finally:
        peer.close()
        shutil.rmtree(folder, ignore_errors=True)
    found = retrieval.intervals(scores)
    return Quality(len(scores), len(of.queries), found["r5"], found["ndcg"])


def measure(name: str, work: str, settings: Settings, sets: Sequence[RetrievalSet]) -> Measured:
    """All that is measured of one program, in folders of its own below `work`."""
    kind, folder = PEERS[name], os.path.join(work, name)
    most = settings.max_notes.get(name, kind.max_notes)
    root = os.path.join(folder, "vault")
    os.makedirs(root)
    peer = kind(root, os.path.join(folder, "home"), settings.limit)
    found = Measured(name, kind.name, again=kind.again, asks=kind.asks)
    try:
        if not peer.is_installed():
            return found
        found = found._replace(version=peer.version())
        notes = min(settings.notes, most or settings.notes)
        write_vault(root, notes, settings.size)
        write_probes(root)
        before = _digests(root)
        built = peer.build()
        time.sleep(2.2)  # stamps younger than two seconds are doubtful to some
        found = found._replace(
            notes=notes,
            build_cpu=sum(run.cpu for run in built),
            build_wall=sum(run.wall for run in built),
        )
        if "probe/edit.md" not in peer.paths(peer.search("editquobrak").said):
            raise PeerError("it does not find what it has just indexed")
        found = found._replace(costs=search_costs(peer, settings.runs))
        after = _digests(root)
        found = found._replace(
            rewritten=sum(after.get(path) != digest for path, digest in before.items()),
            added=len(after.keys() - before.keys()),
            answers=answers_after_changes(peer),
        )
    except (PeerError, OSError, ValueError, KeyError) as error:
        found = found._replace(error=str(error) or type(error).__name__)
    finally:
        peer.close()
        shutil.rmtree(folder, ignore_errors=True)
    if found.error or kind.answers_as or not kind.ranks:
        return found
    quality = {
        one.name: f"more than {most:,} notes"
        if most and len(one.docs) > most
        else quality_of(kind, one, folder, settings.limit)
        for one in sets
    }
    return found._replace(quality=quality)


def _table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    aligned = [
        "---:" if any(str(cell)[:1].isdigit() for cell in column) else "---"
        for column in zip(*rows, strict=True)
    ]
    for cells in (headings, aligned, *rows):
        yield "| " + " | ".join(str(cell) for cell in cells) + " |"
    yield ""


def _files(one: Measured) -> str:
    counts = ((one.rewritten, "rewritten"), (one.added, "added"))
    return ", ".join(f"{count:,} {what}" for count, what in counts if count) or "none"


def _figure(one: Measured, name: str) -> str:
    quality = one.quality.get(name)
    if quality is None or isinstance(quality, str):
        return quality or ""
    part = f", {quality.asked} queries" if quality.asked < quality.of else ""
    r5 = quality.r5
    return f"{r5.mean:.2f} ({r5.low:.2f}–{r5.high:.2f}) / {quality.ndcg.mean:.2f}{part}"


def full_tables(all_: Sequence[Measured], sets: Sequence[RetrievalSet]) -> Iterator[str]:
    """Every table, in markdown."""
    ran = [one for one in all_ if one.version and not one.error]
    yield "What an index and a search cost"
    yield ""
    costs: list[tuple[str, ...]] = []
    for one in ran:
        first, second = one.costs
        costs.append((f"{one.title} {one.version}", f"{one.notes:,}", f"{one.build_cpu:.1f}", f"{one.build_wall:.1f}", f"{first.cpu_ms:.1f}", f"{first.cpu_ratio:.1f}", f"{first.wall_ratio:.1f}", f"{second.cpu_ratio:.1f}"))  # fmt: skip
    heads = ("program", "notes", "build, CPU s", "wall s", "one word, CPU ms", "CPU × bare Python", "wall × bare Python", "three words, CPU × bare Python")  # fmt: skip
    yield from _table(heads, costs)
    yield "The next answer after a change, and the files of the vault"
    yield ""
    changed = ("program", *CHANGES, "what makes it right", "files")
    rows: list[tuple[str, ...]] = [
        (one.title, *(one.answers[change] for change in CHANGES), one.again, _files(one))
        for one in ran
    ]
    yield from _table(changed, rows)
    if sets and ran:
        yield "R@5 (and where 95 % of its resamples lie) / nDCG@10"
        yield ""
        asked = ("program", "how it is asked", *(f"{one.name}, {len(one.queries)} queries" for one in sets))  # fmt: skip
        rows = [
            (one.title, one.asks, *(_figure(one, of.name) for of in sets))
            for one in ran
            if one.quality
        ]
        yield from _table(asked, rows)
    for one in all_:
        if one.error:
            yield f"- {one.title} {one.version}: failed: {one.error}".replace("  ", " ")
    if missing := [one.title for one in all_ if not one.version and not one.error]:
        yield f"- Not installed: {', '.join(missing)}."


def short_table(all_: Sequence[Measured], sets: Sequence[RetrievalSet]) -> Iterator[str]:
    """One table with what matters most."""
    heads = ("program", "search, CPU × bare Python", "right after a change", "files rewritten", *(f"R@5, {one.name}" for one in sets))  # fmt: skip
    by_name = {one.name: one for one in all_}
    rows = []
    for one in all_:
        if one.version and not one.error:
            right = sum(answer == "right" for answer in one.answers.values())
            told = by_name.get(PEERS[one.name].answers_as, one)
            changed = f"{one.rewritten:,}" if one.rewritten else "none"
            figures = [_figure(told, of.name).partition(" ")[0] for of in sets]
            rows.append((one.title, f"{one.costs[0].cpu_ratio:.1f}", f"{right} of {len(CHANGES)}", changed, *figures))  # fmt: skip
    return _table(heads, rows)


def write_into(path: str, lines: Iterator[str], name: str) -> None:
    """Replace what a page has between the marks of that name."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    body = "\n".join(lines).strip("\n")
    between = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    new, count = between.subn(lambda _: f"{begin}\n{body}\n\n{end}", text)
    if count != 1:
        raise SystemExit(f"{path} has no {begin.strip()} … {end}")
    _write(path, new)


def _about(settings: Settings) -> str:
    load = os.getloadavg()[1]
    when = time.strftime("%B %Y")
    return (
        f"{when}, {settings.notes:,} notes of {settings.size:,} bytes, median of {settings.runs} processes,"
        f" {os.cpu_count()} cores with a load of {load:.1f}"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--notes", type=int, default=10_000, help="of the vault that is timed")
    parser.add_argument("--size", type=int, default=2_000, help="bytes of each of them")
    parser.add_argument("--runs", type=int, default=20, help="searches of each kind")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one step of a peer")
    parser.add_argument("--max-notes", action="append", default=[], metavar="PEER=N", help="fewer notes for a slow one")  # fmt: skip
    parser.add_argument("--data", default="", help="a folder of sets, as benchmarks.retrieval has")
    parser.add_argument("--sets", default="", help="only these of them, with commas between")
    parser.add_argument("--sample", type=int, default=100, help="queries of each set; 0 for all")
    parser.add_argument("--only", default="", help=f"only these: {','.join(PEERS)}")
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    parser.add_argument("--write", action="store_true", help="put the tables into the docs, too")
    return parser.parse_args()


def main() -> None:
    given = _arguments()
    names = [name for name in given.only.split(",") if name] or [*PEERS]
    if unknown := [name for name in names if name not in PEERS]:
        raise SystemExit(f"no peer {', '.join(unknown)}: there is {', '.join(PEERS)}")
    most = {name: int(count) for name, count in (one.split("=") for one in given.max_notes)}
    settings = Settings(given.notes, given.size, given.runs, given.limit, given.sample, most)
    chosen = [name for name in given.sets.split(",") if name]
    sets = list(retrieval.load_sets(given.data, chosen, given.sample)) if given.data else []
    found = []
    with tempfile.TemporaryDirectory(prefix="cortex-bench-") as work:
        for name in names:
            print(f"{name} …", file=sys.stderr, flush=True)
            found.append(measure(name, work, settings, sets))
    if given.json:
        print(json.dumps([_as_json(one) for one in found], ensure_ascii=False, indent=1))
    else:
        print(f"{_about(settings)}\n")
        print("\n".join(full_tables(found, sets)))
    if given.write:
        full = (f"{_about(settings)}", "", *full_tables(found, sets))
        write_into(os.path.join(_TREE, "docs/dev/benchmarks.md"), iter(full), "peers")
        write_into(os.path.join(_TREE, "README.md"), short_table(found, sets), "peers")


def _as_json(one: Measured) -> dict[str, object]:
    quality = {
        name: value
        if isinstance(value, str)
        else value._asdict() | {"r5": value.r5._asdict(), "ndcg": value.ndcg._asdict()}
        for name, value in one.quality.items()
    }
    return one._asdict() | {"costs": [cost._asdict() for cost in one.costs], "quality": quality}


if __name__ == "__main__":
    main()
