"""The base of all transcript readers: the state of a session, and tool calls without an answer."""

from __future__ import annotations

import os
from _collections_abc import Sequence

from cortex.core.model.speaker import own_words
from cortex.core.model.turn_summary import Commit, PlannedStep, TurnSummary
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text import context_markers
from cortex.core.text.light import loads
from cortex.core.text.value import Any, NamedTuple
from cortex.hosts import transcript_item
from cortex.hosts.transcript_item import PROMPT, REPLY, TranscriptItem, redacted_line

UUID_CHARS = 36
_CODE_STARTS = (b"\\u00", b"\\r", b"\\b", b"\x1b")  # escape, carriage return, backspace, in JSON
_MAX_PENDING_CALLS = 2000  # calls without an answer: an old one will never get it


class ToolCall:
    """A call of a tool, whole, and what came of it."""

    def __init__(self, name: str, given: object) -> None:
        self.name, self.given = name, given
        self.output, self.failed = "", False


class ParsedLines(NamedTuple):
    """What some lines of a transcript tell, and the reader that has read them."""

    items: tuple[TranscriptItem, ...]
    reader: TranscriptReader

    def turn_summary(self, root: str, prompts: str) -> TurnSummary:
        """The items summed up; paths are relative to `root`, the project's folder."""
        title = redacted_line(self.reader.title)[: transcript_item.MAX_STEP_CHARS]
        return transcript_item.summarize_items(self.items, root, prompts)._replace(title=title)


class TranscriptReader:
    """Reads one transcript part by part; a tool call may be answered in a later part. A host's
    reader implements `read_line`."""

    def __init__(self) -> None:
        self.session = self.cwd = self.branch = self.title = ""  # the last ones that were named
        self.first_time = self.last_time = ""  # of lines: UTC with milliseconds
        self.since = ""  # lines not later than this are passed over
        self.skipped_lines = 0  # that are no JSON object, or not of the shape that their type has
        self.is_headless = False  # a program asks, nobody reads along
        self.is_sidechain = False  # the file is the work of a subagent
        self.parent_session = self.subagent = ""  # of a side chain, where the lines name them
        self.current_time = self.sidechain = ""
        self.items: list[TranscriptItem] = []
        self.copied: set[str] = set()  # lines that are passed over, by `copy_key`
        # id of a call -> its command, else what it does
        self.pending_calls: dict[str, tuple[str, list[TranscriptItem]]] = {}
        self.calls: dict[str, ToolCall] | None = None  # kept for whoever sets a table here

    @staticmethod
    def is_transcript(_folder: str, _name: str) -> bool:
        """Whether a file with the suffix `.jsonl` below the host's folder is a transcript."""
        return True

    @staticmethod
    def session_of(_line: bytes, _before: str, _expected: str) -> str:
        """The session of a line, `_before` being that of the line before; empty for none, or if
        the host's lines name none. Only a line that may name another than `_expected` is parsed."""
        return ""

    @staticmethod
    def copy_key(_line: bytes) -> str:
        """By which a message is known in a copy of its transcript, as a fork begins with one; empty
        for other lines, or if the host's have no ids."""
        return ""

    @staticmethod
    def line_time(line: bytes) -> str:
        """The time of a line in our form (`normalize_timestamp`); empty if it has none."""
        data = parse_json_object(line)
        return transcript_item.normalize_timestamp(data.get("timestamp")) if data else ""

    def identify(self, path: str, session: str) -> tuple[str, str]:
        """The session of a file and its subagent, empty for none; `session` is from its lines."""
        return session or os.path.basename(path).removesuffix(".jsonl"), ""

    def prescan(self, lines: Sequence[bytes]) -> None:
        """Read a part ahead of `feed`, for what later lines say about earlier ones."""

    def feed(self, lines: Sequence[bytes]) -> list[TranscriptItem]:
        """The items of these lines."""
        for line in lines:
            if (data := parse_json_object(line)) is None:
                self.skipped_lines += 1
            else:
                self.read_line(data)
        return self.take_items()

    def read_line(self, data: dict[str, Any]) -> None:
        """Add what a line tells to the items."""
        raise NotImplementedError

    def flush(self) -> list[TranscriptItem]:
        """Edits and plans without an answer, which count as done; commands are left out."""
        calls = self.pending_calls.values()
        left = [item for command, items in calls if not command for item in items]
        self.pending_calls.clear()
        return left

    def parse(self, lines: list[bytes], since: str = "") -> ParsedLines:
        """The items of the lines later than `since`, without side chains, which have events of
        their own. A part may begin anywhere."""
        self.since = since
        self.prescan(lines)
        items = (item for item in (*self.feed(lines), *self.flush()) if not item.sidechain)
        return ParsedLines(tuple(items), self)

    def take_items(self) -> list[TranscriptItem]:
        """The items since the last time."""
        items, self.items = self.items, []
        return items

    def set_branch(self, value: object) -> None:
        """Note the branch of a line. A detached HEAD is none."""
        if isinstance(value, str):
            self.branch = "" if value == "HEAD" else value

    def advance_time(self, value: object) -> bool:
        """Set the time of a line, or keep that of the line before. True if after `since`."""
        if at := transcript_item.normalize_timestamp(value):
            self.current_time = at
        if self.since and self.current_time and self.current_time <= self.since:
            return False
        if at:
            self.first_time = min(self.first_time or at, at)
            self.last_time = max(self.last_time, at)
        return True

    def add_agent_text(self, text: object, id_: str) -> None:
        """The agent said something."""
        self._add_text(transcript_item.AGENT_TEXT, text, id_)

    def add_prompt(self, text: object, id_: str) -> None:
        """The person said something."""
        self._add_text(PROMPT, text, id_)

    def add_reply(self, text: object, about: str, id_: str) -> None:
        """The person said something within a turn, about a question or what they refuse."""
        self._add_text(REPLY, text, id_, redacted_line(about)[: transcript_item.MAX_STEP_CHARS])

    def add_summary(self, text: object, id_: str) -> None:
        """The host summed up what was said before, to forget it."""
        self._add_text(transcript_item.SUMMARY, text, id_)

    def add_call(self, name: object, given: object, call: str) -> None:
        """A tool is called, each call once."""
        if self.calls is not None and (call not in self.calls or not call):
            key = call or f"without an id: {len(self.calls)}"
            self.calls[key] = ToolCall(name if isinstance(name, str) else "", given)
            self.items.append(self._new_item(transcript_item.TOOL_CALL, "", key))

    def answer_call(self, call: object, output: str, *, failed: bool) -> None:
        """What a call of a tool came to."""
        if self.calls is not None and isinstance(call, str) and (one := self.calls.get(call)):
            one.output, one.failed = output, failed

    def add_edit(self, path: object, call: str) -> None:
        """A tool is to change a file."""
        if isinstance(path, str) and path:
            self._add_pending(call, "", self._new_item(transcript_item.FILE_CHANGE, path, call))

    def add_command(self, command: object, call: str) -> None:
        """A command is to run."""
        if isinstance(command, str) and command.strip():
            self._add_pending(call, command, None)

    def add_plan(self, steps: Sequence[PlannedStep], call: str) -> None:
        """The agent has this plan now, unless the answer refuses it."""
        if steps:
            plan = tuple(steps[: transcript_item.MAX_PLAN_STEPS])
            self._add_pending(call, "", self._new_item(transcript_item.PLAN, "", call, plan=plan))

    def finish_call(
        self, call: object, failed: bool, output: str = "", code: str = "", known: bool = True
    ) -> None:
        """A tool has answered. `known`: whether it ran to its end."""
        self.answer_call(call, output, failed=failed)
        if not isinstance(call, str) or call not in self.pending_calls:
            return
        command, items = self.pending_calls.pop(call)
        if command and (known or failed):
            if run := transcript_item.summarize_command(command, failed, output, code):
                item = self._new_item(transcript_item.COMMAND_RUN, "", call, command=run)
                self.items.append(item)
            if " commit" in command or "pr create" in command:
                self._add_commits(command, output, call, failed)
        elif not failed and not transcript_item.is_refusal(output):
            self.items += items

    def _add_commits(self, command: str, output: str, call: str, failed: bool) -> None:
        """The commits and the pull request that a command has made."""
        # Its patterns are long, and most commands commit nothing.
        from cortex.hosts.commits import read_commits, read_pull_request  # noqa: PLC0415

        text = transcript_item.AMENDED if "--amend" in command else ""
        for one in read_commits(command, output, cwd=self.cwd, failed=failed):
            self.items.append(self._new_item(transcript_item.COMMIT, text, call, commit=one))
        if request := read_pull_request(command, output):
            self.add_pull_request(request, call)

    def add_pull_request(self, request: Commit, id_: str) -> None:
        """A pull request was opened, or is the session's."""
        self.items.append(self._new_item(transcript_item.PULL_REQUEST, "", id_, commit=request))

    def _add_pending(self, call: str, command: str, item: TranscriptItem | None) -> None:
        items = self.items
        if call:
            if len(self.pending_calls) >= _MAX_PENDING_CALLS and call not in self.pending_calls:
                self.pending_calls.pop(next(iter(self.pending_calls)))
            items = self.pending_calls.setdefault(call, (command, []))[1]
        if item:
            items.append(item)

    def _add_text(self, kind: str, text: object, id_: str, about: str = "") -> None:
        if not isinstance(text, str):
            return
        text = own_words(text) if kind in (PROMPT, REPLY) else text
        if own_text := context_markers.strip_injected(text).strip():
            self.items.append(self._new_item(kind, own_text, id_, about=about))

    def _new_item(self, kind: str, text: str, id_: str, **more: Any) -> TranscriptItem:
        at, chain = self.current_time, self.sidechain
        return TranscriptItem(kind, id_, at, text, self.cwd, self.branch, sidechain=chain, **more)


def _strip_codes(value: Any) -> Any:
    """A value of JSON whose texts are without codes of a terminal."""
    # Few lines may hold one.
    from cortex.core.text.terminal_codes import strip_terminal_codes  # noqa: PLC0415

    if isinstance(value, str):
        return strip_terminal_codes(value)
    if isinstance(value, list):
        return [_strip_codes(one) for one in value]
    return {key: _strip_codes(value[key]) for key in value} if isinstance(value, dict) else value


def parse_json_object(line: bytes) -> dict[str, Any] | None:
    """The line as a JSON object, else None. Invalid UTF-8 and lone surrogates are replaced."""
    try:
        value = loads(line.decode("utf-8", "replace").removeprefix("\ufeff"))
        if b"\\ud" in line or b"\\uD" in line:
            import json  # noqa: PLC0415  for halves of surrogate pairs alone

            value = loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        if any(start in line for start in _CODE_STARTS):
            value = _strip_codes(value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def get_str(table: dict[str, Any], *keys: str) -> str:
    """The first value below the keys that is a text and not empty, else an empty one."""
    for key in keys:
        value = table.get(key)
        if value and isinstance(value, str):
            return value
    return ""


def get_dict(table: dict[str, Any], key: str) -> dict[str, Any]:
    """The object below a key; an empty one where there is none."""
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def objects_in(value: object) -> list[dict[str, Any]]:
    """The objects in a list; none for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def content_parts(content: str | list[Any]) -> list[Any]:
    """The parts of a message, of which a text alone is one."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def make_plan_step(text: object, done: bool) -> PlannedStep | None:
    """A step of a plan, redacted and shortened; None if the text is empty or no string."""
    line = redacted_line(text)[: transcript_item.MAX_STEP_CHARS] if isinstance(text, str) else ""
    return PlannedStep(line, done) if line else None


def parse_todos(todos: object, text_key: str) -> list[PlannedStep]:
    """The steps of a plan that is a list of objects with a status; none for anything else."""
    steps = (
        make_plan_step(one.get(text_key), one.get("status") == "completed")
        for one in objects_in(todos)
    )
    return [step for step in steps if step]


def parse_plan_steps(plan: str) -> list[PlannedStep]:
    """The steps of a plan that was written as markdown: its list items, else its first line."""
    steps, first = [], ""
    for line in sanitize_text(plan).splitlines():
        words = line.strip()
        head, _, rest = words.partition(" ")
        if words and not first and not words.startswith("```"):
            first = words.lstrip("# ")
        is_numbered = head[:-1].isdigit() and head[-1:] in (".", ")") and len(head) < 5
        if is_numbered or head in ("-", "*", "+"):
            done = rest.startswith(("[x] ", "[X] "))
            text = rest[4:] if done or rest.startswith("[ ] ") else rest
            if step := make_plan_step(text, done):
                steps.append(step)
        if len(steps) == transcript_item.MAX_PLAN_STEPS:
            break
    only = make_plan_step(first, done=False)
    return steps or ([only] if only else [])


def text_content(content: object) -> str:
    """The text of a message or an answer, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = (part.get("text") for part in objects_in(content))
    return "\n".join(text for text in parts if isinstance(text, str))
