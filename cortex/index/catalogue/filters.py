"""`NoteFilter`: which notes somebody asks of the catalogue, and in which order."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Literal

from cortex.core.model.note_status import TIER_CURRENT, TIER_SET_ASIDE, TIER_TRAIL
from cortex.core.text.days import UTC, Zone
from cortex.core.text.value import NamedTuple

if TYPE_CHECKING:
    from cortex.core.ranking.query import Query

# Types of record that lines of people's own notes are too; what people call the type of a meeting.
LINE_TYPES, MEETING_TYPES = ("decision", "question"), ("meeting", "meetings", "minutes")
Order = Literal["", "path", "id", "-id", "date", "-date", "tier", "due", "-created", "-pinned"]


class NoteFilter(NamedTuple):
    """Conditions on a note that must all hold. None, "" and False ask for nothing; an empty
    collection matches no note."""

    tiers: Collection[int] | None = None
    numbers: Collection[int] | None = None
    ids: Collection[str] | None = None
    types: Collection[str] | None = None
    not_types: Collection[str] = ()
    statuses: Collection[str] | None = None
    projects: Collection[str] | None = None  # ("",) are the notes without a project
    sessions: Collection[str] | None = None
    topics: Collection[str] | None = None
    digests: Collection[str] | None = None  # `text_digest` of their texts
    has_id: bool = False  # an id of its own: a record, session or event, no page of a person's
    is_told: bool = False  # the same, or a page that is a meeting or says a decision
    has_topic: bool = False
    is_cross_project: bool = False  # scope personal or global, or neither scope nor project
    is_rated: bool = False  # somebody has said a confidence or a priority
    has_problem: bool = False  # it has a problem of its own
    has_lost_text: bool = False  # a merge kept one of two texts, unseen by anybody
    enduring_types: Collection[str] = ()  # pinned, or of one of these types
    state: Literal["", "open", "to_do", "done"] = ""
    id_prefix: str = ""
    id_end: str = ""  # the last words of an id
    link_name: str = ""  # a name by which links find it, as `link_key` folds it
    event: str = ""  # an event id in its provenance
    title_words: Collection[str] = ()  # the title holds one of them; lower case
    changed_since: int | None = None  # seconds since the epoch, included
    changed_before: int | None = None  # excluded
    created_until: int | None = None  # included
    query: Query | None = None  # the filters and dates of a search
    zone: Zone = UTC  # by whose clocks these moments were chosen


# What people and agents know: records, sessions, pages; no event and no briefing.
KNOWLEDGE_TIERS = (TIER_CURRENT, TIER_SET_ASIDE)
KNOWLEDGE = NoteFilter(tiers=KNOWLEDGE_TIERS)
CURRENT, SET_ASIDE = (NoteFilter(tiers=(tier,)) for tier in KNOWLEDGE_TIERS)
TRAIL = NoteFilter(tiers=(TIER_TRAIL,))  # events, runs and briefings
EVENTS = TRAIL._replace(not_types=("briefing",))
