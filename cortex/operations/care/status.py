"""How the vault stands, in a screenful."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from itertools import chain, combinations
from typing import Any

from cortex.core.extract.candidate import PASSAGE_LAYER
from cortex.core.minutes.note_items import TASK
from cortex.core.model.caller import Caller
from cortex.core.model.event import TURN_TYPES, time_of_id
from cortex.core.model.layout import BRIEFINGS_FOLDER
from cortex.core.model.note_status import SET_ASIDE_STATUSES
from cortex.core.model.parameters import Time
from cortex.core.model.problem import CortexError, Problem
from cortex.core.ranking.contradiction import contradicts, directive_words
from cortex.core.text.days import clock
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import format_time
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import CURRENT, EVENTS, NoteFilter
from cortex.index.full_text import engine_of
from cortex.index.refresh import IndexSession, query_index
from cortex.index.semantic import count_embedded
from cortex.index.vectors import FOLDER
from cortex.index.vectors.embedders import REMOTE_EMBEDDERS, choose_embedder
from cortex.operations.capture.project_context import branch_filter, resolve_project
from cortex.operations.find.actions import ToDo, is_overdue, list_to_do
from cortex.operations.find.hits import Hit, Hits, make_hit
from cortex.operations.find.note_ranks import find_faded
from cortex.operations.find.resolve_session import list_live_sessions
from cortex.operations.upkeep.bring_up_to_date import heal_if_stale, state_problems
from cortex.vault import agent_settings, files, private, user_folders
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state.spool import list_entries

_MAX_NOTES, _MAX_KINDS = 5, 12  # notes of a list, kinds of notes
_MAX_LISTED = {"failed": 20, "live": _MAX_NOTES, "orphans": _MAX_NOTES}
_MAX_READ, _MAX_COMPARED = 5_000, 2_000
# Where hosts keep servers, in a project or at home, as `hosts/` has it, which takes 15 ms to import.
_SERVER_FILES = (
    ".mcp.json", ".claude.json", ".codex/config.toml", ".copilot/mcp-config.json", ".cursor/mcp.json",
    ".gemini/settings.json", ".codeium/windsurf/mcp_config.json", "opencode.json", ".vscode/mcp.json",
    ".config/opencode/opencode.json", *(f"{at}/{name}" for at in (".config", "Library/Application Support")
    for name in ("Code/User/mcp.json", "Claude/claude_desktop_config.json")),
)  # fmt: skip
_SERVER_RE = lazy_re(rb'"cortex"\s*:\s*\{|(?m:^\[mcp_servers\.cortex\])')
_STALE_SECONDS = 30 * 24 * 3600  # without a change, after which what is open is asked about


class RunHealth(NamedTuple):
    """How runs of agents stand on this machine."""

    watcher: bool  # one runs
    schedules: bool  # they run
    tick: Time  # when the last began that came to its end; empty before the first
    fault: str  # of it
    going_on: tuple[tuple[str, str], ...]  # runs/queue or runs/active, and an id
    failed_today: int
    failed: tuple[tuple[str, str], ...]  # ids and names of seven days, as `list_failed` has them


class StatusResult(NamedTuple):
    """The vault in figures. Every list is bounded: of notes it says its total, of all others
    `more` says how much is left out."""

    vault: str
    branch: str
    notes: int
    pending: int
    failed: tuple[str, ...]
    types: dict[str, int]
    projects: dict[str, int]
    open_actions: int
    sessions: int
    recent: Hits[Hit]
    problems: int
    statuses: dict[str, int]
    set_aside: int  # superseded, archived and deleted records
    topics: int  # current records that have one
    open: dict[str, int]  # project -> what is open there: actions, questions, plans
    overdue: Hits[Hit]  # open actions that were due before today, the longest first
    stale: Hits[Hit]  # open, and unchanged for 30 days; the longest first
    contradictions: Hits[Hit]  # current records that contradict another current one
    opposing: Hits[Hit]  # saved twice with two texts, of which a merge kept the later one
    faded: Hits[Hit]  # records that cortex lifecycle archives, the longest untouched first
    live: tuple[str, ...]  # ids of sessions that are going on, the last moved first
    orphans: tuple[str, ...]  # without an event for a day: cortex session end --orphans
    more: dict[str, int]
    embedded: tuple[int, int] | None = None  # passages with a vector, and all; None without vectors
    passages: int = 0  # current records of rules of earlier versions: cortex extract --replay
    refused: tuple[Problem, ...] = ()  # files that git did not take in the last sync
    under_way: str = ""  # a merge, rebase or the like of git that waits for somebody
    project: str = ""  # of the working directory
    project_hash: str = ""  # of the vault's path, as its folders of cache and state have it
    storage_tier: int = 1  # 1 an index, 2 vectors, 3 MCP; pages come by themselves
    events: int = 0
    embeddings: str = "0/0"  # `embedded` in other words
    notes_of_branch: dict[str, int] = {}  # noqa: RUF012  current notes; nothing changes it
    last_event: Time = ""  # when something was last captured
    last_extraction: Time = ""  # when hooks last took a turn
    db_size: int = 0  # bytes of index, catalogue and vectors
    engine: str = ""  # of the index of words
    auto_embed: bool = False  # a model on this machine embeds what is new
    mcp_enabled: bool = False  # a host here has our server in its settings
    mcp_available: bool = True  # it needs no extra
    projections_enabled: bool = False  # pages are written
    runs: RunHealth | None = None  # None in a vault without agents and runs


def status(vault: Vault, caller: Caller, *, branch: str = "") -> StatusResult:
    """Show what the vault holds, what is open, what needs a look.

    What is overdue or stale, and what waits. Stale is what has been open and unchanged for 30 days.
    Sessions that had no event for a day are listed as orphans. Faded is what cortex lifecycle
    archives. With --json also the tier: 1 for words, 2 with meaning (cortex embed), 3 over MCP.

    branch: the branch of which notes are counted apart; by default the one that is checked out

    Example: cortex status --json
    """
    heal_if_stale(vault, caller)
    branch = branch or checkout.branch_of(caller.cwd)
    of_branch = CURRENT._replace(query=branch_filter(caller, (branch,)))

    def look(index: IndexSession) -> StatusResult:
        found, catalogue = _build_status(vault, index, caller), index.catalogue
        last = catalogue.find(EVENTS, "-date", 1)
        turns = catalogue.find(EVENTS._replace(types=TURN_TYPES), "-date", 1)
        derived = (catalogue.folder, index.fulltext_folder, os.path.join(catalogue.folder, FOLDER))
        has_mcp = caller.source == "mcp" or is_asked(caller.cwd)
        return found._replace(
            project=resolve_project(vault, caller, ""), refused=_list_refused(vault), runs=_run_health(vault, caller),
            project_hash=catalogue.folder.rpartition("-")[2],
            storage_tier=1 + bool(found.embedded) + bool(found.embedded and has_mcp), engine=engine_of(index.fulltext_folder),
            events=catalogue.count(EVENTS), embeddings="{}/{}".format(*found.embedded or (0, 0)),
            notes_of_branch={branch: catalogue.count(of_branch)} if branch else {},
            last_event=format_time(last[0].date) if last else "",
            last_extraction=format_time(turns[0].date) if turns else "",
            db_size=sum(os.path.getsize(f"{at}/{name}") for at in derived for name in files.list_folder(at)),
            auto_embed=bool(found.embedded) and choose_embedder(vault.root)[0].embedder not in ("", "off", *REMOTE_EMBEDDERS),
            mcp_enabled=has_mcp, projections_enabled=files.exists(vault.root, vault.layout().path(BRIEFINGS_FOLDER)),
        )  # fmt: skip

    return query_index(vault, caller.progress, look)


def is_asked(cwd: str) -> bool:
    """Whether a host of this project or person has our server in its settings."""
    found = checkout.find_repository(cwd)
    folders = (found[0] if found else cwd, user_folders.home_folder())
    paths = (os.path.join(folder, name) for folder in folders for name in _SERVER_FILES)
    return any(_SERVER_RE.search(files.read_bounded(path, 16 << 20, follow=True)) for path in paths)


def _build_status(vault: Vault, index: IndexSession, caller: Caller) -> StatusResult:
    catalogue, at = index.catalogue, caller.now
    names = files.list_notes(vault.root, vault.layout().failed())
    statuses = catalogue.count_by("status")
    living = list_live_sessions(index, at)
    is_open = CURRENT._replace(state="open")
    # A record that says so is told alone, of two titles both.
    told = (
        pair if contradicts(pair[0].title, pair[1].title) else pair[:1]
        for pair in find_contradictions(catalogue)
    )
    to_do = list_to_do(catalogue)
    rows = {
        "recent": catalogue.find(CURRENT, "-date", _MAX_NOTES),
        "overdue": _overdue_rows(catalogue, to_do, caller.today),
        "stale": find_stale(catalogue, at),
        "contradictions": list(dict.fromkeys(chain.from_iterable(told))),
        "opposing": catalogue.find(NoteFilter(has_lost_text=True), "-date"),
        "faded": [one.row for one in find_faded(index, vault, at)[0]],
    }
    lists: dict[str, list[Any]] = {
        "failed": [name.removesuffix(".md") for name in names],
        "live": [one.row.id for one in living if not one.is_orphan],
        "orphans": [one.row.id for one in living if one.is_orphan],
    }
    counts = {
        "types": catalogue.count_by("type"),
        "projects": catalogue.count_by("project"),
        "statuses": statuses,
        "open": catalogue.count_by("project", is_open),
    }
    shown: dict[str, Any] = {
        name: tuple(items[: _MAX_LISTED[name]]) for name, items in lists.items()
    }
    left = {name: len(items) - len(shown[name]) for name, items in lists.items()}
    left |= {name: len(numbers) - _MAX_KINDS for name, numbers in counts.items()}
    shown |= {name: _most_frequent(numbers) for name, numbers in counts.items()}
    for name, some in rows.items():
        hits = [make_hit(vault, row, 1, "")._replace(due=row.due) for row in some[:_MAX_NOTES]]
        shown[name] = Hits(hits, len(some))
    shown["recent"] = shown["recent"]._replace(total=catalogue.count(CURRENT))
    pending = files.list_notes(vault.root, vault.layout().pending())
    unusable = state_problems(vault)
    unsent = () if unusable else list_entries(vault).unsent_events
    return StatusResult(
        vault=vault.root,
        branch=checkout.branch_of(vault.root),
        notes=catalogue.count_notes(),
        pending=len(pending) + len(unsent),
        open_actions=len(to_do),
        sessions=catalogue.count_started_sessions(),
        problems=len(index.problems) + len(unusable),
        set_aside=sum(statuses.get(name, 0) for name in SET_ASIDE_STATUSES),
        topics=catalogue.count_topics(),
        **shown,
        more={name: number for name, number in left.items() if number > 0},
        embedded=count_embedded(catalogue),
        passages=_count_passages(vault, catalogue),
        under_way=checkout.operation_in_progress(vault.root),
    )


def _list_refused(vault: Vault) -> tuple[Problem, ...]:
    if state_problems(vault) or "refused.json" not in files.list_folder(vault.state_folder()):
        return ()
    from cortex.vault.git import refusals  # noqa: PLC0415  it reads notes

    return tuple(refusals.list_refused(vault.root))


def _overdue_rows(catalogue: Catalogue, to_do: list[ToDo], today: str) -> list[NoteRow]:
    """The rows of what is overdue, the longest first; a task's as if it were a note."""
    overdue = sorted((one for one in to_do if is_overdue(one.due, today)), key=lambda one: one.due)
    rows, kinds = catalogue.rows_by_number({one.number for one in overdue}), ("action", TASK)
    named = ((one, rows[one.number]._replace(id=one.name, title=one.title)) for one in overdue)
    return [row._replace(due=one.due, type=kinds[bool(one.task)]) for one, row in named]


def _run_health(vault: Vault, caller: Caller) -> RunHealth | None:
    """How runs stand; None where there are neither agents nor runs."""
    if not any(files.exists(vault.root, vault.layout().path(one)) for one in ("agents", "runs")):
        return None
    from cortex.vault.runs import run_files, run_state  # noqa: PLC0415  they read notes

    going_on, failed = run_files.list_open(vault), run_files.list_failed(vault, caller.now)
    today = sum(clock(time_of_id(id_[4:]), caller.zone)[:10] == caller.today for id_, _ in failed)
    watcher = private.is_locked(os.path.join(vault.state_folder(), private.WATCHER_LOCK))
    schedules, tick = agent_settings.load_agents()[0].schedules, run_state.TICK.read(vault)
    return RunHealth(watcher, schedules, *tick, tuple(going_on), today, tuple(failed))


def _count_passages(vault: Vault, catalogue: Catalogue) -> int:
    """How many of the last 5,000 current records are passages that rules of earlier versions took."""
    wanted = CURRENT._replace(has_id=True, not_types=("session", "plan", "meeting"))
    rows = catalogue.find(wanted, "-date", _MAX_READ)
    # They had a confidence of .60 to .70; so hardly any other note is read.
    made = (
        row
        for row in rows
        if row.events
        and not (row.pinned or row.topic)
        and row.confidence is not None
        and 0.5 < row.confidence <= 0.7
    )
    mark, count = f"\n  layer: {PASSAGE_LAYER}\n".encode(), 0
    for row in made:
        with suppress(CortexError, OSError):  # told by doctor
            count += mark in files.read(vault.root, row.path)
    return count


def find_stale(catalogue: Catalogue, at: str) -> list[NoteRow]:
    """What is open, and unchanged for 30 days; the longest first."""
    is_open = CURRENT._replace(state="open")
    before = epoch_seconds(at) - _STALE_SECONDS
    return catalogue.find(is_open._replace(changed_before=before), "date")


def find_contradictions(catalogue: Catalogue) -> list[tuple[NoteRow, NoteRow]]:
    """The pairs of current records of which one says that it contradicts the other, or of whose titles
    one wants what the other refuses; each pair once, the newest first."""
    stated = catalogue.edges_of(CURRENT, ("contradicts",))
    targets = {edge.target for edges in stated.values() for edge in edges}
    current = {row.id: row for row in catalogue.find(CURRENT._replace(ids=targets))}
    sources = catalogue.rows_by_number(stated)
    found = [
        (sources[number], current[edge.target])
        for number, edges in stated.items()
        for edge in edges
        if edge.target in current
    ]
    chosen = CURRENT._replace(types=("decision", "rejection", "preference"), has_id=True)
    alike = defaultdict[tuple[str, ...], list[NoteRow]](list)
    for row in catalogue.find(chosen, "-date", _MAX_COMPARED):
        if words := directive_words(row.title):
            alike[row.project, *words].append(row)
    for rows in alike.values():
        pairs = combinations(rows[:_MAX_NOTES], 2)
        found += [pair for pair in pairs if contradicts(pair[0].title, pair[1].title)]
    once = {frozenset((one.number, other.number)): (one, other) for one, other in found}
    return sorted(once.values(), key=lambda pair: -max(pair[0].date, pair[1].date))


def _most_frequent(counts: dict[str, int]) -> dict[str, int]:
    return {key or "(none)": count for key, count in list(counts.items())[:_MAX_KINDS]}
