"""Have a model of the user's own tell what a session was about and what of it is worth knowing."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Literal

from cortex.core.distill.answer import (
    MAX_ANSWER_BYTES,
    SessionQuotes,
    check_answer,
    read_answer,
    read_cost,
)
from cortex.core.extract.candidate import make_title
from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.distillation import (
    Distillation,
    DistilledRecord,
    compose_distillation,
    standing_distillations,
)
from cortex.core.model.event import DISTILLED, Event
from cortex.core.model.parameters import OUTSIDE_PATH, Since
from cortex.core.model.problem import (
    CortexError,
    InvalidInputError,
    NotFoundError,
    problem_of,
    reason_of,
)
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import shorten
from cortex.core.text.token_count import count_tokens
from cortex.index.catalogue import NoteRow
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.capture import new_event_id
from cortex.operations.distill.distill_plan import (
    DONE,
    FAILED,
    UP_TO_DATE,
    WOULD,
    DistilledSession,
    DistillPlan,
    DistillResult,
    due_rows,
    is_within_limits,
    plan_session,
    records_of_rules,
)
from cortex.operations.distill.model_command import run_model
from cortex.operations.distill.rollup import check_model, roll_up
from cortex.operations.find.resolve_note import command
from cortex.operations.find.resolve_session import IS_SESSION, find_session, session_name
from cortex.operations.records.save import MIN_GLOBAL_CONFIDENCE, save
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.heal import try_heal
from cortex.operations.upkeep.normalize_now import publish_and_normalize
from cortex.operations.upkeep.settle import LASTING_TYPES
from cortex.vault import files, user_settings
from cortex.vault.locate import Vault
from cortex.vault.private import lock
from cortex.vault.state import distill_log, unwritten
from cortex.vault.state.change_marker import mark_briefings_stale
from cortex.vault.state.distill_log import DistillRun


def distill(
    vault: Vault, caller: Caller, sessions: list[str] | None = None, *, since: Since | None = None,
    all: bool = False, due: bool = False, again: bool = False, dry_run: bool = False,
    print_prompt: bool = False, answer: Annotated[str | None, OUTSIDE_PATH] = None,
    answer_text: str | None = None, topic: str = "", rollup: bool = False, project: str = "",
) -> DistillResult:  # fmt: skip
    """Have a model of your own summarize sessions as records.

    The model is a command that you name in your own settings, never in those of a vault: it reads a prompt
    on standard input and answers JSON. It is given the turns without secrets, branch, commits and the
    nearest records. A record is kept if its quote stands in the session and bears it out. What is kept
    becomes an event, and takes the place of what rules made of the same turns, unless somebody has edited,
    pinned or linked that, or it is a decision, rejection or preference that it does not name. By itself
    this runs after a session, within runs_per_day and dollars_per_day, unless auto = false.

    Without a command any chat will do: --print-prompt, then --answer with what it said. With by = "agent"
    in your settings the agent of the next session is asked to, if 1,200 characters were said within two
    days. A long session has several prompts, by hand smaller ones: each answer leads to the next. Records
    with the scope personal or global go to your own vault.

    --topic and --rollup make one record of many, which stay, in the same ways; again where one is new.

    sessions: names of sessions, or the beginnings of names
    since: all sessions that went on after this: 7d, or a day
    all: all sessions
    due: those that ended lately, within the limits of a day; what runs by itself
    again: also what is distilled already
    dry_run: say what would be asked, and how large it is
    print_prompt: print the prompt of one session instead of asking
    answer: a file with the answer to that prompt; a single - reads standard input
    answer_text: the answer itself, a JSON object
    topic: one record of those of this topic and below it; with since, of those since that day
    rollup: one record of all of a project, or of those since a day
    project: of that record; by default what the working directory says

    Example: cortex distill --print-prompt 5f0c7a52 | claude -p | cortex distill 5f0c7a52 --answer -
    Example: cortex distill --since 7d
    Example: cortex distill --topic decision --since 30d --dry-run
    """
    names = sessions or []
    modes = print_prompt + (answer is not None) + (answer_text is not None)
    said = _read_said(caller, answer, answer_text)
    of_records = bool(topic) or rollup
    choices = bool(names) + all + due + (of_records or since is not None)
    _check_choice(choices, of_records or len(names), by_hand=modes > 0, modes=modes + dry_run)
    if of_records:
        return roll_up(
            vault, caller, topic, since, project=project, said=said, by_hand=modes > 0, again=again,
            dry_run=dry_run,
        )  # fmt: skip
    if project:
        raise InvalidInputError("--project is of records", "give --topic TOPIC or --rollup with it")
    choose = partial(_choose_rows, vault, names, since=since, due=due, at=caller.now)
    rows, problems = query_fresh(vault, caller, choose)
    result = (
        _by_hand(vault, caller, rows[0], said, again=again) if modes and not dry_run
        else _ask_about(vault, caller, rows, again=again, due=due, dry_run=dry_run)
    )  # fmt: skip
    sessions_ = (_with_staying(vault, caller, one) for one in result.sessions)
    return result._replace(sessions=tuple(sessions_), problems=(*problems, *result.problems))


def _with_staying(vault: Vault, caller: Caller, done: DistilledSession) -> DistilledSession:
    """What was done, with the decisions of rules that no answer named, and what archives each."""
    if done.outcome != DONE:
        return done
    own = query_index(vault, caller.progress, records_of_rules, vault, done.session)
    rows = [row for row, _ in own if row.type in LASTING_TYPES and not row.pinned]
    return done._replace(staying=tuple((row.id, command("archive", row)) for row in rows))


def _check_choice(chosen: int, named: int, *, by_hand: bool, modes: int) -> None:
    """Raise `InvalidInputError` unless sessions are chosen in one way, for one of the `modes`."""
    if by_hand and (named != 1 or chosen > 1):
        message = "--print-prompt and --answer are of one session, topic or roll-up"
        raise InvalidInputError(message, "cortex distill --print-prompt SESSION")
    if modes > 1:
        message = "--print-prompt, --answer and --dry-run exclude each other"
        raise InvalidInputError(message, "give one of them")
    if chosen != 1:
        message = "sessions are chosen twice" if chosen else "which sessions?"
        hint = "cortex distill SESSION, --since 7d, or --all; cortex session list names them"
        raise InvalidInputError(message, hint)


def _by_hand(
    vault: Vault, caller: Caller, row: NoteRow, said: str | None, *, again: bool
) -> DistillResult:
    """The prompt for the next part of a session, or what comes of what was said to it. Of answers at the
    same time the second sees what the first has left."""
    with lock(os.path.join(vault.state_folder(), "answer.lock"), "answer", wait=30.0):
        plan = plan_session(vault, caller, row, again=again, by_hand=True)
        if not plan.parts:
            message = f"all of {session_name(plan.row)} is distilled"
            raise NotFoundError(message, "--again takes it from its beginning")
        if said is None:
            return DistillResult((), 0.0, False, plan.prompt(0))
        done, _ = _keep_answer(vault, caller, plan, 0, table=read_answer(said), model="by hand")
        done = done._replace(left=len(plan.parts) - 1)
        return DistillResult((done,), 0.0, False, "", tuple(try_heal(vault, caller)))


def _choose_rows(
    vault: Vault,
    names: Sequence[str],
    index: IndexSession,
    *,
    since: int | None,
    due: bool,
    at: str,
) -> list[NoteRow]:
    if names:
        found = (find_session(index.catalogue, name) for name in names)
        return list({row.id: row for row in found}.values())
    rows = index.catalogue.find(IS_SESSION._replace(changed_since=since), "-date")
    rows = [row for row in rows if not events.is_headless(session_name(row))]
    return due_rows(vault, rows, at) if due else rows


def _ask_about(
    vault: Vault, caller: Caller, rows: list[NoteRow], *, again: bool, due: bool, dry_run: bool
) -> DistillResult:
    """Ask the user's model about sessions, one at a time; or say what would be asked."""
    settings, problems = user_settings.load_distill()
    if not dry_run:
        check_model(settings, problems)
    if dry_run:
        plans = [plan_session(vault, caller, row, again=again) for row in rows]
        return DistillResult(tuple(map(_preview, plans)), 0.0, True, "", tuple(problems))
    done: list[DistilledSession] = []
    program = os.path.basename(settings.command[0])
    dollars = 0.0
    os.makedirs(os.path.dirname(distill_log.lock_path()), mode=0o700, exist_ok=True)
    with lock(distill_log.lock_path(), "model", wait=0.0 if due else 10.0):
        for count, row in enumerate(rows, start=1):
            caller.progress("distilling", count - 1, len(rows))
            plan = plan_session(vault, caller, row, again=again)
            for number, part in enumerate(plan.parts):
                if due and not is_within_limits(settings, part, row, caller.now):
                    break
                asking = f"asking {program} about {plan.row.title[:40]}"
                run = DistillRun(caller.now, vault.root, session_name(plan.row), due)
                try:
                    one, before, cost = _ask_part(
                        vault, caller, plan, number, settings=settings, run=run,
                        waiting=partial(caller.progress, asking, count - 1, len(rows)),
                    )  # fmt: skip
                except CortexError as error:
                    if len(rows) == 1 or isinstance(error, NotFoundError):
                        raise
                    done.append(_preview(plan)._replace(outcome=FAILED))
                    problems.append(problem_of(session_name(row), error, "", ""))
                    break
                done.append(one)
                dollars += cost
                plan = plan._replace(before=before)
            if not plan.parts:
                done.append(_preview(plan))
            caller.progress("distilling", count, len(rows))
    if any(one.outcome in (DONE, UP_TO_DATE) for one in done):  # one that was killed may not have
        problems += try_heal(vault, caller)
    return DistillResult(tuple(done), dollars, False, "", tuple(problems))


def _ask_part(
    vault: Vault, caller: Caller, plan: DistillPlan, number: int, *,
    settings: user_settings.DistillSettings, run: DistillRun, waiting: Callable[[], None],
) -> tuple[DistilledSession, Distillation, float]:  # fmt: skip
    """Ask about one part of a session and keep what is believed; every run is logged. Returns also
    what it cost, in dollars; `waiting` is called again and again until the model has answered."""
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="cortex-distill-") as scratch:
            prompt = plan.prompt(number)
            output = run_model(settings.command, prompt, scratch, settings.timeout, waiting)
        run = run._replace(dollars=read_cost(output))
        table = read_answer(output)
        # Its arguments may hold a key.
        model = sanitize_text(os.path.basename(settings.command[0]))
        done, one = _keep_answer(vault, caller, plan, number, table=table, model=model)
        count = sum(count for _, count in done.dropped)
        run = run._replace(records=len(done.records), dropped=count)
    except CortexError as error:
        run = run._replace(problem=reason_of(error))
        raise
    finally:
        distill_log.append(run._replace(seconds=round(time.monotonic() - began, 1)))
    return done, one, run.dollars


def _keep_answer(
    vault: Vault, caller: Caller, plan: DistillPlan, number: int, *, table: dict[str, object], model: str,
) -> tuple[DistilledSession, Distillation]:  # fmt: skip
    """Keep what is believed of an answer as an event, and make its records."""
    known = [id_ for id_, _ in (*plan.context.known, *plan.context.own)]
    quotes = SessionQuotes(plan.events, beside=str(plan.context))
    checked = check_answer(table, plan.context.handle, quotes, known)
    one, own = _split_by_scope(checked.distillation)
    one = one._replace(covers=plan.parts[number].events, model=model)
    title = one.title or plan.row.title
    result = _preview(plan)._replace(
        title=title, outcome=DONE, dropped=checked.dropped, refused=checked.refused
    )
    standing = (earlier._replace(model=model) for _, earlier in standing_distillations(plan.events))
    if len(plan.parts) == number + 1:
        unwritten.forget(vault, session_name(plan.row))
    if one in standing:
        return result._replace(outcome=UP_TO_DATE), one
    saved = [_save_own(vault, caller, plan.row.project, record) for record in own]
    # Behind the others of the session, so that the later answer stands even within a second.
    last = max((event.id for event in plan.events), default="")
    event = Event(
        new_event_id(caller, last), DISTILLED, "", compose_distillation(one),
        session=session_name(plan.row), project=plan.row.project, branch=plan.row.branch,
        source=caller.source, title=one.title,
    )  # fmt: skip
    event, made = publish_and_normalize(vault, caller, event)
    mark_briefings_stale(vault)  # whoever reads next goes on if this is killed before it has healed
    layout = vault.layout()
    paths = (path for path, _ in made.records if not layout.is_in(path, "sessions"))
    ids = tuple(path.rpartition("/")[2].removesuffix(".md") for path in paths)
    return result._replace(records=(*ids, *saved)), one


def _split_by_scope(one: Distillation) -> tuple[Distillation, list[DistilledRecord]]:
    """A distillation with the records of its project, and those that are the person's own. What holds
    everywhere only if the model is sure of it is the project's."""
    own = [
        record
        for record in one.records
        if record.scope == "personal"
        or (record.scope == "global" and record.confidence > MIN_GLOBAL_CONFIDENCE)
    ]
    kept = tuple(record._replace(scope="") for record in one.records if record not in own)
    return one._replace(records=kept), own


def _save_own(vault: Vault, caller: Caller, project: str, one: DistilledRecord) -> str:
    """Save a record in the person's own vault; its id."""
    scope: Literal["personal", "global"] = "global" if one.scope == "global" else "personal"
    return save(
        vault, caller, make_title(one.statement.rstrip(".")), type=one.type, what=one.statement,
        why=one.reason, where=one.where, project=project, scope=scope, tags=one.tags,
        confidence=one.confidence, priority=one.priority or None,
    ).id  # fmt: skip


def _preview(plan: DistillPlan) -> DistilledSession:
    """A session in a dry run: how many prompts and tokens the model would be sent."""
    tokens = sum(count_tokens(plan.prompt(number)) for number in range(len(plan.parts)))
    name, outcome = session_name(plan.row), WOULD if plan.parts else UP_TO_DATE
    return DistilledSession(name, plan.row.title, outcome, len(plan.parts), tokens)


def _read_said(caller: Caller, answer: str | None, said: str | None) -> str | None:
    """The answer: given as it is, or in a file or in a text that was read from standard input."""
    if answer is not None and answer.strip() and "{" not in answer and "\n" not in answer:
        path = os.path.join(caller.cwd, os.path.expanduser(answer))
        if not os.path.isfile(path):
            message = f"{shorten(answer, 100)!r} is neither a file nor a JSON object"
            hint = "give what the model said, or a file with it; a single - reads it from stdin"
            raise NotFoundError(message, hint)
        answer = files.read_bounded(path, 2 * MAX_ANSWER_BYTES, follow=True).decode(
            "utf-8", "replace"
        )
    said = said if answer is None else answer
    if said is not None and not 0 < len(said.strip()) <= MAX_ANSWER_BYTES:
        size = f"longer than {MAX_ANSWER_BYTES:,} characters" if said.strip() else "empty"
        raise InvalidInputError(f"the answer is {size}", "give the JSON object that the model said")
    return said
