"""Judge sessions that have ended, by rules: what one bears out becomes an event, which makes records.

The event's id and text depend on the session's events alone, so that clones that judge apart have the
same file. Which sessions wait stands in this user's state folder: others judge their own.
"""

from __future__ import annotations

from cortex.core.distill.judge import READ_TYPES, judge_session
from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.distillation import BY_RULES, compose_distillation, standing_distillations
from cortex.core.model.event import DISTILLED, Event
from cortex.core.text.strings import hash_bytes
from cortex.hosts import HOST_NAMES
from cortex.operations.capture.capture import publish_event
from cortex.operations.upkeep.inbox import InboxNormalizer
from cortex.vault import user_settings
from cortex.vault.locate import Vault
from cortex.vault.state import session_state, unwritten
from cortex.vault.state.unjudged import END, WAITING, list_due

_MAX_EVENTS = 1000  # of a session, the last ones
_MIN_UNWRITTEN_CHARS = 1200  # of the turns of a session that an agent is asked to write up


def judge_ended(vault: Vault, caller: Caller, normalizer: InboxNormalizer) -> None:
    """Note which sessions the normalizer's pass had turns of, and judge those that have ended. The
    caller holds the record lock."""
    before = WAITING.read(vault)
    waiting = dict(before)
    for event in normalizer.turns:
        if events.is_headless(event.session):
            continue  # a program asked
        if event.id >= waiting.get(event.session, "").rstrip(END):
            waiting[event.session] = event.id + END * (event.type == "session_end")
    due = list_due(waiting, caller)
    if waiting != before:  # first of all: a run that is killed is taken up again
        WAITING.write(vault, waiting)
    by_agent = bool(due) and user_settings.load_distill()[0].by == user_settings.AGENT
    published = []
    for name in caller.each(due, "judging sessions"):
        ordered = normalizer.events_of_session(name)[-_MAX_EVENTS:]
        turns = [event for event in ordered if event.type in READ_TYPES]
        if by_agent and is_of_this_machine(vault, name) and _is_unwritten(ordered, turns):
            unwritten.add(vault, name, turns[-1].project, turns[-1].at)
        if judgement := _judge(ordered, turns, name):
            publish_event(vault, caller, judgement, is_retry=True)
            published.append(f"{judgement.id}.md")
    if published:
        normalizer.run(published, caller)
    if due:
        WAITING.write(vault, {name: last for name, last in waiting.items() if name not in due})


def is_of_this_machine(vault: Vault, session: str) -> bool:
    """Whether hooks or an import captured a session here: others' are for their own models."""
    keys = (session_state.session_key(host, session) for host in HOST_NAMES)
    return any(session_state.load_cursor(vault, key).session for key in keys)


def _is_unwritten(ordered: list[Event], turns: list[Event]) -> bool:
    """Whether enough was said that no model was told of."""
    answers = (one for _, one in standing_distillations(ordered) if one.model != BY_RULES)
    told = max((id_ for one in answers for id_ in one.covers), default="")
    said = sum(len(event.text) for event in turns if event.id > told)
    return said >= _MIN_UNWRITTEN_CHARS


def _judge(ordered: list[Event], turns: list[Event], name: str) -> Event | None:
    """The event of a session's judgement; None where it bears out nothing, or no more than before."""
    if not turns:
        return None
    standing = [one for _, one in standing_distillations(ordered) if one.model == BY_RULES]
    before = standing[-1].records if standing else ()
    found = judge_session(turns, before)
    if found.records == before:
        return None
    one = found._replace(covers=tuple(event.id for event in turns), model=BY_RULES)
    text, last = compose_distillation(one), turns[-1]
    id_ = events.make_id(events.next_second(last.id), hash_bytes(f"{name}\0{text}", 7))
    return Event(
        id_, DISTILLED, events.time_of_id(id_), text,
        session=name, project=last.project, branch=last.branch, source="rules",
    )  # fmt: skip
