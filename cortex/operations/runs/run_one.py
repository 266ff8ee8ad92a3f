"""The runner: one process that takes one request, runs its agent, and keeps what comes of it."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from typing import Any

from cortex.agents.process import GUARD_VARIABLE, IN_MODEL, LineSplitter, run_process
from cortex.agents.provider import command_of, environment_of, new_reader, stdin_of
from cortex.agents.reader import last_words
from cortex.core.model.caller import Caller
from cortex.core.model.event import RUN, Event, validate
from cortex.core.model.layout import QUEUE, is_among_briefings
from cortex.core.model.problem import CortexError, reason_of
from cortex.core.redact.secrets import sanitize_text
from cortex.core.runs.agent_note import DEFAULT_NAME
from cortex.core.runs.run_config import RunConfig
from cortex.core.runs.run_event import TERMINAL, decode_json
from cortex.core.runs.run_note import STOPPED, USAGE_FIELDS
from cortex.core.runs.schedule import is_meeting
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import shorten, slugify
from cortex.operations.capture.capture import new_event_id
from cortex.operations.capture.project_context import resolve_project
from cortex.operations.runs.costs import cost_of
from cortex.operations.runs.prepare import get_agent, prepare_config, validate_config
from cortex.operations.runs.run_list import is_as_written
from cortex.operations.upkeep.detached import start_detached
from cortex.operations.upkeep.recover_runs import RUN_VARIABLE
from cortex.vault import agent_settings, files, private
from cortex.vault.git import changes, commit
from cortex.vault.git.changes import UncommittedChange
from cortex.vault.locate import Vault
from cortex.vault.runs import run_files, run_state
from cortex.vault.runs.run_files import ActiveRun

_PASSED = (  # of the user's environment, beside what a provider's program needs
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME",
)  # fmt: skip
_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "HEADERS")
_MIN_SECRET_CHARS = 6
_HALF_RE = lazy_re("[\ud800-\udfff]")
_MAX_LINE_BYTES = 4 << 20
_MAX_SHOWN_CHARS = 4_000  # of a line that is no JSON
_MAX_EVENTS, _MAX_RUN_BYTES = 20_000, 48 << 20
_LINGER_SECONDS = 3.0  # for a program that has said its last word


def run_one(vault: Vault, caller: Caller, id_: str) -> str:
    """Take a request and run it to its end; the path of its note. Empty where no slot is free, or where it
    is somebody else's. Then see to those that wait."""
    slots = agent_settings.load_agents()[0].slots
    path, after = "", id_
    with ExitStack() as after_slot, run_state.free_slot(vault, slots) as is_free:
        if not is_free:
            return ""
        # After one that cannot be run only later ones: else two of them start each other for ever.
        after_slot.callback(lambda: _start_waiting(vault, slots, after))
        if run_state.values_of(vault, id_) is not None and (active := run_files.claim(vault, id_)):
            with closing(active):
                path = _Runner(vault, caller, active).run()
        after = ""
    return path


def _start_waiting(vault: Vault, slots: int, after: str) -> None:
    """Start runners for the requests of this user's that wait, as many as there are slots."""
    waiting = [one for one in run_files.list_runs(vault, QUEUE) if one > after]
    own = [one for one in waiting if run_state.values_of(vault, one) is not None]
    for one in own[:slots]:
        start_detached(vault, "run", "work", one)


class _Runner:
    """One run on its way."""

    def __init__(self, vault: Vault, caller: Caller, active: ActiveRun) -> None:
        self.vault, self.caller, self.active = vault, caller, active
        values = run_state.values_of(vault, active.id) or {}
        self.values = values
        named = [text for key, text in os.environ.items() if key.upper().endswith(_SECRET_NAMES)]
        self.secrets = _spellings([*values.values(), *named])
        self.splitter = LineSplitter(_MAX_LINE_BYTES)
        self.settings = agent_settings.load_agents()[0]
        self.ending: Mapping[str, Any] | None = None  # the terminal event, once there is one
        self.began = self.last = time.monotonic()
        self.written = 0
        self.first: Mapping[str, Any] = {}  # what `start` says, until it is written
        self.cost = 0.0
        self.made: list[str] = []  # paths of what came of it, beside its note

    def run(self) -> str:
        """Run the agent, and keep what comes of it; the path of its note."""
        here = run_files.find_run(self.vault, self.active.id)
        request, config = run_files.load_request(self.vault, here), None
        try:
            config = prepare_config(self.vault, self._now_caller(), request)
            config = config._replace(agent_id=self.active.id)
            if stop := run_state.STOPS.read(self.vault, self.active.id):
                self.ending = {"event": "error", "error": stop, "reason": STOPPED}
            elif config.skipped:
                self.ending = {"event": "finish", "skipped": config.skipped}
            elif wrong := validate_config(config):
                self.ending = {"event": "error", "error": wrong[0].message, "reason": "refused"}
            else:
                self._run_program(config)
        except CortexError as error:
            why = f"{error.message}; {error.hint}" if error.hint else error.message
            self.ending = {"event": "error", "error": why, "reason": "refused"}
        except OSError as error:
            self.ending = {"event": "error", "error": reason_of(error), "reason": "system"}
        except Exception as error:  # noqa: BLE001  a fault of ours ends the run with its name
            said = f"{type(error).__name__}: {error}"
            self.ending = {"event": "error", "error": said, "reason": "fault"}
        ending = dict(self.ending or {"event": "error", "error": "there is no end"})
        if self.cost and not ending.get("cost_usd"):
            ending["cost_usd"] = round(self.cost, 6)
        output = ""
        if config and ending["event"] == "finish" and not ending.get("skipped"):
            ending, output = self._keep_result(config, ending)
        self._append({**ending, "output": output} if output else ending)
        path = self.active.seal(output, self._result_of(ending))
        self._commit(path)
        return path

    def _run_program(self, config: RunConfig) -> None:
        """Run the program of the provider until it has said its last word, or was ended."""
        here = run_files.find_run(self.vault, self.active.id)
        provider, chain = (
            self.settings.providers[config.provider],
            run_files.list_chain(self.vault, here),
        )
        before = {key: sum(getattr(one.state, field) for one in chain) for key, field in USAGE_FIELDS.items()}  # fmt: skip
        self.reader = new_reader(provider, before)
        self.config = config
        self.first = {
            "name": config.name, "provider": config.provider, "model": config.model,
            "tier": config.tier, "session_id": config.session_id, "chat_id": config.chat_id, "ts": _now_ms(),
        }  # fmt: skip
        environ = {name: os.environ[name] for name in (*_PASSED, *self.settings.env) if name in os.environ}  # fmt: skip
        environ |= environment_of(provider, config, os.environ) | self.values
        listed = (*provider.env, provider.key_variable, *self.settings.env)
        self.secrets = _spellings(
            [*self.secrets, *(environ[name] for name in listed if name in environ)]
        )
        is_told = provider.protocol == "claude" or config.model in self.settings.prices
        if config.max_cost_usd is not None and not is_told:
            message = f"max_cost_usd does not end this run: no price of {config.model} is in your settings"
            self.active.append({"event": "info", "message": message}, _now_ms(), self._clean)
        scratch = private.ensure_folder(run_files.work_folder(self.vault, here))
        readable = os.path.join(self.vault.root, self.vault.layout().folder).rstrip("/")
        try:
            ended = run_process(
                command_of(provider, config, readable), cwd=scratch,
                env={**environ, GUARD_VARIABLE: IN_MODEL, "TMPDIR": scratch}, stdin=stdin_of(provider, config),
                mark=f"{RUN_VARIABLE}={self.active.id}", on_output=self._take_output, look=self._look, adopt=True,
            )  # fmt: skip
        finally:
            run_files.remove_work_folder(self.vault, here)
        self._take_line(self.splitter.begun)
        if self.ending is None and ended.why:
            reason, _, error = ended.why.partition(": ")
            error += last_words(ended.stderr)[0] if reason != STOPPED else ""
            self.ending = {"event": "error", "error": error or reason, "reason": reason}
        if self.ending is None:
            self.ending = self.reader.end(ended.exit_code, ended.stderr)
            self._count_cost(self.ending or {})

    def _take_output(self, chunk: bytes) -> None:
        for line in self.splitter.feed(chunk):
            self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        """Append what a line of the program's says."""
        if not line.strip():
            return
        value = decode_json(line)
        if isinstance(value, dict):
            events = self.reader.read(value)
        else:
            text = line[:_MAX_SHOWN_CHARS].decode("utf-8", "replace")
            more = {"bytes": len(line)} if len(line) > _MAX_SHOWN_CHARS else {}
            events = [{"event": "info", "message": text, **more}]
        for event in events:
            self.last = time.monotonic()
            if self.ending is not None:
                continue  # what comes after the end counts for nothing
            if event["event"] == "start":
                said = {key: one for key, one in event.items() if one}
                if not self.first:  # there is one start; this still tells the session and the model
                    said |= {"event": "info", "message": "started"}
                first, self.first = {**self.first, **said}, {}
                self._append(first)
            elif event["event"] in TERMINAL:
                self.ending = event
            else:
                self._append(event)
            self._count_cost(event)

    def _append(self, event: Mapping[str, Any]) -> None:
        if self.first:
            first, self.first = self.first, {}
            self._append({**first, "event": "start"})
        written = self.active.append(event, _now_ms(), self._clean)
        self.written += len(json.dumps(written)) if written else 0

    def _clean(self, text: str) -> str:
        """A text without the secrets that the run was given, and those that look like some, and without
        halves of characters, which no file can hold."""
        text = _HALF_RE.sub("\ufffd", text)
        for secret in self.secrets:
            text = text.replace(secret, "[REDACTED:env]")
        return sanitize_text(text)

    def _count_cost(self, event: Mapping[str, Any]) -> None:
        usage, price = event.get("usage"), self.settings.prices.get(self.config.model)
        if isinstance(usage, dict) and price:
            self.cost = cost_of(usage, price)
        if isinstance(told := event.get("cost_usd"), int | float):
            self.cost = max(self.cost, told)

    def _look(self) -> str:
        """Why the program is to be ended now; empty while it may go on."""
        self.active.sync()
        now, config = time.monotonic(), self.config
        if self.ending is not None:
            return "done" if now - self.last > _LINGER_SECONDS else ""
        stop = run_state.STOPS.read(self.vault, self.active.id)
        budget = config.max_cost_usd
        reasons = (
            (stop, f"{STOPPED}: {stop}"),
            (now - self.last > config.idle, f"idle: it said nothing for {config.idle:g} seconds (idle in your settings)"),
            (now - self.began > config.timeout, f"timeout: it took longer than {config.timeout:g} seconds (timeout of the agent)"),
            (budget is not None and self.cost > budget, f"over_budget: it cost more than {budget} dollars (max_cost_usd of the agent)"),
            (len(self.active.events) > _MAX_EVENTS, "output: it printed more than a run holds"),
            (self.written > _MAX_RUN_BYTES, "output: it printed more than a run holds"),
        )  # fmt: skip
        return next((why for is_so, why in reasons if is_so), "")

    def _keep_result(self, config: RunConfig, ending: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """Capture the result, and write it where the agent's output goes; the terminal event, and where
        it is kept. What fails is an event of the run, and does not end it."""
        result = self._result_of(ending).strip()
        bare = _without_fence(result)
        if config.output == "json" and decode_json(bare) is None and bare != "null":
            why = {"event": "error", "error": "the answer is no JSON", "reason": "output"}
            return {**ending, **why}, ""
        output = ""
        if config.output_path and result:
            text = bare if config.output == "json" else result
            try:
                output, root = config.output_path, self.vault.root
                is_there = self.active.request.refresh and files.exists(root, output)
                is_known = is_there and is_as_written(self.vault, output)
                before = files.read(root, output) if is_known else None
                files.replace(root, output, f"{text}\n".encode(), before)
                self.made.append(output)
            except (CortexError, OSError) as error:
                output = ""
                self._append({"event": "info", "message": f"{config.output_path} was not written: {reason_of(error)}"})  # fmt: skip
        try:
            record = self._capture(config, result) if result else ""
        except (CortexError, OSError) as error:
            record = ""
            self._append({"event": "info", "message": f"not captured: {reason_of(error)}"})
        return ending, output or record

    def _capture(self, config: RunConfig, result: str) -> str:
        """The id of the record that a result becomes: an agent's, for each of its facets, is one."""
        caller, request, day = self._now_caller(), self.active.request, config.day
        agent, title, topic = get_agent(self.vault, config.name), shorten(request.prompt, 80), ""
        title = title.replace("[[", "").replace("]]", "")
        if config.name != DEFAULT_NAME:
            about = " for ".join(filter(None, (agent.title or agent.name, config.facet)))
            title = f"{about}, {request.period or f'{day[:4]}-{day[4:6]}-{day[6:]}'}"
            meeting = slugify(request.period) if is_meeting(request.period) else ""
            topic = "/".join(filter(None, ("runs", agent.name, config.facet, meeting)))
        event = Event(
            id=new_event_id(caller), type=RUN, at=caller.now, text=result, run=self.active.id,
            project=resolve_project(self.vault, caller, ""), source="run", title=title,
            record=agent.record, topic=topic,
        )  # fmt: skip
        validate(event)
        # 30 ms, while the program runs already.
        from cortex.operations.upkeep.normalize_now import publish_and_normalize  # noqa: PLC0415

        event, done = publish_and_normalize(self.vault, caller, event)
        paths = [path for path, _ in done.records]
        self.made += [self.vault.layout().event(event.id), *paths]
        return paths[0].rpartition("/")[2].removesuffix(".md") if paths else ""

    def _result_of(self, ending: Mapping[str, Any]) -> str:
        said = ending.get("result") or ending.get("error") or ""
        return self._clean(said if isinstance(said, str) else json.dumps(said))

    def _commit(self, path: str) -> None:
        """One commit for the run, where Cortex commits by itself; else the next sync has it."""
        with suppress(CortexError, OSError):
            if not commit.is_automatic(self.vault.root):
                return
            own = {path, self.vault.layout().path("runs/.gitignore"), *self.made}
            found = changes.list_changes(self.vault.root)
            mine = [one for one in found if one.path in own or is_among_briefings(one.path)]
            known = {one.path for one in found}
            mine += [UncommittedChange(path, "A") for path in self.made if path not in known]
            mine += [one for one in found if one.path.startswith(f"{path[:-3]}.d/")]
            commit.commit_changes(self.vault.root, mine, f"cortex: run {self.active.request.agent}")

    def _now_caller(self) -> Caller:
        return self.caller._replace(now=_now_ms()[:19] + "Z", cwd=self.vault.root)


def _spellings(secrets: Iterable[str]) -> list[str]:
    """Each secret as it may be printed, the longest first: whole, in JSON, each line, a header's value."""
    found = {*secrets}
    found |= {json.dumps(text)[1:-1] for text in found}
    found |= {line for text in found for line in re.split(r"\n|\\n|: ", text)}
    return sorted((one for one in found if len(one) >= _MIN_SECRET_CHARS), key=len, reverse=True)


def _without_fence(text: str) -> str:
    """A text without the code fence around it."""
    lines = text.strip().splitlines()
    is_fenced = len(lines) > 1 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]) if is_fenced else text.strip()


def _now_ms() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
