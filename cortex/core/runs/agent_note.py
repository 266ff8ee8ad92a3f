"""An agent as its note `agents/<name>.md` says: frontmatter for how it runs, the body is its prompt.
A key that is not understood is a problem, and an agent with a problem does not run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.model.record import RECORD_TYPES
from cortex.core.notes import note as notes
from cortex.core.notes.yaml_subset import FieldValue
from cortex.core.ranking import query as queries
from cortex.core.runs.run_config import NO_TOOLS, READ_TOOLS, TIERS, TOOLS
from cortex.core.runs.schedule import SCHEDULES, parse_schedule
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import RESERVED_STEMS, one_of
from cortex.core.text.value import NamedTuple

FOLDER = "agents"
BASE_NAME, DEFAULT_NAME = "journal", "default"  # the shared base prompt; the agent without a note
MAX_AGENT_BYTES = 256 * 1024
OUTPUTS = ("md", "json")
MAX_TIMEOUT_SECONDS = 24 * 3600.0
_MAX_LOADED, _LOADED = 100, 20  # records that `load` brings: at the most, without `number:`

NAME_HINT = "use lower-case letters, digits and `-`, such as weekly-review; no reserved word"
_NAME_RE = lazy_re(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
_LOAD_NUMBER_RE = lazy_re(r"(?:^|\s)number:([0-9]{1,9})(?=\s|$)")
_ENV_NAME_RE = lazy_re(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
# What changes which program runs, whom it asks, or what Cortex itself does.
_STEERING_ENV_RE = lazy_re(
    r"(?i:PATH|HOME|ENV|BASH_ENV|SHELL|IFS|(?:LD|DYLD|PYTHON|NODE|NPM|GIT|SSL|XDG)_?.*|.*_BASE_URL"
    r"|.*_ENDPOINT|.*_PROXY|CORTEX_(?:VAULT|OFF|HOOK|RUN|MODEL_RUN|MCP|EMBEDDER|ENGINE|GIT|PAGER|PORT"
    r"|WORKSPACE|MEMORY|FACET|DAY|SEGMENT|INDEX|SYNC|HOOKS|REMIND|LIFECYCLE|BRIEFINGS|DISTILL"
    r"|SERVE|SEMANTIC|NOTES|AGENTS)(?:_.*)?)"
)
_PLAIN_KEYS = frozenset("type id tags aliases cssclasses created updated description".split())  # noqa: SIM905


class Agent(NamedTuple):
    """What the note of an agent says."""

    name: str
    title: str = ""
    prompt: str = ""  # the body
    provider: str = ""
    tier: str = ""
    max_tokens: int = 0  # 0: not said
    schedule: str = ""
    priority: int = 0  # lower numbers first; 0: not scheduled
    facets: str = "none"  # all, active or none: for which it runs, once for each
    always: bool = False  # also for a facet without activity
    muted: tuple[str, ...] = ()  # facets for which it does not run
    timeout: float = 600.0  # seconds
    output: str = ""
    tools: str = READ_TOOLS
    env: tuple[tuple[str, str], ...] = ()
    load: str = ""  # a query: which records it is given
    max_cost_usd: float | None = None
    catch_up: str = "one"  # which of the missed runs are made good
    keep: int = 0  # runs that are kept; 0: all
    disabled: bool = False
    record: str = "note"  # the type of the record that its result becomes

    @property
    def is_generator(self) -> bool:
        """Whether it makes a text of captured events, without tools."""
        return bool(self.output) and self.tools == NO_TOOLS


def read_agent(data: bytes, path: str) -> tuple[Agent, list[Problem]]:
    """The agent in a note, and what keeps it from running; raises nothing."""
    name = path.rpartition("/")[2].removesuffix(".md")
    note = notes.read(data[: MAX_AGENT_BYTES + 1], path)
    problems = [*note.problems]
    chosen = dict[str, Any]()  # each form gives its field's type
    for key, value in note.fields.items():
        if key in _PLAIN_KEYS or (key in _FORMS and value is None):
            continue
        try:
            chosen[key] = _read_value(key, value)
        except KeyError:
            message, hint = f"there is no key {key}", one_of(key, (*_FORMS,))
        except ValueError:
            message, hint = f"{key} is not understood", f"write {key}: {_FORMS[key][2]}"
        except InvalidInputError as error:
            message, hint = f"{key} is not understood", f"{error.message}: {error.hint}"
        if key not in chosen:
            line = note.frontmatter[: notes.key_span(note.frontmatter, key)[0]].count(b"\n") + 2
            problems.append(Problem(f"{path}:{line}", message, hint))
    if chosen.get("output"):
        chosen.setdefault("tools", NO_TOOLS)
    agent = Agent(**{**chosen, "name": name, "title": note.title, "prompt": note.text.strip()})
    bands = "priority: 40 (10-30 generators, 40-60 analysis, 90 and more late)"
    is_unplaced = bool(agent.schedule) and not note.fields.get("priority")
    is_always = agent.schedule == "segment" and agent.always
    wrong = [
        (not is_agent_name(name), f"{name[:80]!r} is no name of an agent", NAME_HINT),
        (len(data) > MAX_AGENT_BYTES, "is larger than 256 kB", "shorten its prompt"),
        (not agent.prompt, "has no prompt", "write below the closing --- what it is to do"),
        (is_unplaced, "is scheduled and has no priority", f"write {bands}"),
        (is_always, "always is not for agents of segments", "take it out: a generator finds them"),
    ]
    problems += [Problem(path, message, hint) for is_so, message, hint in wrong if is_so]
    return agent, problems


def is_agent_name(name: str) -> bool:
    """Whether a note of an agent may be called so."""
    return bool(_NAME_RE.fullmatch(name)) and name not in (BASE_NAME, DEFAULT_NAME, *RESERVED_STEMS)


def parse_load(text: str) -> tuple[str, int]:
    """The query of `load` without its `number:`, and how many records are wanted.
    Raises `InvalidInputError`."""
    number = min([int(found[1]) for found in _LOAD_NUMBER_RE.finditer(text)] or [_LOADED])
    query = _LOAD_NUMBER_RE.sub(" ", text).strip()
    parsed = queries.parse(query, "2000-01-01T00:00:00Z")  # its form depends on no time
    if parsed.unknown or not 0 < number <= _MAX_LOADED:
        message = f"{' '.join(parsed.unknown) or number} is not understood"
        hint = f"as in cortex search: type:decision since:7d number:20; at most {_MAX_LOADED}"
        raise InvalidInputError(message, hint)
    return query, number


def env_fault(name: str, allowed: tuple[str, ...] | None = None) -> str:
    """Why no note may set this variable; empty if it may. `allowed` are the
    names that the user has listed beside `CORTEX_*`; None: they are not asked."""
    if not _ENV_NAME_RE.fullmatch(name):
        return f"{name[:80]!r} is no name of a variable"
    if _STEERING_ENV_RE.fullmatch(name):
        return f"{name} changes what is run or asked, and is the user's alone"
    if allowed is not None and not name.startswith("CORTEX_") and name not in allowed:
        return f"{name} is not among env of [agents] in the user's settings"
    return ""


def _read_value(key: str, value: FieldValue) -> Any:
    """The value of a key. `ValueError` where it is not understood, `InvalidInputError` with why."""
    pattern, convert, _ = _FORMS[key]
    items = value if key in _LIST_KEYS and isinstance(value, list) else [value]
    texts = [str(one).lower() if isinstance(one, bool) else one for one in items]
    if not all(isinstance(one, str) and re.fullmatch(pattern, one) for one in texts):
        raise ValueError
    read = tuple(map(convert, texts))
    return read if key in _LIST_KEYS else read[0]


def _read_timeout(text: str) -> float:
    if not 0 < float(text) <= MAX_TIMEOUT_SECONDS:
        raise ValueError
    return float(text)


def _read_pair(text: str) -> tuple[str, str]:
    if fault := env_fault(text.partition("=")[0]):
        raise InvalidInputError(fault, "take it out")
    return text.partition("=")[0], text.partition("=")[2]


def _checked_by(parse: Callable[[str], object]) -> Callable[[str], str]:
    return lambda text: text if parse(text) else ""


def _one(words: tuple[str, ...]) -> tuple[str, Callable[[str], Any], str]:
    return "|".join(words), str, f"one of {', '.join(words)}"


_FLAG = ("true|false", "true".__eq__, "true")
_TEXT = r"[^\x00-\x1f\x7f]{1,500}"
_NUMBER = r"[0-9]{1,5}(?:\.[0-9]{1,6})?"
_LIST_KEYS = ("muted", "env")
# Key -> the form of its value, what makes the value of the text, and what to write.
_FORMS: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "title": (_TEXT, str, "a text"),
    "provider": (_TEXT, str, "anthropic, or another name of your settings"),
    "tier": _one(TIERS),
    "max_tokens": ("[1-9][0-9]{0,6}", int, "a number of tokens"),
    "schedule": (_TEXT, _checked_by(parse_schedule), f"one of {SCHEDULES}"),
    "priority": ("[1-9][0-9]?", int, "a number from 1 to 99"),
    "facets": _one(("all", "active", "none")),
    "always": _FLAG,
    "muted": ("[a-z0-9][a-z0-9._-]{0,63}", str, "[personal]"),
    "timeout": (_NUMBER, _read_timeout, "seconds, at most a day: 600"),
    "output": _one(OUTPUTS),
    "tools": _one(TOOLS),
    "env": (r"[^=]*=[^\x00]*", _read_pair, "a list such as [NAME=value]"),
    "load": (_TEXT, _checked_by(parse_load), "type:decision since:7d"),
    "max_cost_usd": (_NUMBER, float, "dollars: 0.50"),
    "catch_up": _one(("none", "one", "all")),
    "keep": ("[1-9][0-9]{0,5}", int, "a number of runs"),
    "disabled": _FLAG,
    "record": _one(RECORD_TYPES),
}
