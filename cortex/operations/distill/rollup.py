"""Make one record of many: those of a topic or of some time. They are kept as they are."""

from __future__ import annotations

import os
import tempfile
from functools import partial

from cortex.agents.process import GUARD_VARIABLE, IN_MODEL
from cortex.core.distill.answer import SessionQuotes, check_answer, read_answer, read_cost
from cortex.core.distill.prompt import TURN_TOKENS, build_rollup
from cortex.core.model import topics
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import InvalidInputError, NotFoundError, Problem
from cortex.core.notes.relations import parse_link_target
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.days import clock, day_begin
from cortex.core.text.strings import format_time, short_hash
from cortex.core.text.token_count import count_tokens
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue.filters import CURRENT
from cortex.index.refresh import IndexSession
from cortex.operations.capture.project_context import project_names, resolve_project
from cortex.operations.distill import distill_plan as plan
from cortex.operations.distill.distill_plan import DistilledSession, DistillResult
from cortex.operations.distill.model_command import run_model
from cortex.operations.find.show import read_note
from cortex.operations.records.save import save
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault import user_settings
from cortex.vault.locate import Vault
from cortex.vault.private import lock
from cortex.vault.state import distill_log, unwritten

_TYPE = "rollup"


class _Chosen(NamedTuple):
    """Some records of a project."""

    project: str
    events: list[Event]  # each as somebody's words, under its id, oldest first
    handle: str
    prompt: str
    done: DistilledSession  # its title is the topic; up to date if it is made of all, as they are


def roll_up(
    vault: Vault, caller: Caller, topic: str, since: int | None, *, project: str, said: str | None,
    by_hand: bool, again: bool, dry_run: bool,
) -> DistillResult:  # fmt: skip
    """Make or update the one record of some records, as `distill` says; `said` is an answer, without
    which the prompt comes back `by_hand`. The next agent is asked where the user wants that."""
    chosen, problems = _choose(vault, caller, topic, since, project)
    done = chosen.done._replace(outcome=plan.WOULD, parts=1) if again else chosen.done

    def result(one: DistilledSession, prompt: str = "", dollars: float = 0.0) -> DistillResult:
        return DistillResult((one,), dollars, dry_run, prompt, tuple(problems))

    if dry_run or done.outcome == plan.UP_TO_DATE:
        if by_hand and not dry_run:
            raise NotFoundError(f"all of {done.session} is rolled up", "--again makes it anew")
        return result(done)
    settings, wrong = user_settings.load_distill()
    by_agent = not by_hand and not settings.command and settings.by == user_settings.AGENT
    most = plan.HAND_TOKENS if by_hand or by_agent else TURN_TOKENS
    if done.tokens > most:
        message = f"{done.tokens:,} tokens are asked about, and {most:,} are the most"
        raise InvalidInputError(message, "choose a topic below it, or --since a later day")
    if by_hand and said is None:
        return result(done, chosen.prompt)
    if by_agent:
        unwritten.add(vault, done.session, chosen.project, caller.now)
        return result(done._replace(outcome=plan.WAITS))
    if said is not None:
        return result(_keep(vault, caller, chosen, read_answer(said)))
    check_model(settings, wrong)
    with lock(distill_log.lock_path(), "model", wait=10.0), tempfile.TemporaryDirectory() as cwd:
        waiting = partial(caller.progress, f"asking {settings.command[0]}", 0, 1)
        output = run_model(settings.command, chosen.prompt, cwd, settings.timeout, waiting)
    return result(_keep(vault, caller, chosen, read_answer(output)), dollars=read_cost(output))


def _choose(
    vault: Vault, caller: Caller, topic: str, since: int | None, project: str
) -> tuple[_Chosen, list[Problem]]:
    """The records, and what is wrong in the vault. `InvalidInputError` for fewer than two."""
    below = topics.normalize_topic(sanitize_text(topic).removesuffix("/*")) if topic else ""
    since = day_begin(since, caller.zone) if since is not None else None
    day = clock(format_time(since), caller.zone)[:10] if since is not None else ""
    name = resolve_project(vault, caller, project)
    own = "/".join(filter(None, (_TYPE, below, day and f"since-{day}")))
    own = own if len(own) <= topics.MAX_TOPIC_CHARS else f"{_TYPE}/{short_hash(own)}"
    wanted = CURRENT._replace(
        has_id=True, not_types=("session", "briefing", _TYPE), has_topic=bool(below),
        projects=project_names(vault, name) if name else ("",), changed_since=since,
    )  # fmt: skip

    def find(index: IndexSession) -> tuple[list[str], list[str]]:
        shared, rows = index.catalogue.duplicate_ids(), index.catalogue.find(wanted, "date")
        inside = (row for row in rows if f"{row.topic}/".startswith(below and f"{below}/"))
        made = index.catalogue.find(wanted._replace(not_types=(), types=(_TYPE,), topics=(own,)))
        return [row.path for row in inside if row.id not in shared], [row.path for row in made]

    found, problems = query_fresh(vault, caller, find)
    notes, made = ([*filter(None, (read_note(vault, one) for one in paths))] for paths in found)
    options = {"topic": below, "since": day, "project": name if project else ""}
    words = " ".join(f"--{key}={value}" for key, value in options.items() if value)
    words = words if below else f"--rollup {words}".rstrip()
    if len(notes) < 2:
        message = f"a roll-up is of 2 records at least: {words} finds {len(notes)} in project {name or '(none)'}"
        raise InvalidInputError(message, "cortex topic lists them, and --project another project")
    known = {parse_link_target(link) for one in made for link in one.get_list("derived_from")}
    then = max((one.updated for one in made), default="")
    is_known = all(one.get("id") in known and one.updated <= then for one in notes)
    events = [
        Event(one.get("id"), "prompt", one.updated, f"{one.title}\n{one.text_below_title}")
        for one in notes
    ]
    handle = short_hash("\0".join(f"{one.id}\0{one.text}" for one in events), 8)
    prompt = build_rollup(
        handle, [f"--- {one.id}, {clock(one.at, caller.zone)[:10]}\n{one.text}" for one in events]
    )
    done = DistilledSession(
        words, own, plan.UP_TO_DATE if is_known else plan.WOULD, int(not is_known),
        count_tokens(prompt), originals=tuple(one.id for one in events),
    )  # fmt: skip
    return _Chosen(name, events, handle, prompt, done), problems


def _keep(
    vault: Vault, caller: Caller, chosen: _Chosen, table: dict[str, object]
) -> DistilledSession:
    """Keep what the records bear out of an answer."""
    checked = check_answer(table, chosen.handle, SessionQuotes(chosen.events), ())
    points, title = checked.distillation.records, checked.distillation.title or chosen.done.title
    if not points:
        raise InvalidInputError("the answer says nothing of these records", "ask once more")
    lines = [f"- {f'{one.statement} {one.reason}'.rstrip()} [[{one.event}]]" for one in points]
    saved = save(
        vault, caller if chosen.project else caller._replace(cwd="/"), title, type=f"+{_TYPE}",
        body="\n".join(lines), topic=chosen.done.title, project=chosen.project,
        derived_from=chosen.done.originals,
    )  # fmt: skip
    unwritten.forget(vault, chosen.done.session)
    return chosen.done._replace(
        title=title, outcome=saved.outcome, records=(saved.id,), refused=checked.refused,
        dropped=tuple((why.replace("the session", "its record"), n) for why, n in checked.dropped),
    )  # fmt: skip


def check_model(settings: user_settings.DistillSettings, problems: list[Problem]) -> None:
    """Raise `CortexError` if the user has named no model, or if this runs in one."""
    if os.environ.get(GUARD_VARIABLE) == IN_MODEL:
        raise InvalidInputError("this runs in a model that distills", "answer its prompt")
    if not settings.command:
        if problems:
            raise InvalidInputError(f"{problems[0].where}: {problems[0].message}", problems[0].hint)
        hint = f'name it in {user_settings.settings_file()}: [distill] command = ["claude", "-p"]; or --print-prompt'
        raise NotFoundError("you have named no model that distills", hint)
