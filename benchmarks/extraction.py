"""Precision and recall of the layers of extraction on the labelled snippets in `tests/core/extract/corpus`, and their speed.

A find is right when a snippet names its type and words of its text; a snippet that names nothing is a near-miss. `chatter` is what
agents say while they work, in which nothing is decided. What is held out was written before its results were seen, and the patterns
were never mended by it; but the same hand wrote all, so that none tells what the layers find in the answers of agents that nobody
here has read.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from cortex.core.extract.candidate import Candidate
from cortex.core.extract.extraction import becomes_record, find_candidates

CORPUS = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
    "tests",
    "core",
    "extract",
    "corpus",
)
_SIZE = 64_000  # characters of a text that is timed


class Snippet(NamedTuple):
    """A text, and what is to become a record: types and words."""

    name: str  # begins with the layer
    text: str
    wanted: tuple[tuple[str, str], ...]


class Judged(NamedTuple):
    """What a layer found, right and wrong, and what it missed."""

    right: int
    wrong: tuple[tuple[str, Candidate], ...]
    missed: tuple[tuple[str, str], ...]  # name of the snippet, words

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + len(self.missed))


def snippets(file: str) -> Iterator[Snippet]:
    with open(os.path.join(CORPUS, f"{file}.md"), encoding="utf-8") as held:
        parts = held.read().split("\n=== ")[1:]
    for part in parts:
        name, _, rest = part.partition("\n")
        text, _, finds = rest.partition("\n--- finds")
        wanted = (line.partition(": ") for line in finds.strip().splitlines())
        yield Snippet(name, text, tuple((type_, words) for type_, _, words in wanted))


def judge(some: Iterator[Snippet]) -> Judged:
    right, wrong, missed = 0, [], []
    for snippet in some:
        found = [one for one in find_candidates(snippet.text) if becomes_record(one)]
        for type_, words in snippet.wanted:
            hit = next(
                (
                    one
                    for one in found
                    if one.type == type_ and words.casefold() in one.text.casefold()
                ),
                None,
            )
            if hit:
                found.remove(hit)
                right += 1
            else:
                missed.append((snippet.name, words))
        wrong += [(snippet.name, one) for one in found]
    return Judged(right, tuple(wrong), tuple(missed))


def _share(judged: Judged) -> str:
    found, there = judged.right + len(judged.wrong), judged.right + len(judged.missed)
    return f"{judged.precision:.2f} ({judged.right}/{found}) | {judged.recall:.2f} ({judged.right}/{there})"


def tables() -> None:
    print("\nExtraction on labelled snippets\n")
    print(
        "| layer | snippets | of these near-misses | precision | recall |\n| --- | ---: | ---: | ---: | ---: |"
    )
    for file in ("tags", "structural", "keyword", "held-out", "held-out-2"):
        for layer in ("tag", "keyword") if file.startswith("held-out") else ("",):
            some = [one for one in snippets(file) if one.name.startswith(layer)]
            judged = judge(iter(some))
            nothing = sum(not one.wanted for one in some)
            name = f"{layer}, {file.replace('-', ' ')}" if layer else file
            print(f"| {name} | {len(some)} | {nothing} | {_share(judged)} |")
    print(
        "\nAnswers of agents in which nothing is decided\n\n| answers | | records all the same |\n| --- | ---: | ---: |"
    )
    for file in ("chatter", "chatter-held-out"):
        print(
            f"| {file.replace('-', ', ', 1).replace('-', ' ')} | {len(list(snippets(file)))} | {len(judge(snippets(file)).wrong)} |"
        )
    text = "\n\n".join(one.text for file in ("keyword", "tags") for one in snippets(file))
    text = (text * (_SIZE // len(text) + 1))[:_SIZE]
    start = time.process_time()
    for _ in range(20):
        find_candidates(text)
    spent = time.process_time() - start
    print(f"\n{20 * len(text) / spent / 1e6:.0f} MB of such text a second\n")


if __name__ == "__main__":
    tables()
