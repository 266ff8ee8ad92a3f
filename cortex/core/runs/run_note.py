"""The note of a run: what was asked, a log with one line an event, what came of it.

While a run is active, its events say how it stands; the frontmatter is written when it is requested and
once more when it has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cortex.core.model.layout import ACTIVE
from cortex.core.notes import note as notes
from cortex.core.runs.run_event import TERMINAL, RunEvent, encode_line, is_shown_whole, parse_line
from cortex.core.text import yaml_writer
from cortex.core.text.days import UTC, Zone, clock
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

REQUESTED, RUNNING, FINISHED, FAILED, SKIPPED, STOPPED = (
    "requested", "running", "finished", "failed", "skipped", "stopped",
)  # fmt: skip
ENDED = (FINISHED, FAILED, SKIPPED, STOPPED)
# Of usage in events -> of a state.
USAGE_FIELDS = {"input": "tokens_in", "output": "tokens_out", "cached": "tokens_cached"}
UNKNOWN = "unknown"  # what a run cost, where nobody says
_RUN_ID_RE = lazy_re(r"run-(\d{4})(\d\d)(\d\d)t\d{6}z-[0-9a-f]{6}")
_LOG, _RESULT = "## Log", "## Result"


class RunRequest(NamedTuple):
    """What is asked of an agent."""

    agent: str  # the name of a note in agents/, or `default`
    prompt: str = ""
    provider: str = ""  # empty: of the agent, then of the user's settings; so are model and tier
    model: str = ""
    tier: str = ""
    facet: str = ""
    day: str = ""  # YYYYMMDD
    segment: str = ""  # HHMMSS_seconds
    span: tuple[str, ...] = ()  # segments that follow each other
    period: str = ""  # of a scheduled run: 2026-11-20, 2026-W47
    output: str = ""  # md or json
    output_path: str = ""  # below the vault
    refresh: bool = False  # also where there is an output
    max_output_tokens: int = 0  # 0: as the agent's note says
    thinking_budget: int = 0
    env: tuple[str, ...] = ()  # names; the values wait in the state folder
    session_id: str = ""  # of the program's own session, which is continued
    chat_id: str = ""
    parent: str = ""  # the id of the run that is continued
    requested_by: str = ""  # cli, mcp, http, page, python, schedule


class RunState(NamedTuple):
    """How a run stands, by its events."""

    status: str
    provider: str = ""
    model: str = ""
    tier: str = ""
    session_id: str = ""
    started: str = ""
    ended: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost_usd: float | None = None
    result: str = ""
    error: str = ""  # or why it was skipped or stopped
    running_tools: tuple[str, ...] = ()
    tool_seconds: Mapping[str, float] = {}  # by call id
    thinking: int = 0  # how many events of its kind

    @property
    def seconds(self) -> float:
        """From start to end; 0 if it has not done both, or a clock went back."""
        return max(0.0, _seconds(self.ended) - _seconds(self.started)) if self.started and self.ended else 0.0  # fmt: skip


class Run(NamedTuple):
    """A run as its note tells it."""

    id: str
    path: str  # vault-relative
    request: RunRequest
    created: str
    output: str
    events: tuple[RunEvent, ...]
    state: RunState


def make_run_id(now: str, chance: bytes) -> str:
    """`run-20261120t171643z-0193ee` from a UTC time and at least 3 random bytes."""
    return f"run-{now.replace('-', '').replace(':', '').lower()}-{chance[:3].hex()}"


def is_run_id(text: str) -> bool:
    """True for the id of a run."""
    return _RUN_ID_RE.fullmatch(text) is not None


def is_closed(status: str, path: str) -> bool:
    """True if a run has ended and its note lies where it stays: it is active for a moment after its
    terminal event."""
    return status in ENDED and f"/{ACTIVE}/" not in f"/{path}"


def sealed_path(id_: str) -> str:
    """Where the note of a run lies in a vault when the run has ended."""
    found = _RUN_ID_RE.fullmatch(id_)
    assert found is not None
    return f"runs/{found[1]}/{found[2]}/{id_}.md"


def fold(events: Iterable[RunEvent]) -> RunState:
    """How a run stands after these events; what follows the first terminal one counts for nothing."""
    found: dict[str, Any] = {"status": REQUESTED}
    begun: dict[str, tuple[str, str]] = {}  # call id -> tool, time
    seconds: dict[str, float] = {}
    thinking = 0
    for event in events:
        kind = event["event"]
        for key in ("provider", "model", "tier", "session_id"):
            if isinstance(value := event.get(key), str) and value:
                found[key] = value
        found |= _usage_of(event)
        if kind == "request":
            found["session_id"] = ""  # that of the run before
        elif kind == "start":
            found["status"] = RUNNING
            found.setdefault("started", str(event.get("ts", "")))
        elif kind == "tool_start":
            begun[_call_of(event)] = str(event.get("tool", "")), str(event.get("ts", ""))
        elif kind == "tool_end" and _call_of(event) in begun:
            since = begun.pop(_call_of(event))[1]
            seconds[_call_of(event)] = max(0.0, _seconds(str(event.get("ts", ""))) - _seconds(since))  # fmt: skip
        thinking += kind == "thinking"
        if kind in TERMINAL:
            found |= _ending(event)
            begun.clear()
            break
    names = tuple(tool for tool, _ in begun.values())
    return RunState(**found, running_tools=names, tool_seconds=seconds, thinking=thinking)


def _ending(event: RunEvent) -> dict[str, Any]:
    """What a terminal event says of its run."""
    ended = {"ended": str(event.get("ts", ""))}
    if event["event"] == "error":
        status = STOPPED if event.get("reason") == STOPPED else FAILED
        return {**ended, "status": status, "error": str(event.get("error", ""))}
    if skipped := event.get("skipped"):
        return {**ended, "status": SKIPPED, "error": str(skipped)}
    result = event.get("result")
    return {**ended, "status": FINISHED, "result": result if isinstance(result, str) else ""}


def _usage_of(event: RunEvent) -> dict[str, Any]:
    usage, cost = event.get("usage"), event.get("cost_usd")
    found: dict[str, Any] = {}
    for key, name in USAGE_FIELDS.items():
        value = usage.get(key) if isinstance(usage, dict) else None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
            found[name] = int(value)
    if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e9:
        found["cost_usd"] = round(float(cost), 6)
    return found


def _call_of(event: RunEvent) -> str:
    return str(event.get("call_id") or event.get("tool") or "")


def _seconds(time: str) -> float:
    """Seconds since the epoch of an event's time, with its milliseconds."""
    millis = time[20:23]
    return epoch_seconds(time) + (int(millis) / 1000 if millis.isdecimal() else 0.0)


def compose_request(
    id_: str, request: RunRequest, event: RunEvent, now: str, zone: Zone = UTC
) -> bytes:
    """The note of a run that was asked for, to which events are appended."""
    asked = request.prompt.strip() or f"As [[agents/{request.agent}|{request.agent}]] says."
    # In a quote no fence and no comment that is left open takes in what follows.
    asked = "\n".join(f"> {line}".rstrip() for line in asked.splitlines())
    head = _frontmatter(id_, request, fold([event]), now, "")
    shown = clock(now, zone)[:16].replace("T", " ")
    title = f"# {request.agent}, {shown}"
    return f"{head}\n{title}\n\n## Prompt\n\n{asked}\n\n{_LOG}\n\n{encode_line(event)}".encode()


def compose_sealed(data: bytes, events: Sequence[RunEvent], result: str, output: str) -> bytes:
    """The note of a run that has ended, made of its active note: frontmatter as the events say, each
    event once, and below them the result, unless it is an error that the log shows whole. What a person
    has written into it stays."""
    run = read_run(data, f"{events[-1]['agent_id']}.md")
    note = notes.read(data)
    lines = note.text.splitlines(keepends=True)
    own = {event["seq"] for line in lines if (event := parse_line(line))}
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    last = max((at for at, line in enumerate(lines) if parse_line(line)), default=len(lines) - 1)
    missing = [encode_line(event) for event in events if event["seq"] not in own]
    lines[last + 1 : last + 1] = missing
    said = result.strip()
    is_logged = said == str(events[-1].get("error", "")).strip() and is_shown_whole(said)
    if said and not is_logged:
        lines += ["\n", f"{_RESULT}\n", "\n", f"{said}\n"]
    head = _frontmatter(run.id, run.request, fold(events), run.created, output)
    return (head + "".join(lines)).encode("utf-8", "replace")


def _frontmatter(id_: str, request: RunRequest, state: RunState, created: str, output: str) -> str:
    """The properties of a run, flat; empty ones are left out."""
    cost = UNKNOWN if state.cost_usd is None and state.status != REQUESTED else state.cost_usd
    fields: dict[str, object] = {
        "id": id_, "type": "run", "agent": request.agent, "provider": state.provider or request.provider,
        "model": state.model or request.model, "tier": state.tier or request.tier, "facet": request.facet,
        "period": request.period or request.day, "segment": request.segment, "span": request.span,
        "status": state.status, "requested_by": request.requested_by, "parent": request.parent,
        "session_id": state.session_id or request.session_id, "chat_id": request.chat_id,
        "tokens_in": state.tokens_in, "tokens_out": state.tokens_out,
        "tokens_cached": state.tokens_cached, "cost_usd": cost, "seconds": round(state.seconds, 1),
        "output": f"[[{output}]]" if output and "/" not in output else output, "created": created,
    }  # fmt: skip
    lines = []
    for key, value in fields.items():
        if isinstance(value, int | float) and value:
            number = f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else value
            lines.append(f"{key}: {number}")
        elif isinstance(value, str | tuple) and value:
            lines += yaml_writer.field_lines(key, value)
    return "\n".join(["---", *lines, "---", ""])


def read_run(data: bytes, path: str) -> Run:
    """The run of a note, also of one that is cut off. Its id is its name, whatever it says. Only events
    with that id count, the first of each number, up to the first terminal one."""
    note = notes.read(data, path)
    id_ = path.rpartition("/")[2].removesuffix(".md")
    found: dict[int, RunEvent] = {}
    for line in note.text.splitlines():
        event = parse_line(line)
        if event and event.get("agent_id") == id_:
            found.setdefault(event["seq"], event)
    ordered = [found[seq] for seq in sorted(found)]
    end = next((at for at, one in enumerate(ordered, 1) if one["event"] in TERMINAL), None)
    events = tuple(ordered[:end])
    asked = events[0] if events and events[0]["event"] == "request" else {}
    state = fold(events)
    request = _request_of(asked, note)
    return Run(
        id_, path, request, note.get("created"), note.get("output").strip("[]"), events, state
    )


def _request_of(event: Mapping[str, Any], note: notes.Note) -> RunRequest:
    """The request as its event tells it; of a note without one what its properties say."""
    values: dict[str, Any] = {}
    for field, default in RunRequest("")._asdict().items():
        value = event.get(field)
        if isinstance(default, tuple):
            values[field] = tuple(map(str, value)) if isinstance(value, list) else ()
        else:
            values[field] = value if type(value) is type(default) else default
    values["agent"] = values["agent"] or note.get("agent")
    return RunRequest(**values)
