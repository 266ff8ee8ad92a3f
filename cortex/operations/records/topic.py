"""Topics: those there are, and one for what has none yet."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model import topic as topics
from cortex.core.model.caller import Caller
from cortex.core.model.problem import Problem
from cortex.core.ranking.text_similarity import SUGGESTED, similarity
from cortex.core.redact.secrets import clean
from cortex.index.refresh import Views, look
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.find.hits import hit
from cortex.operations.find.project_context import project_named
from cortex.vault.locate import Vault

_LIKE = 10  # topics that look like the one that is suggested


class Topic(NamedTuple):
    """The record that says what holds of a topic, as search shows a note, and the topic."""

    id: str
    path: str
    line: int
    title: str
    type: str
    status: str
    score: float
    snippet: str
    date: int
    project: str
    vault: str
    topic: str
    texts: int  # how often it was saved
    scope: str


class Topics(NamedTuple):
    """The suggestion, if a title was given, and topics: like it, or all."""

    suggested: str
    records: tuple[Topic, ...]
    problems: tuple[Problem, ...]


def topic(
    vault: Vault, caller: Caller, title: str = "", *, type: str = "", project: str = ""
) -> Topics:
    """List the topics, or suggest one for a title.

    A topic is the stable key of what a record is about: what is saved with it again updates that record. It begins with a
    family: architecture, bug, decision, pattern, config, discovery or learning.

    title: what is to be saved; without it all topics are listed
    type: the type of record that it is to be
    project: only topics of this project; by default of all

    Example: cortex topic
    Example: cortex topic "Login loops after the token expires" --type bugfix
    """
    problems, named = freshen(vault, caller), project_named(vault, project)
    suggested = topics.suggest(type, clean(title), "") if title.strip() else ""
    held = look(vault, caller.progress, lambda now: _topics(vault, now, named))
    if suggested:
        likeness = {
            one: max(similarity(_words(suggested), _words(one.topic)), similarity(title, one.title))
            for one in held
        }
        like = [one for one in held if one.topic == suggested or likeness[one] >= SUGGESTED]
        held = sorted(like, key=lambda one: (one.topic != suggested, -likeness[one], one.topic))[
            :_LIKE
        ]
    return Topics(suggested, tuple(held), tuple(problems))


def _topics(vault: Vault, now: Views, project: str) -> list[Topic]:
    where = "topic != '' AND tier < 2" + (" AND project = ?" if project else "")
    values = [project] if project else []
    texts = dict(now.catalogue.asked(f"SELECT number, events FROM note WHERE {where}", values))
    rows = now.catalogue.standings(f"{where} ORDER BY topic, project, scope, id", values)
    return [
        Topic(
            *hit(vault, one),
            one.topic,
            texts[one.number].count("\n") + bool(texts[one.number]),
            one.scope,
        )
        for one in rows
    ]


def _words(key: str) -> str:
    return key.replace("/", " ").replace("-", " ")
