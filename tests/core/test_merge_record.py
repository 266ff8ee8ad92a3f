"""Law 5: equal sides give that side, a side equal to base the other, swapped sides the same bytes; frontmatter stays
YAML, no marker stands in it, and nothing is lost without a word.

The cases in `tests/merge_cases` are folders of `base.md`, `ours.md`, `theirs.md`, `expected.md` and `decisions.txt`, where the
versions are of two notes also `other.md`, and `name.txt` where the file's name matters; CORTEX_UPDATE=1 writes what comes out.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, event, given, strategies as st

from cortex.core.merge.merge_record import MergedRecord, merge_record
from cortex.core.model import event as events
from cortex.core.model.event import Event
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.record import Record, compose_record
from cortex.core.normalize.changes import AppendToSession, CreateNote, ExistingRecords, UpsertTopic
from cortex.core.normalize.handlers import amend_note, changes_for_event, records_from_event
from cortex.core.normalize.topic_upsert import upsert_record
from cortex.core.notes import note as notes
from cortex.core.notes.edit import lost_field, without_lost
from cortex.core.notes.frontmatter import is_readable
from cortex.core.text import yaml_writer

CASES = sorted(
    path for path in Path(__file__).parent.parent.joinpath("merge_cases").iterdir() if path.is_dir()
)
MARKER = re.compile(rb"^(?:<{7,} |={7,}\r?$|>{7,} )", re.MULTILINE)


def names_lost_values_alone(note: notes.Note) -> bool:
    """Values and texts that lost stop no merge, and are named until somebody has looked."""
    return all(map(lost_field, note.fields.get("merge_conflicts", ())))


def merge(base: bytes, ours: bytes, theirs: bytes, name: str = "") -> MergedRecord:
    return merge_record(base, ours, theirs, name=name)


def problems(data: bytes) -> list[str]:
    """Why the frontmatter of a note cannot be used; none when it can, by every reader."""
    note = notes.read(data, "n.md")
    found = [
        problem.message
        for problem in note.problems
        if "is a comment in YAML" not in problem.message
    ]  # valid, and worth a word
    try:
        yaml.safe_load(note.frontmatter)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        found.append(str(error))
    return found


# -- cases, written down


@pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)
def test_case(folder: Path) -> None:
    base, ours, theirs = (
        folder.joinpath(f"{name}.md").read_bytes() for name in ("base", "ours", "theirs")
    )
    name = (
        folder.joinpath("name.txt").read_text().strip()
        if folder.joinpath("name.txt").exists()
        else ""
    )
    merged = merge(base, ours, theirs, name)
    outcome = "two notes" if merged.are_two_notes else "clean" if merged.is_clean else "conflict"
    told = "".join(f"{line}\n" for line in (outcome, *merged.decisions))
    if os.environ.get("CORTEX_UPDATE"):
        folder.joinpath("expected.md").write_bytes(merged.data)
        folder.joinpath("decisions.txt").write_text(told)
    assert merged.data == folder.joinpath("expected.md").read_bytes()
    assert told == folder.joinpath("decisions.txt").read_text()
    swapped = merge(base, theirs, ours, name)
    assert swapped == (merged._replace(data=theirs) if merged.are_two_notes else merged)
    if merged.are_two_notes:
        assert merged.data == ours
        return
    note = notes.read(merged.data, "n.md")
    if note.opening_fence and not (problems(ours) and problems(theirs)):
        assert problems(merged.data) == []
    assert not MARKER.search(note.frontmatter)
    if note.opening_fence:
        assert (
            names_lost_values_alone(note) if merged.is_clean else "merge_conflicts" in note.fields
        )


# -- laws

values = st.sampled_from(
    [
        "a", "b c", "open", "done", '"x: y"', "'it''s'", "2026-01-02", "é", "12:30", "[[Note]]",
        "true", "a # why", '"a\\nb"', "",
    ]
)  # fmt: skip
words = st.sampled_from(["a", "b", "c d", '"e, f"', "g/h", "[[N]]", "2026-01-02"])
relations = st.builds(
    '{{kind: {}, to: "[[{}]]"}}'.format,
    st.sampled_from(["supersedes", "links"]),
    st.sampled_from(["x-1", "y-2", "z-3"]),
)
lists = st.one_of(
    st.lists(words, max_size=4, unique=True).map(lambda items: f" [{', '.join(items)}]\n"),
    st.lists(words, min_size=1, max_size=4, unique=True).map(
        lambda items: "\n" + "".join(f"  - {item}\n" for item in items)
    ),
)
times = st.sampled_from(
    [
        "2026-01-01T00:00:00Z",
        "2026-01-02T00:00:00Z",
        "2026-01-02T01:00:00+01:00",
        "2026-01-03",
        "yesterday",
    ]
)
event_ids = st.lists(
    st.sampled_from([f"20261120t16451{number}z-aaaaaaaaaa" for number in range(6)]),
    min_size=1,
    max_size=4,
    unique=True,
).map(sorted)
field_values = {
    "id": st.sampled_from(["n-1", "n-2"]).map(" {}\n".format),
    "type": st.sampled_from(["note", "decision", "session"]).map(" {}\n".format),
    "title": values.map(" {}\n".format),
    "status": st.sampled_from(["open", "done", "active"]).map(" {}\n".format),
    "tags": lists,
    "created": times.map(" {}\n".format),
    "updated": times.map(" {}\n".format),
    "relations": st.lists(relations, min_size=1, max_size=3, unique=True).map(lambda items: "\n" + "".join(f"  - {item}\n" for item in items)),
    "provenance": event_ids.map(lambda ids: "\n  events:\n" + "".join(f"    - {one}\n" for one in ids)),
    "topic": st.sampled_from(["decision/storage", "bug/login"]).map(" {}\n".format),
    "extra": st.one_of(values.map(" {}\n".format), lists, st.just(" |\n  a: b\n   c\n")),
}  # fmt: skip
# What breaks YAML, or stands between the keys.
trouble = st.sampled_from(
    [
        "x: a: b\n", "<<<<<<< HEAD\n", "=======\n", ">>>>>>> side\n", 'title: "x\n', "tags: [a\n",
        "\tb: c\n", "a: &x 1\n", "b: *x\n", "stray\n", "tags: #a\n", "c: one\n  two\n",
    ]
)  # fmt: skip
comments = st.sampled_from(["# mine\n", "\n", "# a\n# b\n"])
body_lines = st.sampled_from(
    ["alpha\n", "beta\n", "gamma\n", "\n", "- [ ] a\n", "- [x] a\n", "## H\n", "```\n", "======\n"]
)
bodies = st.tuples(st.lists(body_lines, max_size=8).map("".join), st.booleans()).map(
    lambda pair: pair[0].removesuffix("\n") if pair[1] else pair[0]
)


@st.composite
def written(draw: st.DrawFn, odd: bool) -> tuple[list[str], str]:
    """The chunks of a frontmatter, and a body."""
    keys = draw(st.lists(st.sampled_from(sorted(field_values)), max_size=6, unique=True))
    parts = [f"{key}:{draw(field_values[key])}" for key in keys]
    for _ in range(draw(st.integers(0, 2))):
        parts.insert(
            draw(st.integers(0, len(parts))),
            draw(st.one_of(comments, trouble) if odd else comments),
        )
    return parts, draw(bodies)


@st.composite
def edited(draw: st.DrawFn, note: tuple[list[str], str], odd: bool) -> tuple[list[str], str]:
    """A note after a few edits."""
    parts, body = list(note[0]), note[1]
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(parts)))
        other = draw(written(odd=odd))
        have = {part.partition(":")[0] for part in parts}
        fits = (part.partition(":")[0] not in have or part[0] in "#\n<=>" for part in other[0])
        new = next(itertools.compress(other[0], fits), None)
        match draw(st.sampled_from(["change", "remove", "add", "body", "line"])):
            case "change" if (
                place < len(parts) and (key := parts[place].partition(":")[0]) in field_values
            ):
                parts[place] = f"{key}:{draw(field_values[key])}"
            case "remove" if place < len(parts):
                del parts[place]
            case "add" if new:
                parts.insert(place, new)
            case "body":
                body = other[1]
            case _:
                lines = body.splitlines(keepends=True)
                lines.insert(draw(st.integers(0, len(lines))), draw(body_lines))
                body = "".join(line if line.endswith("\n") else line + "\n" for line in lines)
    return parts, body


def file_of(note: tuple[list[str], str], eol: str = "\n", bom: bytes = b"") -> bytes:
    text = "".join(["---\n", *note[0], "---\n", note[1]]) if note[0] else note[1]
    return bom + text.replace("\n", eol).encode()


@st.composite
def trios(draw: st.DrawFn, odd: bool = True) -> tuple[bytes, bytes, bytes]:
    base = draw(written(odd=False))
    ends, boms = ("\n",) * 3, (b"",) * 3
    if odd:
        mixed = [("\n", "\r\n", "\n"), ("\r\n", "\n", "\r\n")]
        ends = draw(st.sampled_from([ends, ends, ("\r\n",) * 3, *mixed]))
        boms = draw(st.sampled_from([boms, boms, (b"", notes.BOM, b""), (notes.BOM,) * 3]))
    files = [
        file_of(note, *how)
        for note, *how in zip(
            (base, draw(edited(base, odd=odd)), draw(edited(base, odd=odd))),
            ends,
            boms,
            strict=True,
        )
    ]
    return (b"" if draw(st.integers(0, 7)) == 0 else files[0], files[1], files[2])


@given(
    st.one_of(
        trios(), st.tuples(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
    )
)
def test_equal_sides_give_that_side_and_a_side_equal_to_base_the_other(
    trio: tuple[bytes, bytes, bytes],
) -> None:
    base, ours, theirs = trio
    for one in trio:
        assert merge(base, one, one).data == one
        assert merge(one, one, theirs).data == theirs
        assert merge(one, ours, one).data == ours


@given(trios())
def test_swapping_sides_changes_nothing(trio: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = trio
    merged = merge(base, ours, theirs)
    event(f"clean: {merged.is_clean}")
    assert merge(base, theirs, ours) == merged


names = st.sampled_from(["", "n-1", "n-2", "elsewhere"])


@given(trios(), names)
def test_versions_with_two_ids_are_never_mixed(trio: tuple[bytes, bytes, bytes], name: str) -> None:
    base, ours, theirs = trio
    merged, swapped = merge(base, ours, theirs, name), merge(base, theirs, ours, name)
    ids = [notes.read(side).get("id") for side in (ours, theirs)]
    assume(len(set(trio)) == 3)
    if all(ids) and ids[0] != ids[1]:
        assert merged.are_two_notes
        event("two notes")
    if merged.are_two_notes:
        assert ids[0] != ids[1]
        assert (merged.data, swapped.data, merged.is_clean) == (ours, theirs, False)


ODD = [
    "tags:\n  [\n    alpha,\n    beta\n  ]\n", 'title: "two\n  lines"\n', "title: &here x\n", "title: one\n  two\n", "text: |2\n    x\n", "key:\n  :@\n  }\n",
]  # fmt: skip


@pytest.mark.parametrize("field", ODD)
def test_what_the_driver_cannot_read_stops_it_and_is_taken_where_yaml_reads_it(field: str) -> None:
    base = b"---\nid: n-1\ntitle: before\n---\ntext\n"
    ours = b"---\nid: n-1\ntitle: before\nextra: mine\n---\ntext\n"
    title = "" if field.startswith("title") else "title: before\n"
    theirs = f"---\nid: n-1\n{title}{field}---\ntext\n".encode()
    for one, other in ((ours, theirs), (theirs, ours)):
        stopped = merge(base, one, other)
        assert not stopped.is_clean
        (left_out,) = notes.read(stopped.data).fields["merge_conflicts"]
        key = field.partition(":")[0]
        assert left_out == f"{key}: {field.strip().removeprefix(key + ': ')}"
        assert problems(stopped.data) == []
        merged = merge_record(base, one, other, is_yaml=is_readable)
        assert merged.is_clean
        assert notes.read(merged.data).fields == {**notes.read(theirs).fields, "extra": "mine"}


@given(trios(), st.sampled_from([is_readable, lambda _: False]))
def test_frontmatter_is_yaml_where_one_sides_was_and_holds_no_marker(
    trio: tuple[bytes, bytes, bytes], is_yaml: Callable[[str], bool]
) -> None:
    base, ours, theirs = trio
    assume(len(set(trio)) == 3)  # else a side is given back as it is, broken or not
    merged = merge_record(base, ours, theirs, is_yaml=is_yaml)
    assume(not merged.are_two_notes)
    with_frontmatter = [side for side in (ours, theirs) if notes.read(side).opening_fence]
    assume(any(not problems(side) for side in with_frontmatter))
    assert problems(merged.data) == []
    note = notes.read(merged.data)
    assert not MARKER.search(note.frontmatter)
    assert names_lost_values_alone(note) if merged.is_clean else "merge_conflicts" in note.fields
    assert merged.is_clean or merged.decisions


@given(trios(odd=False))
def test_what_a_side_added_is_there_or_named(trio: tuple[bytes, bytes, bytes]) -> None:
    """Every item, value and line that one side brought and base did not have stands in the result, or the decisions say
    that it lost."""
    base, ours, theirs = trio
    merged = merge(base, ours, theirs)
    assume(not merged.are_two_notes)
    was, result = notes.read(base), notes.read(merged.data)
    told = "\n".join(merged.decisions)
    for side in map(notes.read, (ours, theirs)):
        other = notes.read(theirs if notes.write(side) == ours else ours)
        for line in side.body.splitlines():
            if (
                line.strip()
                and 'text: kept "' not in told
                and side.body.splitlines().count(line) > was.body.splitlines().count(line)
            ):
                assert line in result.body.splitlines()
        for key, value in side.fields.items():
            if value == was.fields.get(key) or key in ("updated", "created", "merge_conflicts"):
                continue
            held = result.fields.get(key)
            if (
                isinstance(value, list)
                and isinstance(held, list)
                and isinstance(other.fields.get(key), list | None)
                and isinstance(was.fields.get(key), list | None)
            ):
                before = was.fields.get(key) or []
                assert all(item in held for item in value if item not in before)
            elif not isinstance(value, dict):
                assert held == value or f"{key}: " in told


@given(trios(odd=False))
def test_what_both_sides_left_alone_is_left_alone(trio: tuple[bytes, bytes, bytes]) -> None:
    base, ours, theirs = trio
    merged = merge(base, ours, theirs)
    assume(not merged.are_two_notes)
    result = merged.data
    sides = [notes.read(one) for one in (base, ours, theirs)]
    for key in sides[0].fields:
        spans = {one.frontmatter[slice(*notes.key_span(one.frontmatter, key))] for one in sides}
        if len(spans) == 1:
            assert spans.pop().strip() in result


# -- what Cortex itself would have written


def turn(number: int, type_: str) -> Event:
    at = f"2026-11-20T16:45:1{number}Z"
    words = "türn " * (1 + number * 7 % 5)  # the longest summary stands
    text = f"### Accomplished\n\n{words}{number}" if type_ == "session_end" else f"turn {number}"
    return Event(f"20261120t16451{number}z-aaaaaaaaaa", type_, at, text, session="s-1")


@given(st.lists(st.integers(0, 9), min_size=3, max_size=8, unique=True), st.data())
def test_a_session_whose_turns_came_in_on_two_clones_is_the_note_that_one_clone_writes(
    numbers: list[int], data: st.DataObject
) -> None:
    turns = [turn(number, "stop" if number % 3 else "pre_compact") for number in numbers]
    first, rest = turns[:1], turns[1:]
    ours = data.draw(st.lists(st.sampled_from(rest), unique=True))
    theirs = [turn for turn in rest if turn not in ours]
    base = folded(b"", first)
    merged = merge(base, folded(base, ours), folded(base, theirs))
    assert merged.data == folded(base, [*ours, *theirs])
    assert merged.is_clean


@given(st.lists(st.integers(0, 9), min_size=2, max_size=6, unique=True), st.integers(1, 5))
def test_a_session_that_began_on_two_clones_is_the_note_that_one_clone_writes(
    numbers: list[int], cut: int
) -> None:
    turns = [turn(number, "stop" if number % 3 else "pre_compact") for number in numbers]
    ours, theirs = turns[: min(cut, len(turns) - 1)], turns[min(cut, len(turns) - 1) :]
    assert merge(b"", folded(b"", sorted(ours)), folded(b"", sorted(theirs))).data == folded(
        b"", sorted(turns)
    )


@given(st.permutations(range(6)), st.integers(0, 3), st.integers(0, 4), st.booleans())
def test_a_session_that_ended_on_two_clones_is_the_note_that_one_clone_writes(
    order: list[int], known: int, cut: int, starts: bool
) -> None:
    kinds = ["session_end", "stop", "session_end", "prompt", "session_end", "session_end"]
    turns = [turn(number + 1, kinds[number]) for number in order]
    base = folded(b"", [*([turn(0, "session_start")] if starts else []), *turns[:known]])
    ours, theirs = turns[known : known + cut], turns[known + cut :]
    if not starts and not known:
        ours, theirs = ours or theirs[:1], theirs or ours[:1]
    merged = merge(base, folded(base, ours), folded(base, theirs))
    assert merged.is_clean
    expected = notes.read(folded(base, [*ours, *(turn for turn in theirs if turn not in ours)]))
    assert notes.read(merged.data).text == expected.text


def folded(data: bytes, turns: list[Event]) -> bytes:
    """A session's note after some of its turns were normalized."""
    for turn in turns:
        if not data:
            (change,) = changes_for_event(turn, ExistingRecords())
            assert isinstance(change, CreateNote)
            data = change.text.encode()
        else:
            data = amend_note(data, AppendToSession("sessions/2026/11/s.md", turn))
    return data


# -- a topic that several clones saved

SAVED = [
    f"2026112{day}t164512z-{letter * 10}" for day, letter in zip(range(9), "rqponmlkj", strict=True)
]
words_of_a_save = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["decision", "pattern"]),
        "title": st.sampled_from(["Use SQLite", "Use Postgres", "One file"]),
        "tags": st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=3, unique=True),
        "body": bodies.filter(str.strip),
        "status": st.sampled_from(["active", "archived"]),
        "confidence": st.sampled_from(["0.5", "0.9"]),
        "later": st.booleans(),  # edited by hand after it was saved, far beyond the time of its event
    }
)


def saved(ids: list[str], words: dict, lacks: str = "") -> bytes:
    """A record with a topic as it stands after these events; the text is of the greatest."""
    updated = "2026-12-01T00:00:00Z" if words["later"] else events.time_of_id(max(ids))
    fields = {
        "id": "storage-k3f9q2", "type": words["type"], "title": words["title"], "status": words["status"], "topic": "decision/storage",
        "tags": words["tags"], "created": events.time_of_id(min(ids)), "updated": updated, "confidence": words["confidence"],
        "provenance": {"events": sorted(ids)},
    }  # fmt: skip
    return f"{yaml_writer.frontmatter({key: value for key, value in fields.items() if key != lacks})}\n{words['body']}".encode()


@given(
    st.lists(words_of_a_save, min_size=4, max_size=4),
    st.permutations(SAVED),
    st.booleans(),
    st.sampled_from(["", "tags"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_the_latest_text_of_a_topic_stands_in_whatever_order_clones_merge(
    texts: list[dict], ids: list[str], alone: bool, lacks: str, eol: str
) -> None:
    """Every clone has saved the topic twice since they parted; with `alone` they began it without knowing of each other."""
    known = [] if alone else ids[:2]
    base = b"" if alone else saved(known, texts[0]).replace(b"\n", eol.encode())
    own = [ids[2:4], ids[4:6], ids[6:8]]
    said = [
        words if max(new) > max(known, default="") else texts[0]
        for new, words in zip(own, texts[1:], strict=True)
    ]  # a late event's text never stood
    sides = [
        saved([*known, *new], words, lacks).replace(b"\n", eol.encode())
        for new, words in zip(own, said, strict=True)
    ]
    results = set()
    for one, two, three in itertools.permutations(sides):
        first = merge(base, one, two)
        assert merge(base, two, one) == first
        merged = merge(base, first.data, three)
        assert first.is_clean
        assert merged.is_clean
        results.add(merged.data)
    assert len(results) == 1
    note = notes.read(results.pop())
    assert problems(notes.write(note)) == []
    assert note.provenance()[0] == tuple(sorted({*known, *itertools.chain(*own)}))
    greatest = max(range(3), key=lambda side: max(known + own[side]))
    assert (note.body, note.get("title"), note.get("type")) == (
        notes.read(sides[greatest]).body,
        said[greatest]["title"],
        said[greatest]["type"],
    )


observations = st.fixed_dictionaries(
    {
        "record": st.sampled_from(["decision", "pattern"]),
        "title": st.sampled_from(["Use SQLite", "Use Postgres", "One file"]),
        "text": st.sampled_from(["one", "two\n\nlines", "- [ ] three", "<<<<<<< no conflict"]),
        "tags": st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=3, unique=True).map(tuple),
        "branch": st.sampled_from(["", "main", "side"]),
        "session": st.sampled_from(["", "s-1", "s-2"]),
        "confidence": st.sampled_from(["", "0.5", "0.9"]),
        "priority": st.sampled_from(["", "3"]),
        "derived_from": st.lists(
            st.sampled_from(["x-aaaaaa", "y-bbbbbb"]), max_size=2, unique=True
        ).map(tuple),
    }
)


@given(st.lists(observations, min_size=9, max_size=9), st.permutations(range(9)), st.integers(0, 2))
def test_a_topic_saved_on_three_clones_is_the_note_that_one_clone_writes(
    said: list[dict], order: list[int], known: int
) -> None:
    """`known` events were there before the clones parted; two came in on each since, some of them late."""
    sent = [
        Event(
            id_,
            "observation",
            events.time_of_id(id_),
            project="shop",
            topic="decision/storage",
            scope="project",
            **words,
        )
        for id_, words in zip(SAVED, said, strict=True)
    ]
    before = [sent[place] for place in order[:known]]
    own = [[sent[place] for place in order[start : start + 2]] for start in (3, 5, 7)]
    base = taken_in(b"", before, sent)
    sides = [taken_in(base, new, sent) for new in own]
    expected = taken_in(base, [*own[0], *own[1], *own[2]], sent)
    merged = set()
    for one, two, three in itertools.permutations(sides):
        first = merge(base, one, two)
        assert first.is_clean
        merged.add(merge(base, first.data, three).data)
    (data,) = merged
    # But for the name of a text that lost, which no clone alone has.
    assert notes.write(without_lost(notes.read(data))) == expected


def taken_in(data: bytes, new: list[Event], sent: list[Event]) -> bytes:
    """A topic's note after these events have come in, one after the other."""
    said = {one.id: records_from_event(one) for one in sent}
    for one in new:
        (record,) = records_from_event(one)
        if data:
            done = upsert_record(data, UpsertTopic("n.md", one, record), said.__getitem__)
            assert done.preserved_event is None
            data = done.data
        else:
            data = compose_record(record).encode()
    return data


def test_what_lost_is_named_by_its_event() -> None:
    words = {"type": "decision", "tags": [], "body": "text", "status": "active"}
    words |= {"confidence": "0.5", "later": False}
    one, two = (
        saved(SAVED[:1], {**words, "title": "One"}),
        saved(SAVED[1:2], {**words, "title": "Two", "body": "other text"}),
    )
    told = merge(b"", one, two).decisions
    assert told[0] == (
        'text: kept "Two" of 2026-11-21 16:45, not "One" of 2026-11-20 16:45: '
        "both sides saved 'decision/storage'; cortex history storage-k3f9q2 shows both"
    )
    assert 'title: kept "Two" (it came with the later text), not "One"' in told[1]


def named(ids: list[str], body: str, eol: str = "\n") -> bytes:
    head = ("storage-k3f9q2", "decision", body.title(), body, "2026-11-20T16:00:00Z")
    record = Record(*head, tuple(sorted(ids)), topic="decision/storage", project="shop")
    return compose_record(record).replace("\n", eol).encode()


def many(letter: str, count: int) -> list[str]:
    return [
        f"20261120t164512z-{letter}{f'{n:09d}'.translate(str.maketrans('0189', 'abcd'))}"
        for n in range(count)
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("count", [990, 3_000])
def test_a_topic_that_names_thousands_of_events_merges_as_any_other(count: int, eol: str) -> None:
    base = named(many("e", count), "base", eol)
    ours, theirs = (named(many("e", count) + many(letter, 30), letter * 3, eol) for letter in "fg")
    merged = merge(base, ours, theirs)
    note = notes.read_strict(merged.data, "n.md")
    assert (merged.is_clean, note.text_below_title.strip(), note.title) == (True, "ggg", "Ggg")
    assert len(note.provenance()[0]) == count + 60
    assert merge(base, theirs, ours) == merged


def test_more_events_than_a_note_may_name_are_never_joined_into_one_that_nobody_reads() -> None:
    base = named(many("e", 19_000), "base")
    ours, theirs = (named(many("e", 19_000) + many(letter, 2_500), letter) for letter in "fg")
    assert notes.read(merge(base, ours, theirs).data).provenance()[0]


def test_a_name_that_is_no_event_does_not_make_a_side_the_latest() -> None:
    base = named(["20261120t164512z-aaaaaaaaaa"], "base")
    early = named(
        ["20261120t164512z-aaaaaaaaaa", "20261120t164600z-aaaaaaaaaa", "minutes-of-monday"], "early"
    )
    late = named(["20261120t164512z-aaaaaaaaaa", "20261120t164700z-aaaaaaaaaa"], "late")
    for sides in ((early, late), (late, early)):
        assert notes.read_strict(merge(base, *sides).data, "n.md").title == "Late"


# -- bounds


def test_a_merge_never_makes_frontmatter_larger_than_readers_take() -> None:
    base = b"---\nid: a\ntags: [x]\n---\n"
    ours, theirs = (
        base.replace(
            b"[x]", b"[" + b", ".join(b"%c%05d" % (letter, number) for number in range(6000)) + b"]"
        )
        for letter in b"pq"
    )
    merged = merge(base, ours, theirs)
    assert problems(merged.data) == []
    assert not merged.is_clean
    assert merged == merge(base, theirs, ours)


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfea\0\n\0"])
def test_what_has_no_lines_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInputError):
        merge(b"a\n", data, b"b\n")


def test_marker_like_lines_of_any_length_do_not_confuse() -> None:
    marks = itertools.product("<|=>", (7, 31, 40, 80), ("", " a"))
    strange = "".join(f"{mark * size}{tail}\n" for mark, size, tail in marks).encode()
    base, ours, theirs = (strange + line + strange for line in (b"x\n", b"y\n", b"z\n"))
    merged = merge(base, ours, theirs)
    assert merged.data.count(strange) == 2
    assert not merged.is_clean
    assert (
        b"<" * 8 + b" updated at an unknown time, one version\nz\n" + b"=" * 8 + b"\ny\n"
    ) in merged.data


def test_two_texts_that_differ_everywhere_are_merged_in_time() -> None:
    ours, theirs = (
        b"".join(b"%s %d\n" % (word, number % 700) for number in range(9000))
        for word in (b"ours", b"theirs")
    )
    merged = merge(b"", ours, theirs)
    assert sorted(filter(None, merged.data.splitlines())) == sorted((ours + theirs).splitlines())


# Each took minutes to hours at the size that the driver takes (4 MB), in a `git merge` that said nothing.
LARGE = {
    "long changes that touch": (
        b"top\nA\nB\nend\n",
        b"top\n" + b"".join(b"o%d\n" % number for number in range(150_000)) + b"B\nend\n",
        b"top\nA\n" + b"".join(b"t%d\n" % number for number in range(150_000)) + b"end\n",
    ),
    "a thousand places that differ everywhere": tuple(
        b"".join(b"keep %d\n" % place + b"".join(b"%s%d.%d\n" % (side, place, line) for line in range(100)) for place in range(1000))
        for side in (b"b", b"o", b"t")
    ),
    "markers everywhere": tuple(
        first + b"\n" + b"".join(b"<<<<<<< %d\n>>>>>>> %d\n" % (number, number) for number in range(60_000)) + last + b"\n"
        for first, last in ((b"a", b"z"), (b"b", b"z"), (b"a", b"y"))
    ),
    "a line of marker characters": tuple(
        b"=" * 100_000 + b"\n" + b"".join(b"keep %d\n\n%s%d\n\n" % (place, side, place) for place in range(2000)) for side in (b"b", b"o", b"t")
    ),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", LARGE)
def test_a_large_body_is_merged_in_time(name: str) -> None:
    base, ours, theirs = LARGE[name]
    merged = merge(base, ours, theirs)
    assert {*ours.split(), *theirs.split()} - {*base.split()} <= {*merged.data.split()}
    assert merge(base, theirs, ours) == merged


def test_long_lists_are_merged_in_time() -> None:
    base, ours, theirs = (
        b"---\nid: a\ntags: [" + b",".join(names) + b"]\n---\n"
        for names in ([], NAMES, [*NAMES[::-1], b"more"])
    )
    assert merge(base, ours, theirs) == merge(base, theirs, ours)


NAMES = [b"%x" % number for number in range(12_000) if b"e" not in b"%x" % number]


@given(trios())
def test_labels_of_ones_own_stand_at_the_side_that_they_name(
    trio: tuple[bytes, bytes, bytes],
) -> None:
    """Swapped with their sides they change nothing, and without them no merge knows of any."""
    base, ours, theirs = trio
    one = merge_record(base, ours, theirs, labels=(b"yours", b"Ana's"))
    assert one == merge_record(base, theirs, ours, labels=(b"Ana's", b"yours"))
    assert one.data.count(b"<<<<<<< ") == merge(base, ours, theirs).data.count(b"<<<<<<< ")


def test_texts_that_differ_in_many_lines_are_merged_by_lines_that_stand_once() -> None:
    lines = [b"line %d" % number for number in range(3000)]
    ours = [line + b"!" if n % 2 and n < 2000 else line for n, line in enumerate(lines)]
    theirs = [b"above", *lines[:2500], b"changed", *lines[2501:], b"below"]
    base, one, two = (b"\n".join(text) + b"\n" for text in (lines, ours, theirs))
    merged = merge(base, one, two)
    assert merged.is_clean
    assert merged.data == two.replace(b"\n".join(lines[:2000]), b"\n".join(ours[:2000]))
    assert merge(base, two, one) == merged
