"""Notes to measure on: seeded, about 6 kB each, words drawn as often as in prose, with headings, links, code and tags."""

from __future__ import annotations

import itertools
import os
import random

_CONSONANTS, _VOWELS = "bcdfghklmnprstvw", "aeiou"


def vocabulary(size: int, chance: random.Random) -> list[str]:
    words = {"decision", "merge", "index", "folder", "capture", "storage"}
    while len(words) < size:
        words.add(
            "".join(
                chance.choice(_CONSONANTS) + chance.choice(_VOWELS)
                for _ in range(chance.randint(1, 4))
            )
            + chance.choice("nrstl")
        )
    ordered = sorted(words)
    chance.shuffle(ordered)
    return ordered


def write_vault(root: str, notes: int, size: int = 6000, seed: int = 7) -> None:
    """A vault of `notes` records and plain notes below `root`."""
    chance = random.Random(seed)
    words = vocabulary(20_000, chance)
    weights = list(itertools.accumulate(1 / (rank + 2.7) for rank in range(len(words))))
    os.makedirs(root, exist_ok=True)
    with open(os.path.join(root, "cortex.toml"), "w", encoding="utf-8") as file:
        file.write("format = 1\n[index]\nexclude = []\n")
    for number in range(notes):
        picked = chance.choices(words, cum_weights=weights, k=size // 7)
        lines = [
            "---", f"id: note-{number:06d}", f"type: {chance.choice(['decision', 'gotcha', 'pattern', 'note'])}",
            f"title: {' '.join(picked[:6])}", "status: active", f"project: p{number % 7}", f"tags: [{picked[7]}, area/{picked[8]}]",
            f"created: 2026-{number % 12 + 1:02d}-{number % 28 + 1:02d}T10:00:00Z", "---", "",
        ]  # fmt: skip
        for start in range(0, len(picked), 60):
            row = picked[start : start + 60]
            lines += [
                f"## {' '.join(row[:4]).capitalize()}",
                "",
                " ".join(row[4:40]) + f" [[note-{chance.randrange(notes):06d}]] #{row[5]}.",
                "",
            ]
            lines += [
                "```python",
                f"{row[6]}_{row[7]}({row[8]}.{row[9]})",
                "```",
                "",
                " ".join(row[40:]) + ".",
                "",
            ]
        folder = os.path.join(root, "notes", f"{number % 50:02d}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"note-{number:06d}.md"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
