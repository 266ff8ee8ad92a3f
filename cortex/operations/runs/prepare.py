"""From a request to all that its run is given. What is sent follows from the vault and the time alone."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.layout import OWN_FOLDERS
from cortex.core.model.note_status import RAW_CODE
from cortex.core.model.problem import CortexError, InvalidInputError, Problem
from cortex.core.notes import note as notes
from cortex.core.ranking import query as queries
from cortex.core.ranking.note_score import MEANING_SHARE, Fusion
from cortex.core.runs import agent_note, prompt
from cortex.core.runs.agent_note import DEFAULT_NAME, Agent
from cortex.core.runs.prompt import Facet
from cortex.core.runs.run_config import DISABLED, NO_INPUT, NOT_TRUSTED, READ_TOOLS, RunConfig
from cortex.core.runs.run_note import FINISHED, RunRequest
from cortex.core.runs.schedule import is_meeting
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import slugify
from cortex.index.catalogue.filters import TRAIL
from cortex.index.refresh import IndexSession
from cortex.operations.capture.project_context import with_project_names
from cortex.operations.find.best_notes import SearchRequest, find_best
from cortex.operations.find.hits import read_text
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.preserve_text import load_event
from cortex.vault import agent_settings, files, foreign_settings, templates, trust, user_settings
from cortex.vault.agent_settings import AgentSettings
from cortex.vault.layout import portability_problem
from cortex.vault.locate import Vault, is_own
from cortex.vault.runs import run_files

OUTPUT_FOLDER = "runs/output"
MAX_PROMPT_BYTES = 9_000_000  # of all that is sent: the program of one provider takes 10 MB
_MAX_FACET_BYTES, _MAX_RECORD_CHARS, _MAX_PREVIOUS_CHARS = 64 * 1024, 4_000, 20_000
_MAX_RUNS_LOOKED_AT = 1_000  # for the previous output
IS_CAPTURED = TRAIL._replace(not_types=("briefing", "run", events.DISTILLED), has_id=True)  # fmt: skip
_KEPT_AS_ASKED = ("prompt", "thinking_budget", "session_id", "chat_id", "facet", "segment", "span")
_DAY_RE, _SEGMENT_RE = lazy_re("[0-9]{8}"), lazy_re("[0-9]{6}_[0-9]{1,6}")
_KEPT_FOLDERS = tuple(f"{one}/" for one in (*OWN_FOLDERS, agent_note.FOLDER, run_files.RUNS))
_INSTRUCTIONS = {path.casefold() for path in foreign_settings.AGENT_PATHS}


def get_agent(vault: Vault, name: str, data: bytes | None = None) -> Agent:
    """The agent of a note, which may have been read, or the one that needs none. Raises `NotFoundError`,
    and `InvalidInputError` with its first problem."""
    if name == DEFAULT_NAME:
        return Agent(DEFAULT_NAME)
    data = trust.read_agent_file(vault, name) if data is None else data
    agent, problems = agent_note.read_agent(data, trust.agent_path(vault, name))
    if problems:
        raise InvalidInputError(f"{problems[0].where}: {problems[0].message}", problems[0].hint)
    return agent


def get_talent_configs(vault: Vault, type: str | None = None, schedule: str | None = None) -> dict[str, Agent]:  # fmt: skip
    """The agents that can be run, by name: of a type (`generate`: those that make a text of captured
    events without tools; `cogitate`: the others), with a schedule."""
    found = {}
    for name in trust.list_agents(vault):
        with suppress(CortexError, OSError):
            agent = get_agent(vault, name)
            kind = "generate" if agent.is_generator else "cogitate"
            if type in (None, kind) and schedule in (None, agent.schedule):
                found[name] = agent
    return found


def get_facet(vault: Vault, name: str) -> Facet:
    """The facet of a note. Raises `NotFoundError`, `InvalidInputError`."""
    if not events.is_project_name(name):
        raise InvalidInputError(f"{name[:80]!r} is no name of a facet", "use lower-case letters")
    path = vault.layout().path(f"facets/{name}.md")
    note = notes.read(files.read(vault.root, path, _MAX_FACET_BYTES))
    muted, text = note.fields.get("muted") is True, note.text_below_title.strip()
    return Facet(name, note.title or name, muted, text)


def list_facets(vault: Vault) -> list[Facet]:
    """The facets of a vault that can be read, by name."""
    found = []
    for name in files.list_notes(vault.root, vault.layout().path("facets")):
        with suppress(CortexError, OSError):
            found.append(get_facet(vault, name[:-3]))
    return found


def prepare_config(vault: Vault, caller: Caller, request: RunRequest) -> RunConfig:
    """All that the run of a request is given; `skipped` says why nothing is to be started. Raises
    `CortexError` for an agent with problems, and for what the request or the settings get wrong."""
    settings = agent_settings.load_agents()[0]
    data, base, is_trusted = trust.read(vault, request.agent)
    agent = get_agent(vault, request.agent, data)
    day = check_request(agent, request, caller.now, settings)
    provider, tier, model = agent_settings.resolve_model(
        settings, agent.name, request.provider or agent.provider,
        request.tier or (agent.tier if not request.model else ""), request.model,
    )  # fmt: skip
    output = request.output or agent.output
    bounds = _bounds(day, request)
    found = _captured(vault, caller, bounds, request.facet) if agent.is_generator else []
    period = {"CORTEX_FACET": request.facet, "CORTEX_DAY": day, "CORTEX_SEGMENT": request.segment}
    skipped = {
        NOT_TRUSTED: not is_trusted,
        DISABLED: agent.disabled,
        NO_INPUT: agent.is_generator and not found,
    }
    shared = notes.read(base or templates.read_template("agents/journal.md").encode())
    return RunConfig(
        **{name: getattr(request, name) for name in _KEPT_AS_ASKED},
        agent_id="", name=agent.name, provider=provider, model=model, tier=tier, day=day,
        system_instruction=shared.text.strip(),
        extra_context=_context(vault, caller, agent, request._replace(day=day), found),
        user_instruction=agent.prompt, tools=agent.tools, output=output,
        output_path=output_path(vault, request, day, output),
        max_output_tokens=request.max_output_tokens or agent.max_tokens,
        timeout=agent.timeout, idle=settings.idle, max_cost_usd=agent.max_cost_usd,
        env={**dict(agent.env), **{name: value for name, value in period.items() if value}},
        skipped=next((why for why, is_so in skipped.items() if is_so), ""),
    )  # fmt: skip


def _context(vault: Vault, caller: Caller, agent: Agent, request: RunRequest, found: list[Event]) -> str:  # fmt: skip
    """What the agent is told beside prompts."""
    facet = get_facet(vault, request.facet) if request.facet else None
    facets = [f"{one.name} ({one.title}{', muted' * one.muted})" for one in list_facets(vault)]
    makers = get_talent_configs(vault, "generate").values()
    facts = {
        "Vault": os.path.join(vault.root, vault.layout().folder) if agent.tools == READ_TOOLS else "",
        "Now": f"{local_time(caller.now):%A, %d %B %Y, %H:%M %z}", "Day": request.day,
        "Segments": ", ".join(request.span) or request.segment, "Facet": f"{facet.name} ({facet.title})" if facet else "",
        "Facets": ", ".join(facets),
        "Generators": ", ".join(f"{one.name} ({one.title or one.name})" for one in makers),
    }  # fmt: skip
    parts = [
        *([(f"Facet {facet.name}", facet.text)] if facet else ()),
        *(_loaded(vault, caller, agent.load) if agent.load else ()),
        ("Events captured", prompt.join_events(found, lambda one: f"{local_time(one.at):%H:%M}")),
        ("Your previous output", _previous_output(vault, agent.name, request)),
    ]
    return prompt.compose_context(facts, parts)


def validate_config(config: RunConfig) -> list[Problem]:
    """What keeps a run from being started with this."""
    texts = config.system_instruction, config.extra_context, config.user_instruction, config.prompt
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)
    wrong = {
        "nothing is asked": not (config.user_instruction or config.prompt).strip(),
        f"{size:,} bytes are to be sent, over {MAX_PROMPT_BYTES:,}": size > MAX_PROMPT_BYTES,
        "no provider and model answer": not (config.provider and config.model),
        "timeout is out of bounds": not 0 < config.timeout <= agent_note.MAX_TIMEOUT_SECONDS,
        "output is neither md nor json": config.output not in ("", *agent_note.OUTPUTS),
        "the output has no place": bool(config.output) != bool(config.output_path),
    }
    return [Problem(config.name, one, "cortex agents check") for one in wrong if wrong[one]]


def check_request(agent: Agent, request: RunRequest, now: str, settings: AgentSettings) -> str:
    """The day that a run is about, YYYYMMDD. Raises `InvalidInputError` for a day, a segment or a
    variable of the agent's that cannot be."""
    for name, _ in agent.env:
        if fault := agent_note.env_fault(name, settings.env):
            hint = f'take it out; if it is allowed at all: env = ["{name}"] below [agents]'
            raise InvalidInputError(fault, f"{hint} in {user_settings.settings_file()}")
    day = request.day or f"{local_time(now):%Y%m%d}"
    _bounds(day, request)
    return day


def _bounds(day: str, request: RunRequest) -> list[tuple[float, float]]:
    """The stretches of local time that a run is about, as seconds since the epoch, both included."""
    spans = [one for one in request.span or (request.segment,) if one]
    try:
        if not _DAY_RE.fullmatch(day) or not all(map(_SEGMENT_RE.fullmatch, spans)):
            raise ValueError
        begin = datetime.strptime(day, "%Y%m%d")  # noqa: DTZ007  local, as people name days
        if not spans:
            return [(begin.timestamp(), (begin + timedelta(days=1)).timestamp() - 1)]
        pairs = ((day + one[:6], int(one[7:])) for one in spans)
        starts = ((datetime.strptime(at, "%Y%m%d%H%M%S").timestamp(), n) for at, n in pairs)  # noqa: DTZ007
        return [(start, start + length) for start, length in starts]
    except ValueError:
        hint = "a day is YYYYMMDD, a segment HHMMSS_seconds: 20261120, 101500_1260"
        raise InvalidInputError(f"{day} {' '.join(spans)} is no day or segment", hint) from None


def _captured(vault: Vault, caller: Caller, bounds: list[tuple[float, float]], facet: str) -> list[Event]:  # fmt: skip
    """The events that were captured then, of a facet if one is given; oldest first."""
    since, until = int(min(bounds)[0]), int(max(end for _, end in bounds)) + 1
    wanted = IS_CAPTURED._replace(changed_since=since, changed_before=until)
    rows = query_fresh(vault, caller, lambda index: index.catalogue.find(wanted, "date"))[0]
    inside = (row for row in rows if any(start <= row.date <= end for start, end in bounds))
    picked = (row.path for row in inside if facet in ("", row.project, *row.tags))
    return [one for path in picked if (one := load_event(vault, path)) and one.record != RAW_CODE]


def local_time(time: str) -> datetime:
    """Local time for a UTC one."""
    return datetime.fromtimestamp(epoch_seconds(time), UTC).astimezone()


def _loaded(vault: Vault, caller: Caller, load: str) -> list[tuple[str, str]]:
    """The records that an agent is given: names and texts."""
    query, number = agent_note.parse_load(load)
    parsed = with_project_names(vault, queries.parse(query, caller.now, caller.zone))
    wanted = SearchRequest(parsed, query, number, False, Fusion(MEANING_SHARE, 0), "", False)

    def find(index: IndexSession) -> list[tuple[str, str]]:
        best = find_best(vault, index, wanted).rows
        rows = [one.row for one in best if one.row.type != RAW_CODE]
        texts = [(f"Note {row.id}", read_text(vault, row)[:_MAX_RECORD_CHARS]) for row in rows]
        # What comes of it is shared as the vault is.
        read = ((one, notes.read(one[1].encode("utf-8", "replace"))) for one in texts)
        return [one for one, note in read if is_own(vault) or not notes.scope_of_one_person(note)]

    return query_fresh(vault, caller, find, words=True)[0]


def _previous_output(vault: Vault, agent: str, request: RunRequest) -> str:
    """What the last finished run of an agent and a facet answered; empty without one, and where a chat
    goes on or nobody says what the runs have in common."""
    if agent == DEFAULT_NAME or request.session_id:
        return ""
    for id_ in islice(run_files.list_ended(vault), _MAX_RUNS_LOOKED_AT):
        with suppress(CortexError, OSError):
            head = run_files.read_head(vault, id_)
            told = [head.get(key) for key in ("agent", "facet", "status")]
            if told == [agent, request.facet, FINISHED]:
                run = run_files.find_run(vault, id_)
                said = run_files.load_event(vault, run, run.events[-1]).get("result")
                return str(said or "")[:_MAX_PREVIOUS_CHARS]
    return ""


def output_path(vault: Vault, request: RunRequest, day: str, output: str) -> str:
    """Where the output goes, vault-relative; empty without one. Raises `InvalidInputError`."""
    path, layout = request.output_path, vault.layout()
    if not output:
        return ""
    if not path:
        # A day, a week and a segment have a folder of their own; an hour, a cron and a meeting have none.
        more = "T" in request.period or is_meeting(request.period)
        name = "-".join(
            filter(None, [request.agent, request.facet, slugify(request.period) if more else ""])
        )
        path = f"{OUTPUT_FOLDER}/{day}/{request.segment or 'agents'}/{name}.{output}"
        return layout.path("/".join(files.checked_parts(path)))
    *_, name = parts = files.checked_parts(path.casefold())
    below = path.casefold().removeprefix(layout.path("").casefold())
    is_wrong = not name.endswith((".md", ".json")) or not path.isprintable() or bool(portability_problem(path))  # fmt: skip
    is_ours = below.startswith(_KEPT_FOLDERS) and not below.startswith(f"{OUTPUT_FOLDER}/")
    if is_wrong or is_ours or name in _INSTRUCTIONS or any(part[0] == "." for part in parts):
        hint = "name a .md or .json file that is nobody's settings, outside the folders of Cortex"
        raise InvalidInputError(f"{path[:200]!r} is no place for an output", hint)
    return path
