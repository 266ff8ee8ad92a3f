"""The verbs `actions`, `meetings` and `plan`: what is to be done, and what came of meetings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from cortex.core.briefing.excerpt import PlanStep, plan_steps
from cortex.core.minutes.note_items import ATTENDEE, DECISION, DONE, TASK, linked_id, plain_text
from cortex.core.minutes.people import people_in, usual_names
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import DONE_STATUSES, TIER_CURRENT
from cortex.core.model.parameters import Between, Since
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, NoteRow, OwnItemRow
from cortex.index.catalogue.filters import CURRENT, KNOWLEDGE_TIERS, MEETING_TYPES, NoteFilter
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.project_context import (
    branch_filter,
    only_project,
    project_names,
    resolve_project,
)
from cortex.operations.find.hits import Hit, Listing, build_hit, make_hit, read_text
from cortex.operations.upkeep.bring_up_to_date import (
    bring_up_to_date,
    query_fresh,
    read_edited_minutes,
)
from cortex.vault.git import git_cli
from cortex.vault.locate import Vault
from cortex.vault.user_settings import load_aliases, settings_file

MAX_RESULTS = 1000
_DATE_RE = lazy_re(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?=T|$)")
_GITHUB_NUMBER_RE = lazy_re(r"^\d+\+")  # 123+ana@users.noreply.github.com


class ActionHit(NamedTuple):
    """An action, or a task of a person's own note, which is named by `path:line`. The status of an
    action is `done`, too, when its task is ticked."""

    hit: Hit
    owner: str
    due: str  # as it stands in the note
    overdue: bool
    ticked: bool  # done by a tick in a note, and not yet in its own


def actions(
    vault: Vault,
    caller: Caller,
    *,
    project: str = "",
    owner: str = "",
    overdue: bool = False,
    done: bool = False,
    number: Annotated[int, Between(1, MAX_RESULTS)] = 50,
) -> Listing[ActionHit]:
    """List what is to be done, overdue first.

    Then by date, and what has none last. An action is done when its note says so, or when its task is
    ticked: the one in its meeting's minutes, or one in any note that is a link to it and nothing else.
    A due that is no date comes after those that are. Open tasks of people's own notes stand beside
    them, with the dates of the Tasks plugin or due:: and an owner:: or @name. cortex done ticks one.

    project: only of this project; by default of all
    owner: only what this person has to do; me is you, by git's user.name and user.email, and [person] aliases in your settings
    overdue: only what was due before today
    done: which actions are done instead, the newest first
    number: how many at the most

    Example: cortex actions
    Example: cortex actions --overdue --owner Ada
    """
    if overdue and done:
        hint = "cortex actions --done, or --overdue"
        raise InvalidInputError("what is done is not overdue", hint)
    projects, today = only_project(vault, project), caller.today
    problems = _read_minutes(vault, caller)

    def find(index: IndexSession) -> tuple[list[ToDo], dict[int, NoteRow], frozenset[str]]:
        found = list_to_do(index.catalogue, projects, done=done)
        if not done:
            found.sort(key=lambda one: due_sort_key(one.due, today))
        asked = [name.strip() for name in owner.split(",")]
        usual = _usual_names(index.catalogue, *asked)
        for at, one in enumerate(found):
            found[at] = one._replace(owner=", ".join(_as_usual(one.owner.split(", "), usual)))
        if owner.strip():
            people = {one.owner: people_in(one.owner) for one in found}
            names = _names_of(
                vault, ",".join(_as_usual(asked, usual)), set().union(*people.values())
            )
            found = [one for one in found if people[one.owner] & names]
        if overdue:
            found = [one for one in found if is_overdue(one.due, today)]
        shown = index.catalogue.rows_by_number({one.number for one in found[:number]})
        return found, shown, frozenset(index.catalogue.ticked_actions()) if done else frozenset()

    found, rows, ticked = query_index(vault, caller.progress, find)
    at = "" if done else today
    hits = [_hit(vault, one, rows[one.number], ticked, at) for one in found[:number]]
    return Listing(hits, len(found), problems)


class MeetingHit(NamedTuple):
    """A meeting, and what came of it."""

    hit: Hit
    attendees: tuple[str, ...]
    open_actions: int
    done_actions: int
    decisions: int


def meetings(
    vault: Vault,
    caller: Caller,
    *,
    number: Annotated[int, Between(1, MAX_RESULTS)] = 20,
    since: Since | None = None,
    project: str = "",
) -> Listing[MeetingHit]:
    """List meetings, newest first, with what came of each.

    Those that were captured, and people's own notes that are one: by `type: meeting`, the tag meeting,
    or a name, a day and headings that say so.

    number: how many at the most
    since: only since then: 7d, 2w, 3m or a date
    project: only of this project; by default of all

    Example: cortex meetings --since 2w
    """
    of_project = CURRENT._replace(types=MEETING_TYPES, projects=only_project(vault, project))
    wanted = of_project._replace(changed_since=since, zone=caller.zone)
    problems = _read_minutes(vault, caller)

    def find(index: IndexSession) -> tuple[list[NoteRow], int, dict[int, tuple[Any, ...]]]:
        rows = index.catalogue.find(wanted, "-created", number)
        outcomes = _meeting_outcomes(index.catalogue, [row.number for row in rows])
        return rows, index.catalogue.count(wanted), outcomes

    rows, total, outcomes = query_index(vault, caller.progress, find)
    hits = [MeetingHit(build_hit(vault, row), *outcomes[row.number]) for row in rows]
    return Listing(hits, total, problems)


def _meeting_outcomes(catalogue: Catalogue, numbers: list[int]) -> dict[int, tuple[Any, ...]]:
    """Of each meeting: who was there, how many actions are open, how many done, and its decisions."""
    parts = notes_from(catalogue, numbers)
    rows = catalogue.rows_by_number({part for some in parts.values() for part in some})
    ticked = frozenset(catalogue.ticked_actions())
    here, *items = (catalogue.own_items(kind)[0] for kind in (ATTENDEE, TASK, DONE, DECISION))
    usual = _usual_names(catalogue)
    counts = Counter((one.number, one.kind) for some in items for one in some)
    outcomes = {}
    for number, some in parts.items():
        current = [rows[part] for part in some if part in rows and rows[part].tier == TIER_CURRENT]
        actions = [row for row in current if row.type == "action"]
        done = sum(row.status in DONE_STATUSES or row.id in ticked for row in actions)
        decisions = sum(row.type == "decision" for row in current)
        tasks, ended, decided = (counts[number, kind] for kind in (TASK, DONE, DECISION))
        people = _as_usual((one.text for one in here if one.number == number), usual)
        opened = len(actions) - done + tasks
        outcomes[number] = people, opened, done + ended, decisions + decided
    return outcomes


class PlanHit(NamedTuple):
    """A plan and its steps, in their order."""

    hit: Hit
    branch: str
    done: int  # steps
    steps: tuple[PlanStep, ...]


def plan(
    vault: Vault,
    caller: Caller,
    *,
    project: str = "",
    branch: tuple[str, ...] = (".",),
    all: bool = False,
    number: Annotated[int, Between(1, 100)] = 5,
) -> Listing[PlanHit]:
    """Show plans, and which of their steps are done.

    A plan is a record of the type plan: an agent's list of steps becomes one for each branch, and
    any note with `type: plan` and tasks is one. The last changed comes first.

    project: by default the one of the working directory; of all in a folder without one
    branch: by default `.`, the one that is checked out, with what belongs to none; `*` for all
    all: plans that are superseded, archived or deleted too
    number: how many at the most

    Example: cortex plan
    Example: cortex plan --branch '*' --json
    """
    project = resolve_project(vault, caller, project)
    wanted = NoteFilter(
        tiers=KNOWLEDGE_TIERS if all else (TIER_CURRENT,),
        types=("plan",),
        projects=[*project_names(vault, project), ""] if project else None,
        query=branch_filter(caller, branch),
    )

    def find(index: IndexSession) -> tuple[list[NoteRow], int]:
        return index.catalogue.find(wanted, "-date", number), index.catalogue.count(wanted)

    (rows, total), problems = query_fresh(vault, caller, find)
    hits = []
    for row in rows:
        steps = tuple(plan_steps(read_text(vault, row)))
        done = sum(step.is_done for step in steps)
        left = next((step.text for step in steps if not step.is_done), "")
        hits.append(PlanHit(make_hit(vault, row, 1, left), row.branch, done, steps))
    hint = "" if hits else "cortex actions lists actions"
    if not hits and "*" not in branch:
        hint = f"cortex plan --branch '*' looks on every branch; {hint}"
    return Listing(hits, total, problems, hint)


def notes_from(catalogue: Catalogue, numbers: Sequence[int]) -> dict[int, set[int]]:
    """The notes that came from each of these."""
    parts: dict[int, set[int]] = {number: set() for number in numbers}
    for edge in LinkGraph(catalogue).edges_touching(numbers, ("derived_from",)):
        if edge.target in parts:
            parts[edge.target].add(edge.source)
    return parts


def _read_minutes(vault: Vault, caller: Caller) -> list[Problem]:
    """Bring the vault up to date, minutes that somebody has edited too."""
    problems = (*bring_up_to_date(vault, caller), *read_edited_minutes(vault, caller))
    return list(dict.fromkeys(problems))


class ToDo(NamedTuple):
    """What is to be done or was: an action, or a task of a person's own note."""

    number: int  # of the note
    name: str  # the id of the action, or the path and line of the task
    title: str
    owner: str
    due: str
    task: OwnItemRow | None = None


def list_to_do(
    catalogue: Catalogue, projects: Collection[str] | None = None, *, done: bool = False
) -> list[ToDo]:
    """The open actions, the first made first; or those that are done, the last changed first. Then the
    tasks of people's own notes, without those that are nothing but a link to an action."""
    state: Literal["done", "to_do"] = "done" if done else "to_do"
    wanted = CURRENT._replace(state=state, projects=projects)
    rows = catalogue.find(wanted, "-date")
    if not done:
        rows.sort(key=lambda row: (row.created, row.path))
    tasks, _ = catalogue.own_items(DONE if done else TASK, projects)
    linked = {linked_id(task.text) for task in tasks} - {""}
    actions = catalogue.find(NoteFilter(types=("action",), ids=linked)) if linked else []
    ids = {row.id for row in actions}
    found = [ToDo(row.number, row.id, row.title, row.owner, row.due) for row in rows]
    for task in (one for one in tasks if linked_id(one.text) not in ids):
        name, title = f"{task.path}:{task.line}", plain_text(task.text)
        found.append(ToDo(task.number, name, title, task.person, task.day, task))
    return found


def _hit(vault: Vault, one: ToDo, row: NoteRow, ticked: frozenset[str], today: str) -> ActionHit:
    late = is_overdue(one.due, today)
    if task := one.task:
        hit = make_hit(vault, row, task.line, row.title)._replace(
            id=one.name, title=one.title, type=TASK, status="done" if task.kind == DONE else "open"
        )
        return ActionHit(hit, one.owner, one.due, late, ticked=False)
    is_ticked = row.status not in DONE_STATUSES and row.id in ticked
    hit = build_hit(vault, row)._replace(status="done" if is_ticked else row.status)
    return ActionHit(hit, one.owner, one.due, late, ticked=is_ticked)


def _usual_names(catalogue: Catalogue, *asked: str) -> dict[str, str]:
    """The names of all whom notes tell, and those asked for, each as its person is usually named."""
    counts = Counter(dict.fromkeys(asked, 0))
    said = [*catalogue.count_by("owner").items()]
    said += ((one.person, 1) for kind in (TASK, DONE) for one in catalogue.own_items(kind)[0])
    said += ((one.text, 1) for one in catalogue.own_items(ATTENDEE)[0])
    for names, count in said:
        counts.update(dict.fromkeys(filter(None, names.split(", ")), count))
    return usual_names(counts)


def _as_usual(names: Iterable[str], usual: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(usual.get(name, name) for name in names))


def _names_of(vault: Vault, owner: str, known: set[str]) -> set[str]:
    """The names that mean an owner, or you for `me`: also the beginning of yours, where it begins no
    other one that is known. Raises `InvalidInputError` where nobody says who you are."""
    if people_in(owner) != {"me"}:
        return people_in(owner)
    said = git_cli.read_config(vault.root, r"^user\.(name|email)$")
    mail = _GITHUB_NUMBER_RE.sub("", said.get("user.email", "")).partition("@")[0]
    yours = people_in(",".join((said.get("user.name", ""), *load_aliases())))
    if not yours | people_in(mail):
        hint = f'git config --global user.name "Your Name"; or aliases below [person] in {settings_file()}'
        raise InvalidInputError("git does not know who you are", hint)
    begun = {one for one in known if any(f"{each} ".startswith(f"{one} ") for each in yours)}
    others = known - begun
    clear = {one for one in begun if not any(each.startswith(f"{one} ") for each in others)}
    return {"me"} | yours | clear | people_in(mail)


def due_sort_key(due: str, today: str) -> tuple[int, str]:
    """The sort key of open actions: overdue, dated, with another due, without one."""
    if not due:
        return 3, ""
    return (0 if is_overdue(due, today) else 1 if _DATE_RE.match(due) else 2), due


def is_overdue(due: str, today: str) -> bool:
    """Whether a due is a day that is over."""
    return bool(_DATE_RE.match(due)) and due[:10] < today
