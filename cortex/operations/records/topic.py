"""List topics, or suggest one for a title."""

from __future__ import annotations

from cortex.core.model import topics
from cortex.core.model.caller import Caller
from cortex.core.model.problem import Problem
from cortex.core.ranking.text_similarity import SIMILAR_THRESHOLD, similarity
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue.filters import KNOWLEDGE
from cortex.operations.capture.project_context import canonical_project
from cortex.operations.find.hits import Hit, build_hit
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault

_MAX_SUGGESTIONS = 10  # topics that look like the one that is suggested


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
    named = canonical_project(vault, project)
    suggested = topics.suggest(type, sanitize_text(title), "") if title.strip() else ""
    wanted = KNOWLEDGE._replace(has_topic=True, projects=(named,) if named else None)
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
