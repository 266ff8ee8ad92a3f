"""What schedules depend on, read from the vault: agents, runs that were, facets, segments, meetings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import takewhile
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.runs.agent_note import Agent
from cortex.core.runs.run_event import decode_json
from cortex.core.runs.run_note import make_run_id
from cortex.core.runs.schedule import (
    FacetState,
    Meeting,
    PastRun,
    ScheduledAgent,
    Segment,
    SkipReason,
    parse_schedule,
    segments,
)
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.strings import format_time
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import CURRENT
from cortex.operations.find.show import read_note
from cortex.operations.runs.prepare import IS_CAPTURED, OUTPUT_FOLDER, get_agent, list_facets
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault import agent_settings, files, trust
from cortex.vault.locate import Vault
from cortex.vault.runs import run_files

DAY_SECONDS = 86_400
KEPT_DAYS = 36  # for which a run is looked at: a weekly one is caught up with for four weeks
_SEGMENT_DAYS, _MEETING_DAYS = 5, 8
_MAX_OUTPUT_BYTES = 200_000


class _LocalZone(tzinfo):
    """The zone of this machine, with the offset that it has at each moment."""

    def fromutc(self, dt: datetime) -> datetime:
        return datetime.fromtimestamp(dt.replace(tzinfo=UTC).timestamp()).replace(tzinfo=self)  # noqa: DTZ006

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        if dt is None:
            return None
        here = dt.replace(tzinfo=None)
        return here - datetime.fromtimestamp(here.timestamp(), UTC).replace(tzinfo=None)

    def dst(self, _dt: datetime | None) -> None:
        return None

    def tzname(self, _dt: datetime | None) -> str:
        return "local"


LOCAL = _LocalZone()


class ScheduleState(NamedTuple):
    """All that `core/runs/schedule.py:due` asks for, but the time."""

    agents: list[ScheduledAgent]
    past: list[PastRun]
    facets: list[FacetState]
    segments: list[Segment]
    meetings: list[Meeting]
    problems: list[Problem]


def read_state(vault: Vault, caller: Caller, tz: tzinfo) -> ScheduleState:
    """The schedules of a vault and what they depend on now."""
    now = epoch_seconds(caller.now)
    agents, problems = _list_scheduled(vault)
    if not agents:
        return ScheduleState([], [], [], [], [], problems)
    is_event = IS_CAPTURED._replace(changed_since=now - KEPT_DAYS * DAY_SECONDS)
    begin, end = now - 2 * DAY_SECONDS, now + _MEETING_DAYS * DAY_SECONDS
    is_meeting = CURRENT._replace(types=("meeting",), changed_since=begin, changed_before=end)
    (captured, met), found = query_fresh(
        vault, caller,
        lambda index: (index.catalogue.find(is_event), index.catalogue.find(is_meeting)),
    )  # fmt: skip
    recent = (row.date for row in captured if row.date > now - _SEGMENT_DAYS * DAY_SECONDS)
    cut = segments(recent, tz)
    return ScheduleState(
        agents, list(past_runs(vault, now)), _facet_states(vault, captured, cut, tz), cut,
        list(_meetings(vault, met, tz)), [*problems, *found],
    )  # fmt: skip


def _list_scheduled(vault: Vault) -> tuple[list[ScheduledAgent], list[Problem]]:
    found, problems = list[ScheduledAgent](), list[Problem]()
    settings = agent_settings.load_agents()[0]
    for name in trust.list_agents(vault):
        try:
            agent = get_agent(vault, name)
            if not agent.schedule:
                continue
            schedule = parse_schedule(agent.schedule)
        except (CortexError, OSError) as error:
            problems.append(problem_of(f"agents/{name}.md", error))
            continue
        found.append(ScheduledAgent(
            name, schedule, agent.priority, agent.facets, agent.always, agent.muted, agent.catch_up,
            _why_barred(vault, agent, settings),
        ))  # fmt: skip
    return found, problems


def _why_barred(
    vault: Vault, agent: Agent, settings: agent_settings.AgentSettings
) -> SkipReason | None:
    if agent.disabled or not trust.is_trusted(vault, agent.name):
        return "disabled" if agent.disabled else "not_trusted"
    with suppress(CortexError):
        agent_settings.resolve_model(settings, agent.name, agent.provider, agent.tier, "")
        return None
    return "no_provider"


def past_runs(vault: Vault, now: int) -> Iterator[PastRun]:
    """The runs of the last weeks, those that wait and run among them."""
    oldest = make_run_id(format_time(now - KEPT_DAYS * DAY_SECONDS), b"")
    ended = takewhile(lambda id_: id_ >= oldest, run_files.list_ended(vault))
    for id_ in (*(id_ for _, id_ in run_files.list_open(vault)), *ended):
        with suppress(CortexError, OSError):
            head = run_files.read_head(vault, id_)
            agent, facet, period, status = map(head.get, PastRun._fields[:4])
            yield PastRun(agent, facet, period, status, epoch_seconds(head.get("created")))


def _facet_states(
    vault: Vault, captured: Iterable[NoteRow], cut: Iterable[Segment], tz: tzinfo
) -> list[FacetState]:
    facets = list_facets(vault)
    if not facets:
        return []
    days, found_in = defaultdict(set), defaultdict(set)
    for row in captured:
        for name in {*row.tags, row.project}:
            days[name].add(f"{datetime.fromtimestamp(row.date, tz):%Y%m%d}")
    for segment in cut:
        for name in _facets_found(vault, segment):
            found_in[name].add(segment.key)
    return [
        FacetState(one.name, one.muted, frozenset(days[one.name]), frozenset(found_in[one.name]))
        for one in facets
    ]


def _facets_found(vault: Vault, segment: Segment) -> Iterator[str]:
    """The facets that a generator has found in a segment: each list of JSON among its outputs."""
    folder = vault.layout().path(f"{OUTPUT_FOLDER}/{segment.key}")
    for name in files.list_names(vault.root, folder):
        if name.endswith(".json"):
            with suppress(CortexError, OSError):
                value = decode_json(files.read(vault.root, f"{folder}/{name}", _MAX_OUTPUT_BYTES))
                for one in value if isinstance(value, list) else ():
                    if isinstance(one, dict) and isinstance(one.get("facet"), str):
                        yield one["facet"]


def _meetings(vault: Vault, rows: Iterable[NoteRow], tz: tzinfo) -> Iterator[Meeting]:
    """The meetings whose notes name a time of day; one without an offset is local."""
    for row in rows:
        note = read_note(vault, row.path)
        with suppress(ValueError):
            said = note.get("date").strip("[] ") if note else ""
            if len(said) > 10:
                at = datetime.fromisoformat(said)
                at = at if at.tzinfo else at.replace(tzinfo=tz)
                yield Meeting(f"{row.id} {said}", int(at.astimezone(UTC).timestamp()))
