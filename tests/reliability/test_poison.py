"""Events that nobody can use: each is put aside with its reason, whole, and stops nobody else."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.core.notes import note as notes
from cortex.operations.records.capture import capture
from cortex.operations.records.restore import retry
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import files

STEM = "20261101t000000z-aaaaaaaaaa"


def event(
    *,
    id: str = STEM,
    type: str = "manual",
    at: str = "2026-11-01T00:00:00Z",
    more: str = "",
    body: str = "## Raw Content\n\ntext\n",
) -> bytes:
    return f"---\nid: {id}\ntype: {type}\nat: {at}\n{more}---\n\n{body}".encode()


POISONS = {
    "binary": (bytes(range(256)) * 20, "NUL bytes"),
    "broken YAML": (event(more="tags: [a, b\n"), "cannot be read"),
    "unknown type": (event(type="dream"), "unknown event type 'dream'"),
    "empty file": (b"", "no frontmatter"),
    "huge": (event(body="## Raw Content\n\n" + "word " * 300_000), "larger than"),
    "wrong id in the name": (event(id="20261101t000000z-bbbbbbbbbb"), "not the event's id"),
    "no heading": (event(body="just text\n"), "no '## Raw Content'"),
    "not UTF-8": (event() + b"caf\xe9\n", "not UTF-8"),
    "bad time": (event(at="2026-13-45T25:00:00Z"), "is not a time"),
    "conflict markers": (event(more="<<<<<<< HEAD\nbranch: a\n=======\nbranch: b\n>>>>>>> b\n"), "conflict markers"),
    "no text": (event(body="## Raw Content\n\n  \n"), "nothing to capture"),
    "an alias bomb": (event(more="a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"), "alias"),
    "brackets, nested": (event(more=f"a: {'[' * 3000}\n"), "brackets"),
    "Windows line ends and a BOM, cut short": (b"\xef\xbb\xbf" + event().replace(b"\n", b"\r\n")[:60], "no closing"),
}  # fmt: skip


def stem_of(number: int) -> str:
    return f"20261101t0000{number:02d}z-aaaaaaaaaa"


def test_poisoned_events_are_put_aside_whole_and_stop_nobody(vault, caller, look, homes):
    poisons = {
        stem_of(number): data.replace(STEM.encode(), stem_of(number).encode())
        for number, (data, _) in enumerate(POISONS.values())
    }
    for stem, data in poisons.items():
        files.create(vault.root, f"inbox/pending/{stem}.md", data)
    good = [
        capture(
            vault, caller._replace(now=f"2026-{month:02d}-20T00:00:00Z"), f"Gotcha: month {month}"
        ).id
        for month in (1, 11, 12)
    ]
    answer = normalize(vault, caller)
    assert answer.events == tuple(good)
    assert len(answer.failed) == len(poisons)
    failed = look(vault.root).below("inbox/failed")
    for (what, (_, reason)), (stem, data) in zip(POISONS.items(), poisons.items(), strict=True):
        envelope = notes.read(failed[f"inbox/failed/{stem}.md"])
        assert (envelope.get("status"), envelope.body) == ("failed", data), what
        assert reason in envelope.get("reason"), what
        assert envelope.get("hint"), what
    assert not look(vault.root).below("inbox/pending")
    assert not look(vault.root).temps

    for stem, data in poisons.items():
        retry(vault, caller, stem)
        assert look(vault.root).files[f"inbox/pending/{stem}.md"] == data
    assert not look(vault.root).below("inbox/failed")
    again = normalize(vault, caller)
    assert not again.events
    assert look(vault.root).below("inbox/failed") == failed


def test_an_event_that_fails_twice_under_one_name_loses_neither_text(vault, caller, look, homes):
    """Somebody mends a copy, badly, and puts it into the inbox without `retry`."""
    for text in (b"first", b"second"):
        files.create(vault.root, "inbox/pending/x.md", text)
        answer = normalize(vault, caller)
    assert "holds another text" in answer.failed[0].message
    kept = b"\n".join(look(vault.root).below("inbox").values())
    assert b"first" in kept
    assert b"second" in kept


def test_an_event_that_another_content_has_taken_the_place_of_is_kept(vault, caller, look, homes):
    """Two clones, one id: what the trail of events holds stays, and what arrives is put aside."""
    held = event(body="## Raw Content\n\nwhat was first\n")
    files.create(vault.root, f"events/2026/11/{STEM}.md", held)
    files.create(
        vault.root, f"inbox/pending/{STEM}.md", event(body="## Raw Content\n\nwhat came later\n")
    )
    answer = normalize(vault, caller)
    assert [problem.where for problem in answer.failed] == [f"inbox/failed/{STEM}.md"]
    assert look(vault.root).files[f"events/2026/11/{STEM}.md"] == held
    assert b"what came later" in look(vault.root).files[f"inbox/failed/{STEM}.md"]


def test_a_turn_is_not_lost_when_a_person_has_broken_the_note_of_its_session(
    vault, caller, look, homes
):
    capture(vault, caller, "began", type="stop", session="s")
    (session,) = normalize(vault, caller).created
    broken = Path(vault.root, session).read_bytes().replace(b"id: ", b"id: [", 1)
    Path(vault.root, session).write_bytes(broken)
    event_id = capture(vault, caller, "and went on", type="stop", session="s").id
    answer = normalize(vault, caller)
    assert look(vault.root).files[session] == broken
    assert answer.failed
    assert not answer.events
    assert look(vault.root).places(event_id)[0].startswith("inbox/")


@pytest.mark.parametrize(
    "kind", ["folder", "pipe", "link to a file", "dangling link", "link to a folder"]
)
def test_what_is_no_file_is_named_and_left_where_it_is(kind, vault, caller, look, homes, tmp_path):
    (tmp_path / "secret.md").write_bytes(event())
    thing = Path(vault.root, f"inbox/pending/{STEM}.md")
    make = {
        "folder": thing.mkdir,
        "pipe": lambda: os.mkfifo(thing),
        "link to a file": lambda: thing.symlink_to(tmp_path / "secret.md"),
        "dangling link": lambda: thing.symlink_to(tmp_path / "nothing.md"),
        "link to a folder": lambda: thing.symlink_to(tmp_path),
    }
    make[kind]()
    good = capture(vault, caller, "Gotcha: go on").id
    answer = normalize(vault, caller)
    assert answer.events == (good,)
    assert [problem.where for problem in answer.failed] == [f"inbox/pending/{STEM}.md"]
    assert answer.failed[0].hint
    assert os.path.lexists(thing)
    assert (tmp_path / "secret.md").read_bytes() == event()


@pytest.mark.parametrize("name", [
    b"\xff\xfe.md", "с именем.md".encode(), b"a\nb.md", b"--help.md", b"'; rm -rf x #.md",
    b"x" * 250 + b".md",
])  # fmt: skip
def test_a_strange_name_stops_nobody_and_can_be_retried(name, vault, caller, homes):
    pending = os.fsencode(vault.root) + b"/inbox/pending/"
    with open(pending + name, "wb") as file:
        file.write(b"strange")
    good = capture(vault, caller, "Gotcha: go on").id
    answer = normalize(vault, caller)
    assert answer.events == (good,)
    assert len(answer.failed) == 1
    retry(vault, caller, os.fsdecode(name.removesuffix(b".md")))
    with open(pending + name, "rb") as file:
        assert file.read() == b"strange"


def test_a_file_that_memory_cannot_hold_stops_nobody(vault, caller, cortex, homes):
    """A sparse file of 8 GB in the inbox, and 1 GB of address space."""
    huge = Path(vault.root, f"inbox/pending/{STEM}.md")
    with huge.open("wb") as file:
        file.truncate(8 << 30)
    good = capture(vault, caller, "Gotcha: go on").id
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    done = subprocess.run(
        [sys.executable, "-m", "cortex", "normalize", "--vault", vault.root],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=60,
        check=False,
    )
    assert Path(vault.root, f"events/2026/11/{good}.md").exists(), done.stderr
    assert STEM in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert [path.stat().st_size for path in Path(vault.root, "inbox").rglob(huge.name)] == [8 << 30]


def test_every_mutant_of_an_event_is_normalized_or_put_aside_and_retried_byte_for_byte(
    vault, caller, look, homes, soak
):
    chance = random.Random(20261120)
    whole = event(
        more="session: s\nproject: p\nbranch: main\ntags: [a, b]\nsource: cli\n",
        body="## Raw Content\n\nDecision: keep it, because it is one file.\n",
    )
    mutants: dict[str, bytes] = {}
    for number in range(5_000 if soak else 300):
        stem = f"20261101t{number // 3600:02d}{number // 60 % 60:02d}{number % 60:02d}z-aaaaaaaaaa"
        data = bytearray(whole.replace(STEM.encode(), stem.encode()))
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(data))
            change = chance.choice(["flip", "cut", "repeat", "insert"])
            if change == "flip":
                data[at] ^= 1 << chance.randrange(8)
            elif change == "cut":
                del data[at : at + chance.randrange(1, 40)]
            elif change == "repeat":
                data[at:at] = data[at : at + 40]
            else:
                data[at:at] = chance.choice(
                    [
                        b"\0", b"\r", b"\xc2\x85", b"\xe2\x80\xa8", b"---\n", b"\xed\xa0\x80",
                        b": ", b"\n",
                    ]
                )  # fmt: skip
        mutants[stem] = bytes(data)
        files.create(vault.root, f"inbox/pending/{stem}.md", mutants[stem])
    answer = normalize(vault, caller)
    seen = look(vault.root)
    assert len(answer.events) + len(answer.failed) == len(mutants)
    assert len(answer.failed) > len(mutants) // 10
    assert not seen.below("inbox/pending")
    for stem, data in mutants.items():
        (place,) = seen.places(stem)
        if place.startswith("inbox/failed"):
            retry(vault, caller, stem)
            place = f"inbox/pending/{stem}.md"
        assert Path(vault.root, place).read_bytes() == data
    assert not look(vault.root).below("inbox/failed")
