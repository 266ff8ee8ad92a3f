"""What type checkers and editors see of `cortex`, made from the verbs: CORTEX_UPDATE=1 of its test writes it."""

import os
from collections.abc import Iterable
from typing import Any, Literal, Protocol

from cortex.core.briefing.injected import BriefResult, Reminder
from cortex.core.model.problem import (
    AmbiguousNameError as AmbiguousNameError,
    ConflictError as ConflictError,
    CortexError as CortexError,
    InvalidInputError as InvalidInputError,
    NotFoundError as NotFoundError,
    Problem,
)
from cortex.core.runs.agent_note import Agent
from cortex.core.runs.prompt import Facet
from cortex.core.runs.run_config import RunConfig
from cortex.core.runs.run_note import RunRequest as RunRequest
from cortex.operations.care.calendar import Calendar
from cortex.operations.care.doctor import DoctorResult
from cortex.operations.care.embed import EmbedResult, RebuildResult
from cortex.operations.care.hooks import HooksResult
from cortex.operations.care.init import InitResult
from cortex.operations.care.review import ReviewResult
from cortex.operations.care.status import StatusResult
from cortex.operations.care.upgrade import UpgradeResult
from cortex.operations.distill.distill_plan import DistillResult
from cortex.operations.distill.extract import ExtractResult
from cortex.operations.exchange.export import ExportResult
from cortex.operations.exchange.import_ import ImportResult
from cortex.operations.find.actions import ActionHit, MeetingHit, PlanHit
from cortex.operations.find.changes import ChangeFeed
from cortex.operations.find.entities import EntityMentions, TopicListing
from cortex.operations.find.graph import NoteGraph
from cortex.operations.find.history import History
from cortex.operations.find.hits import Hit, Listing
from cortex.operations.find.recall import RecallResult
from cortex.operations.find.search import SearchResult
from cortex.operations.find.show import ShownNote
from cortex.operations.find.timeline import Timeline
from cortex.operations.projects.project import ProjectResult
from cortex.operations.projects.promote import PromoteResult
from cortex.operations.records.capture import CaptureAnswer
from cortex.operations.records.change_record import RecordChange
from cortex.operations.records.consolidate import ConsolidateResult
from cortex.operations.records.index_code import IndexResult
from cortex.operations.records.lifecycle import LifecyclePass, PruneResult
from cortex.operations.records.new import NewResult
from cortex.operations.records.relate import RelationChange
from cortex.operations.records.restore import RestoreResult, RetryResult
from cortex.operations.records.save import SaveResult
from cortex.operations.runs.agents import AgentsResult
from cortex.operations.runs.costs import CostsResult
from cortex.operations.runs.run import RunResult
from cortex.operations.runs.tick import TickResult
from cortex.operations.sessions.context import ContextResult
from cortex.operations.sessions.origin import Origin
from cortex.operations.sessions.reflect import ReflectResult
from cortex.operations.sessions.session_list import SessionResult
from cortex.operations.sessions.transcript import Transcript
from cortex.operations.share.erase_history import EraseResult
from cortex.operations.share.git import GitDriversResult, MergeResult
from cortex.operations.share.sync import SyncResult
from cortex.operations.upkeep.heal import HealResult
from cortex.operations.upkeep.normalize import NormalizeResult

__version__: str

class _Progress(Protocol):
    def __call__(self, what: str, done: int, total: int, /) -> object: ...

class Vault:
    """A vault, and each verb as a method."""

    def __init__(
        self, folder: str | os.PathLike[str] = "", *, cwd: str = "", progress: _Progress = ...
    ) -> None:
        """The vault at `folder`, else the one that a command would find in `cwd`."""

    @property
    def root(self) -> str:
        """The absolute path of the vault."""

    def actions(
        self,
        *,
        project: str = "",
        owner: str = "",
        overdue: bool = False,
        done: bool = False,
        number: int = 50,
    ) -> Listing[ActionHit]:
        """List what is to be done, overdue first."""

    def agents(
        self,
        action: Literal["list", "show", "check", "add"] = "list",
        name: str = "",
        *,
        prompt: bool = False,
    ) -> AgentsResult:
        """List the agents of the vault; show, check or add one."""

    def archive(
        self, id: str, *, reason: str = "", words: bool = False, yes: bool = False
    ) -> RecordChange:
        """Archive a record, by its name or by words that describe it."""

    def backlinks(self, note: str, *, number: int = 50) -> Listing[Hit]:
        """Show which notes link to a note, with the lines."""

    def brief(
        self,
        *,
        project: str = "",
        branch: str = "",
        budget: int = 1500,
        all_branches: bool = False,
        why: bool = False,
        print: bool = False,
        into: Literal["", "rules", "agents", "skill", "surface", "none"] = "",
    ) -> BriefResult:
        """Print what a session in this project needs to know."""

    def calendar(self, *, since: str | int | None = None, project: str = "") -> Calendar:
        """Show what was captured, decided, opened and done on each day."""

    def capture(
        self,
        text: str = "",
        *,
        type: str = "manual",
        content: str = "",
        session: str = "",
        project: str = "",
        branch: str = "",
        tags: Iterable[str] = (),
        id: str = "",
    ) -> CaptureAnswer:
        """Keep a text as an event in the inbox and print its id."""

    def changes(self, since: str = "") -> ChangeFeed:
        """List the notes added, changed or removed since a cursor."""

    def consolidate(
        self,
        ids: Iterable[str] | str | None = None,
        *,
        title: str = "",
        body: str = "",
        type: str = "",
        topic: str = "",
        keep: bool = False,
        project: str = "",
        least: float = 0.4,
        number: int = 20,
    ) -> ConsolidateResult:
        """Find records that may say the same, or make them one."""

    def context(self, *, project: str = "", branch: str = "", number: int = 20) -> ContextResult:
        """Show where work stood: last sessions, prompts, what matters."""

    def costs(
        self, *, by: Literal["agent", "model", "day"] = "agent", since: str | int | None = None
    ) -> CostsResult:
        """Show what runs of agents took: tokens, dollars, seconds."""

    def delete(self, id: str, *, hard: bool = False, yes: bool = False) -> RecordChange:
        """Delete a record; its file stays, with the status `deleted`."""

    def distill(
        self,
        sessions: Iterable[str] | None = None,
        *,
        since: str | int | None = None,
        all: bool = False,
        due: bool = False,
        again: bool = False,
        dry_run: bool = False,
        print_prompt: bool = False,
        answer: str | None = None,
        answer_text: str | None = None,
        topic: str = "",
        rollup: bool = False,
        project: str = "",
    ) -> DistillResult:
        """Have a model of your own summarize sessions as records."""

    def doctor(self, *, fix: bool = False) -> DoctorResult:
        """Report what is wrong with the vault, and how to fix it."""

    def done(self, id: str, *, undo: bool = False) -> RecordChange:
        """Tick a task, or mark an action as done."""

    def embed(self, *, dry_run: bool = False) -> EmbedResult:
        """Give passages vectors, to find notes by meaning."""

    def entities(
        self,
        name: str = "",
        *,
        note: str = "",
        kind: Literal[
            "file",
            "url",
            "package",
            "symbol",
            "person",
            "env_var",
            "cli_flag",
            "version",
            "error",
            "tag",
        ]
        | Literal[""] = "",
        number: int = 20,
    ) -> EntityMentions:
        """Show which notes mention a file, URL, package or symbol."""

    def erase(
        self,
        words: Iterable[str],
        *,
        history: bool = False,
        dry_run: bool = False,
        yes: bool = False,
    ) -> EraseResult:
        """Erase words, or a record with its events, for good."""

    def export(
        self,
        *,
        to: Literal["jsonl", "okf", "basic-memory", "sqlite", "html", "ics"] = "jsonl",
        output: str = "",
        project: str = "",
        since: str | int | None = None,
        type: Iterable[str] = (),
        force: bool = False,
    ) -> ExportResult:
        """Take the memory elsewhere: data, notes, a page, a calendar."""

    def extract(
        self,
        what: str = "",
        *,
        model: str = "",
        keep: bool = False,
        replay: bool = False,
        apply: bool = False,
        undo: bool = False,
    ) -> ExtractResult:
        """Show what extraction finds in a text, an event or a session."""

    def git(self, action: Literal["install", "remove", "status"]) -> GitDriversResult:
        """Register git's merge drivers here, remove or show them."""

    def graph(
        self,
        note: str,
        *,
        depth: int | None = None,
        to: str = "",
        kind: str = "",
        stated: bool = False,
        mermaid: bool = False,
        number: int = 200,
    ) -> NoteGraph:
        """Show what a note is connected to."""

    def heal(
        self,
        *,
        check: bool = False,
        prune_pages: bool = False,
        format: bool = False,
        apply: bool = False,
        undo: bool = False,
    ) -> HealResult:
        """Bring the briefings up to date with the notes."""

    def history(
        self, note: str = "", *, at: str = "", since: str | int | None = None, number: int = 20
    ) -> History:
        """Show the commits and texts of a note, or of the whole vault."""

    def hooks(
        self,
        action: Literal["install", "remove", "status"],
        hosts: Iterable[Literal["claude", "codex", "gemini", "cursor", "copilot", "windsurf"]]
        | str
        | None = None,
        *,
        project: bool = False,
        user: bool = False,
        shared: bool = False,
        dry_run: bool = False,
    ) -> HooksResult:
        """Wire Cortex into agents, so that what a session learns stays."""

    def import_(
        self,
        sources: Iterable[str] = (),
        *,
        since: str | int | None = None,
        project: str = "",
        all: bool = False,
        path: str = "",
        dry_run: bool = False,
    ) -> ImportResult:
        """Take over what other systems remember, or see what there is."""

    def index_code(
        self, path: Iterable[str], *, language: str = "", project: str = "", dry_run: bool = False
    ) -> IndexResult:
        """Remember source code: what files hold, and the code itself."""

    def init(
        self,
        directory: str = ".",
        *,
        default: bool = False,
        obsidian: bool = False,
        no_obsidian: bool = False,
        folder: str = "",
        no_git: bool = False,
        setup: bool = False,
        force: bool = False,
        wire: bool = False,
    ) -> InitResult:
        """Make a folder a vault; no note in it changes."""

    def lifecycle(self, *, dry_run: bool = False, number: int = 500) -> LifecyclePass:
        """Archive the records that have lost their importance."""

    def meetings(
        self, *, number: int = 20, since: str | int | None = None, project: str = ""
    ) -> Listing[MeetingHit]:
        """List meetings, newest first, with what came of each."""

    def merge(self, base: str, ours: str, theirs: str, *, explain: bool = False) -> MergeResult:
        """Merge three versions of a record as git would with Cortex."""

    def mv(self, old: str, new: str, *, dry_run: bool = False) -> RecordChange:
        """Rename or move a note, and change every link to it."""

    def new(
        self,
        type: str,
        title: str = "",
        *,
        project: str = "",
        tags: Iterable[str] = (),
        body: str = "",
    ) -> NewResult:
        """Begin a record, or the note of today, from a template."""

    def normalize(self, *, dry_run: bool = False) -> NormalizeResult:
        """Turn the events of the inbox into records."""

    def origin(self, note: str) -> Origin:
        """Show where a note came from, down to the sentence."""

    def pin(self, id: str, *, remove: bool = False) -> RecordChange:
        """Pin a record: it never decays nor is archived by itself."""

    def plan(
        self,
        *,
        project: str = "",
        branch: Iterable[str] = (".",),
        all: bool = False,
        number: int = 5,
    ) -> Listing[PlanHit]:
        """Show plans, and which of their steps are done."""

    def project(
        self,
        action: Literal["list", "show", "merge", "unmerge"] = "list",
        a: str = "",
        b: str = "",
        *,
        yes: bool = False,
    ) -> ProjectResult:
        """List projects, show one, or make two of them one."""

    def promote(self, note: str, *, keep: bool = False) -> PromoteResult:
        """Move a record to your own vault, for every project."""

    def prune(self, *, dry_run: bool = False, yes: bool = False, number: int = 500) -> PruneResult:
        """Hide what has been archived for 90 days, if you say --yes."""

    def rebuild(self, *, cores: int = 0) -> RebuildResult:
        """Build the search index anew from the notes."""

    def recall(
        self,
        query: str = "",
        *,
        scope: str = "",
        project: str = "",
        since: str | int | None = None,
        as_of: str | int | None = None,
        type: Iterable[str] = (),
        number: int = 10,
        all: bool = False,
        relation: str = "",
        branch: Iterable[str] = (),
        by: Literal["", "rank", "salience", "date"] = "",
    ) -> RecallResult:
        """Recall what matters most: current records with a preview."""

    def reflect(
        self,
        *,
        scope: str = "project",
        since: str | int | None = None,
        style: Literal["", "brief", "full"] = "",
        save: str = "",
    ) -> ReflectResult:
        """Gather what some days were about, or keep a reflection."""

    def relate(self, record: str, kind: str, other: str, *, remove: bool = False) -> RelationChange:
        """Relate a record to another note, or remove a relation."""

    def remind(
        self,
        prompt: str,
        *,
        session: str = "",
        project: str = "",
        branch: str = "",
        number: int | None = None,
    ) -> Reminder:
        """Print what the vault knows about a prompt, if anything."""

    def reset(self, *, memory: bool = False, project: str = "", yes: bool = False) -> EraseResult:
        """Make everything anew that is derived from the notes."""

    def restore(self, ids: Iterable[str] | str, *, at: str = "") -> RestoreResult:
        """Bring back what was archived, deleted, superseded or pruned."""

    def retry(self, event: str) -> RetryResult:
        """Move a failed event back into the inbox."""

    def review(self, *, number: int = 20) -> ReviewResult:
        """List what waits for a person's look."""

    def revise(
        self,
        id: str,
        *,
        title: str = "",
        body: str = "",
        type: str = "",
        topic: str = "",
        status: Literal["", "active", "open", "done", "archived", "withdrawn", "deleted"] = "",
        reason: str = "",
        tags: Iterable[str] | None = None,
        add_tags: Iterable[str] = (),
        remove_tags: Iterable[str] = (),
        project: str = "",
        scope: Literal["", "project", "personal", "global"] = "",
        owner: str = "",
        due: str = "",
        confidence: float | Literal["none"] | None = None,
        priority: int | Literal["none"] | None = None,
        branch: str = "",
        reviewed: bool = False,
        unreviewed: bool = False,
        version: str = "",
    ) -> RecordChange:
        """Correct, withdraw or finish a record."""

    def run(
        self,
        action: Literal["start", "continue", "stop", "show", "follow", "list", "work"],
        name: str = "",
        prompt: str = "",
        *,
        provider: str = "",
        model: str = "",
        tier: Literal["", "pro", "flash", "lite"] = "",
        facet: str = "",
        day: str = "",
        segment: str = "",
        span: Iterable[str] = (),
        output: Literal["", "md", "json"] = "",
        output_path: str = "",
        refresh: bool = False,
        max_output_tokens: int = 0,
        thinking_budget: int = 0,
        env: Iterable[str] | None = None,
        session_id: str = "",
        chat_id: str = "",
        reason: str = "",
        from_: int = 0,
        status: str = "",
        number: int = 20,
    ) -> RunResult:
        """Have an agent do something, in a process of its own."""

    def save(
        self,
        title: str,
        *,
        type: str = "",
        what: str = "",
        why: str = "",
        where: str = "",
        learned: str = "",
        body: str = "",
        topic: str = "",
        project: str = "",
        scope: Literal["", "project", "personal", "global"] = "",
        tags: Iterable[str] = (),
        session: str = "",
        confidence: float | None = None,
        priority: int | None = None,
        owner: str = "",
        due: str = "",
        derived_from: Iterable[str] = (),
        supersedes: Iterable[str] = (),
        learnings: bool = False,
        source: str = "",
    ) -> SaveResult:
        """Save what was learned as a record, at once."""

    def search(
        self,
        query: str = "*",
        *,
        type: Iterable[str] = (),
        tag: Iterable[str] = (),
        project: Iterable[str] = (),
        branch: Iterable[str] = (),
        status: Iterable[str] = (),
        after: str | int | None = None,
        before: str | int | None = None,
        number: int = 10,
        all: bool = False,
        whose: Literal["", "project", "personal", "both"] = "",
        words_only: bool = False,
        similar_to: str = "",
        explain: bool = False,
        alpha: float = 0.72,
        k: int = 0,
    ) -> SearchResult:
        """Find notes by words and meaning; without any the newest."""

    def session(
        self,
        action: Literal["start", "end", "list", "show"],
        name: str = "",
        *,
        project: str = "",
        goal: str = "",
        instructions: str = "",
        discoveries: str = "",
        accomplished: str = "",
        next_steps: str = "",
        files: str = "",
        summary: str = "",
        directory: str = "",
        orphans: bool = False,
        number: int = 10,
        since: str | int | None = None,
    ) -> SessionResult:
        """Begin or end a session, list sessions, or show one."""

    def show(self, note: str, *, why: bool = False, branch: str = "") -> ShownNote:
        """Show a note whole, or explain how much it matters."""

    def status(self, *, branch: str = "") -> StatusResult:
        """Show what the vault holds, what is open, what needs a look."""

    def supersede(self, old: str, *, by: str = "", reason: str = "") -> RecordChange:
        """Mark a record as no longer true, and name its replacement."""

    def sync(
        self,
        *,
        no_push: bool = False,
        yes: bool = False,
        only_records: bool = False,
        follow: bool = False,
        publish: Iterable[str] = (),
        every: str | None = None,
    ) -> SyncResult:
        """Commit notes and records, merge what others pushed, push."""

    def tick(self, *, dry_run: bool = False) -> TickResult:
        """Run the agents that are due by their schedules."""

    def timeline(self, note: str = "", *, number: int = 5, all: bool = False) -> Timeline:
        """Show what was noted just before and just after a note."""

    def topic(self, title: str = "", *, type: str = "", project: str = "") -> TopicListing:
        """List the topics, or suggest one for a title."""

    def transcript(
        self, session: str, *, find: str = "", from_: int = 1, number: int = 50
    ) -> Transcript:
        """Read the turns of a session, as its transcript has them."""

    def trust(self, names: Iterable[str] | None = None, *, all: bool = False) -> AgentsResult:
        """Show what agents are told, or trust them as they are now."""

    def update(
        self,
        id: str,
        *,
        title: str = "",
        body: str = "",
        type: str = "",
        topic: str = "",
        status: Literal["", "active", "open", "done", "archived", "withdrawn", "deleted"] = "",
        reason: str = "",
        tags: Iterable[str] | None = None,
        add_tags: Iterable[str] = (),
        remove_tags: Iterable[str] = (),
        project: str = "",
        scope: Literal["", "project", "personal", "global"] = "",
        owner: str = "",
        due: str = "",
        confidence: float | Literal["none"] | None = None,
        priority: int | Literal["none"] | None = None,
        branch: str = "",
        reviewed: bool = False,
        unreviewed: bool = False,
        version: str = "",
    ) -> RecordChange:
        """Correct, withdraw or finish a record."""

    def upgrade(self, *, dry_run: bool = False, force: bool = False) -> UpgradeResult:
        """Bring a vault's format and index to the newest."""

_AnyVault = Vault | str | os.PathLike[str]

def get_agent(vault: _AnyVault, name: str) -> Agent: ...
def get_facet(vault: _AnyVault, name: str) -> Facet: ...
def get_talent_configs(
    vault: _AnyVault,
    type: Literal["cogitate", "generate"] | None = None,
    schedule: str | None = None,
) -> dict[str, Agent]: ...
def prepare_config(vault: _AnyVault, request: RunRequest) -> RunConfig: ...
def validate_config(config: RunConfig) -> list[Problem]: ...
def cortex_request(vault: _AnyVault, prompt: str, name: str = "default", **options: Any) -> str: ...
def wait_for_runs(
    vault: _AnyVault, ids: Iterable[str], timeout: float = 600.0
) -> dict[str, str]: ...
def search(
    conn: Vault | str | os.PathLike[str], query: str, limit: int = 10, **options: Any
) -> list[Hit]:
    """The notes that `search` of a vault finds; `conn` is a `Vault` or its path."""

def search_decisions(
    conn: Vault | str | os.PathLike[str], query: str, limit: int = 10, **options: Any
) -> list[Hit]:
    """The same of decisions and rejections alone."""

def search_similar(
    conn: Vault | str | os.PathLike[str], query: str, limit: int = 5, **options: Any
) -> list[Hit]:
    """The same by meaning alone, of a text: the vault's model makes its vector."""

def hybrid_search(
    conn: Vault | str | os.PathLike[str],
    query: str,
    limit: int = 10,
    alpha: float = 0.5,
    **options: Any,
) -> list[Hit]:
    """The same by words and meaning; `alpha` is what meaning counts, 0 to 1."""
