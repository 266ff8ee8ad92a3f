"""Topics: those there are, and one for what has none yet."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model import topics
from cortex.core.model.caller import Caller
from cortex.core.model.problem import Problem
from cortex.core.ranking.text_similarity import SIMILAR_THRESHOLD, similarity
from cortex.core.redact.secrets import sanitize_text
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.find.hits import build_hit
from cortex.operations.find.project_context import canonical_project
from cortex.vault.locate import Vault

_MAX_SUGGESTIONS = 10  # topics that look like the one that is suggested


class TopicHit(NamedTuple):
    """The record that says what holds of a topic, as search shows a note, and the topic."""

    id: str
    path: str
    line: int
    title: str
    type: str
    status: str
    score: float
    snippet: str
    date: str
    project: str
    vault: str
    file: str
    topic: str
    texts: int  # how often it was saved
    scope: str


class TopicListing(NamedTuple):
    """The suggestion, if a title was given, and topics: like it, or all."""

    suggested: str
    records: tuple[TopicHit, ...]
    problems: tuple[Problem, ...]


def topic(
    vault: Vault, caller: Caller, title: str = "", *, type: str = "", project: str = ""
) -> TopicListing:
    """List the topics, or suggest one for a title.

    A topic is the stable key of what a record is about: what is saved with it again updates that record. It begins with a
    family: architecture, bug, decision, pattern, config, discovery or learning.

    title: what is to be saved; without it all topics are listed
    type: the type of record that it is to be
    project: only topics of this project; by default of all

    Example: cortex topic
    Example: cortex topic "Login loops after the token expires" --type bugfix
    """
    problems, named = ensure_fresh(vault, caller), canonical_project(vault, project)
    suggested = topics.suggest(type, sanitize_text(title), "") if title.strip() else ""
    held = query_index(vault, caller.progress, lambda now: _load_topics(vault, now, named))
    if suggested:
        likeness = {
            one: max(
                similarity(_words_of_topic(suggested), _words_of_topic(one.topic)),
                similarity(title, one.title),
            )
            for one in held
        }
        like = [one for one in held if one.topic == suggested or likeness[one] >= SIMILAR_THRESHOLD]
        held = sorted(like, key=lambda one: (one.topic != suggested, -likeness[one], one.topic))[
            :_MAX_SUGGESTIONS
        ]
    return TopicListing(suggested, tuple(held), tuple(problems))


def _load_topics(vault: Vault, now: IndexSession, project: str) -> list[TopicHit]:
    where = "topic != '' AND tier < 2" + (" AND project = ?" if project else "")
    values = [project] if project else []
    texts = dict(now.catalogue.select(f"SELECT number, events FROM note WHERE {where}", values))
    rows = now.catalogue.metadata_rows(f"{where} ORDER BY topic, project, scope, id", values)
    return [
        TopicHit(
            *build_hit(vault, one),
            one.topic,
            texts[one.number].count("\n") + bool(texts[one.number]),
            one.scope,
        )
        for one in rows
    ]


def _words_of_topic(key: str) -> str:
    return key.replace("/", " ").replace("-", " ")
