"""What notes are about: the entities that they name, which notes name one and what is named most; and
their topics, one of which is suggested for a title."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from cortex.core.markdown.snippet import Wanted
from cortex.core.model import topics
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import HIDDEN_STATUSES
from cortex.core.model.parameters import Between, NoteName
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.ranking.text_similarity import SIMILAR_THRESHOLD, similarity
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import did_you_mean
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue
from cortex.index.catalogue.filters import KNOWLEDGE
from cortex.index.refresh import IndexSession
from cortex.operations.capture.project_context import only_project
from cortex.operations.find import resolve_note
from cortex.operations.find.hits import Hit, build_hit
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault

# As `core/extract/named_entities.py` has them, whose patterns a question does not need.
EntityKind = Literal[
    "file", "url", "package", "symbol", "person", "env_var", "cli_flag", "version", "error", "tag"
]
MAX_RESULTS = 10_000
_MAX_COMPARED_NAMES = 400  # names that begin alike and are compared
_MAX_SUGGESTIONS = 10  # topics that look like the one that is suggested


class MentionedEntity(NamedTuple):
    """A named thing."""

    kind: str
    name: str
    notes: int  # how many current notes mention it
    line: int = 0  # where the note that was asked about mentions it first


class EntityMentions(NamedTuple):
    """Named things, or the notes that name one."""

    hits: tuple[Hit, ...]
    entities: tuple[MentionedEntity, ...]
    total: int  # notes where a name was asked for, else things
    name: str = ""
    hint: str = ""
    problems: tuple[Problem, ...] = ()


class TopicHit(NamedTuple):
    """The record that says what holds of a topic, and the topic."""

    hit: Hit
    topic: str
    texts: int  # how often it was saved
    scope: str


class TopicListing(NamedTuple):
    """The suggestion, if a title was given, and topics: like it, or all."""

    suggested: str
    hits: tuple[TopicHit, ...]
    total: int
    problems: tuple[Problem, ...]


def entities(
    vault: Vault,
    caller: Caller,
    name: str = "",
    *,
    note: NoteName = "",
    kind: EntityKind | Literal[""] = "",
    number: Annotated[int, Between(1, MAX_RESULTS)] = 20,
) -> EntityMentions:
    """Show which notes mention a file, URL, package or symbol.

    Or a person, variable, version or error. A file is found by its name or the end of its path;
    case matters in symbols alone. Without a name: what is mentioned most. `cortex tags` counts the
    notes of each tag, of `garden/herbs` for `garden` too; with a name that tag and those below it.

    name: what is mentioned, as `src/app.py`, `app.py`, `useState()`, `@anna` or `ENOENT`
    note: show what this note mentions instead, with lines: an id or a path
    kind: only file, url, package, symbol, person, env_var, cli_flag, version, error, or tag
    number: how many are shown at most

    Example: cortex entities src/app.py
    Example: cortex entities --note decision-save-lookup
    Example: cortex entities --kind package --number 5
    """
    if name and note:
        hint = "cortex entities NAME, or cortex entities --note ID"
        raise InvalidInputError("either a name or --note, not both", hint)

    def answer(index: IndexSession) -> EntityMentions:
        if kind == "tag":
            things = _count_tags(index.catalogue, note, name.strip("#/ ").lower())
        elif name:
            return _find_mentions(vault, index.catalogue, name.strip(), kind, number)
        elif note:
            return _entities_of_note(index.catalogue, note, kind, number)
        else:
            things = [MentionedEntity(*one) for one in index.catalogue.most_mentioned(kind)]
        hint = "" if things or not name else "cortex tags lists them"
        return EntityMentions((), tuple(things[:number]), len(things), name, hint)

    found, problems = query_fresh(vault, caller, answer)
    return found._replace(problems=tuple(problems))


def _count_tags(catalogue: Catalogue, note: str, top: str) -> list[MentionedEntity]:
    """The tag `top` and those below it, or all, of one note or of all; the most used first."""
    numbers = [resolve_note.find_one(catalogue, note).number] if note else None
    counts: dict[str, int] = {}
    for text, notes in catalogue.count_by("tags", KNOWLEDGE._replace(numbers=numbers)).items():
        parts = [tag.split("/") for tag in text.split("\n") if tag]
        for tag in {"/".join(part[: at + 1]) for part in parts for at in range(len(part))}:
            if f"{tag}/".startswith(f"{top}/" if top else ""):
                counts[tag] = counts.get(tag, 0) + notes
    most = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [MentionedEntity("tag", tag, notes) for tag, notes in most]


def _find_mentions(
    vault: Vault, catalogue: Catalogue, name: str, kind: str, number: int
) -> EntityMentions:
    bare = name.removeprefix("@") if "/" not in name else name
    key = bare.casefold()
    folded = key.rstrip("/") if "://" in bare else key.removeprefix("./").removeprefix("$")
    mentions = catalogue.mentions_of(bare, folded, kind)
    every = catalogue.rows_by_number({at for at, *_ in mentions})
    rows = {at: row for at, row in every.items() if row.status not in HIDDEN_STATUSES}
    names: dict[tuple[str, str], list[str]] = {}
    for at, kind_, spelled, key in mentions:
        if at in rows:
            names.setdefault((kind_, key), []).append(spelled)
    listed = sorted(rows.values(), key=lambda row: (row.tier, -row.date, row.path))
    hint = ""
    if not listed:
        keys = catalogue.keys_from("entity", folded[:2], _MAX_COMPARED_NAMES)
        hint = did_you_mean(folded, keys, "cortex search finds any word of a note")
    # Matched as a whole where it stands so: `app.py` is not shown where a line has `myapp.py`.
    pattern = re.compile(rf"(?<!\w){re.escape(bare)}(?!\w)", re.IGNORECASE)
    return EntityMentions(
        hits=tuple(build_hit(vault, row, 0.0, Wanted(pattern, {})) for row in listed[:number]),
        entities=tuple(
            MentionedEntity(kind_, spelled[0], len(spelled))
            for (kind_, _), spelled in sorted(names.items())
        ),
        total=len(listed),
        name=name,
        hint=hint,
    )


def _entities_of_note(catalogue: Catalogue, note: str, kind: str, number: int) -> EntityMentions:
    row = resolve_note.find_one(catalogue, note)
    found = catalogue.entities_of((row.number,), kind).get(row.number, [])
    counts = catalogue.entity_counts([key for _, _, key, _ in found[:number]])
    things = tuple(
        MentionedEntity(of, name, counts.get((of, key), 0), line)
        for of, name, key, line in found[:number]
    )
    return EntityMentions((), things, len(found), row.id)


def topic(
    vault: Vault, caller: Caller, title: str = "", *, type: str = "", project: str = ""
) -> TopicListing:
    """List the topics, or suggest one for a title.

    A topic is the stable key of what a record is about: what is saved with it again updates that
    record. It begins with a family: architecture, bug, decision, pattern, config, discovery or
    learning.

    title: what is to be saved; without it all topics are listed
    type: the type of record that it is to be
    project: only topics of this project; by default of all

    Example: cortex topic
    Example: cortex topic "Login loops after the token expires" --type bugfix
    """
    suggested = topics.suggest(type, sanitize_text(title), "") if title.strip() else ""
    wanted = KNOWLEDGE._replace(has_topic=True, projects=only_project(vault, project))
    rows, problems = query_fresh(vault, caller, lambda index: index.catalogue.find(wanted))
    rows.sort(key=lambda row: (row.topic, row.project, row.scope, row.id))
    if suggested:
        words = _words_of_topic(suggested)
        alike = {}
        for row in rows:
            of_topic = similarity(words, _words_of_topic(row.topic))
            alike[row.number] = max(of_topic, similarity(title, row.title), row.topic == suggested)
        rows = [row for row in rows if alike[row.number] >= SIMILAR_THRESHOLD]
        rows.sort(key=lambda row: (row.topic != suggested, -alike[row.number], row.topic))
    shown = rows[:_MAX_SUGGESTIONS] if suggested else rows
    hits = (TopicHit(build_hit(vault, row), row.topic, len(row.events), row.scope) for row in shown)
    return TopicListing(suggested, tuple(hits), len(rows), tuple(problems))


def _words_of_topic(key: str) -> str:
    return key.replace("/", " ").replace("-", " ")
