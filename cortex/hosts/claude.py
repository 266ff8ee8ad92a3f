"""Claude Code's transcripts: JSON lines whose shape its vendor calls internal, so nothing unknown or malformed is an error.

One message of the model is split over several lines with the same `message.id`. Lines name their parent: a prompt that has
the same parent as a later one was taken back, with all that followed from it. Anything less certain is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from cortex.core.model.turn_summary import PlannedStep
from cortex.core.text.value import TYPE_CHECKING
from cortex.hosts.transcript_item import ParsedLines, TranscriptItem, parse_with
from cortex.hosts.transcript_reader import (
    TranscriptReader,
    make_plan_step,
    parse_json_object,
    parse_plan_steps,
    text_content,
)

if TYPE_CHECKING:
    from typing import Any

_LONG_LINE_BYTES = 64 * 1024  # bytes; a longer line that is only a tool's answer is not parsed
_EDIT_TOOLS = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
_SHELL_TOOLS = ("Bash", "PowerShell")
_HOST_TEXT_STARTS = (
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<user-memory-input>",
    "Caveat: The messages below",
)
_SESSION_KEY = b'"sessionId"'
_INTERRUPTED_START = "[Request interrupted"
_MAX_LINE_IDS = 200_000  # ids of lines; as many stand in a transcript of 400 MB
_MAX_TASKS = 500


def read(lines: list[bytes], root: str, since: str = "") -> ParsedLines:
    """What the lines tell that are later than `since`. `root`: the project's folder, to which paths are relative. A part may
    begin anywhere: where parents are unknown, the order of the file counts."""
    return parse_with(reader(), lines, root, since)


def reader() -> ClaudeReader:
    """A reader for one transcript."""
    return ClaudeReader()


class ClaudeReader(TranscriptReader):
    """Reads one transcript, part by part."""

    def __init__(self) -> None:
        super().__init__()
        self.prompt_by_parent: dict[str, str] = {}  # parent -> the last prompt that has it
        self.rewound_ids: set[str] = set()  # lines that were taken back
        self.seen_ids: set[str] = set()
        self.text_hashes: dict[
            str, set[int]
        ] = {}  # message id -> hashes of its texts that were told
        self.tasks: dict[str, PlannedStep] = {}
        self.pending_tasks: dict[str, PlannedStep] = {}
        self.queued_prompts: set[str] = set()
        self.sidechain_by_line: dict[
            str, str
        ] = {}  # line of a side chain -> the name of that chain
        self.has_main_lines = self.has_named_sidechain = False

    def prescan(self, lines: Sequence[bytes]) -> None:
        """Find prompts that were taken back, and whether this is the file of a side chain."""
        for line in lines:
            if b'"isSidechain"' in line and not self.has_main_lines:
                aside = b'"isSidechain":true' in line or b'"isSidechain": true' in line
                self.has_main_lines = self.has_main_lines or (
                    not aside and (b'"assistant"' in line or b'"user"' in line)
                )
                self.has_named_sidechain = self.has_named_sidechain or (
                    aside and b'"agentId"' in line
                )
            if (
                b'"parentUuid"' in line
                and b'"user"' in line
                and b'"tool_result"' not in line
                and len(line) < _LONG_LINE_BYTES * 16
            ):
                self._prescan_prompt(line)
        self.is_sidechain = self.has_named_sidechain and not self.has_main_lines

    def _prescan_prompt(self, line: bytes) -> None:
        told = parse_json_object(line)
        if (
            not told
            or told.get("type") != "user"
            or told.get("isSidechain")
            or told.get("isMeta")
            or told.get("isCompactSummary")
        ):
            return
        parent, own = told.get("parentUuid"), told.get("uuid")
        if (
            isinstance(parent, str)
            and isinstance(own, str)
            and parent
            and _typed_text(_message_content(told))
        ):
            before = self.prompt_by_parent.get(parent)
            if before is not None and before != own:
                self.rewound_ids.add(before)
            self.prompt_by_parent[parent] = own

    def feed(self, lines: Sequence[bytes]) -> list[TranscriptItem]:
        """The pieces that these lines tell."""
        for line in lines:
            if len(line) > _LONG_LINE_BYTES and self._read_long_line(line):
                continue
            told = parse_json_object(line)
            if told is None:
                self.skipped_lines += 1
                continue
            self._read_line(told)
        return self.take_items()

    def _read_line(self, told: dict[str, Any]) -> None:
        type_, id_ = told.get("type"), _str_or_empty(told.get("uuid"))
        if type_ in ("ai-title", "summary", "custom-title"):
            self.title = (
                _str_or_empty(told.get("aiTitle"))
                or _str_or_empty(told.get("customTitle"))
                or _str_or_empty(told.get("summary"))
                or self.title
            )
        if id_:
            if id_ in self.seen_ids or self._is_rewound(id_, told.get("parentUuid")):
                return
            if len(self.seen_ids) < _MAX_LINE_IDS:
                self.seen_ids.add(id_)
        if type_ not in ("user", "assistant", "attachment", "queue-operation"):
            return
        self.session = self.session or _str_or_empty(told.get("sessionId"))
        if not self.advance_time(told.get("timestamp")):
            return
        agent = _str_or_empty(told.get("agentId"))
        self.sidechain = (
            self._sidechain_of(id_, told.get("parentUuid"), agent)
            if told.get("isSidechain") is True and not self.is_sidechain
            else ""
        )
        self.subagent = self.subagent or (agent if self.is_sidechain else "")
        self.cwd = _str_or_empty(told.get("cwd")) or self.cwd
        self.branch = _branch_or_previous(told.get("gitBranch"), self.branch)
        if type_ == "assistant":
            self._read_assistant(told, id_)
        elif type_ == "user":
            self._read_user(told, id_)
        else:
            self._read_queued_prompt(told, id_)

    def _sidechain_of(self, id_: str, parent: object, agent: str) -> str:
        """The side chain of a line: the agent that it names, or where its parents begin."""
        chain = (
            agent
            or (self.sidechain_by_line.get(parent, "") if isinstance(parent, str) else "")
            or id_
            or "aside"
        )
        if id_ and len(self.sidechain_by_line) < _MAX_LINE_IDS:
            self.sidechain_by_line[id_] = chain
        return chain

    def _is_rewound(self, id_: str, parent: object) -> bool:
        if id_ in self.rewound_ids:
            return True
        if isinstance(parent, str) and parent in self.rewound_ids:
            self.rewound_ids.add(id_)
            return True
        return False

    def _read_assistant(self, told: dict[str, Any], line_id: str) -> None:
        message = told.get("message")
        if not isinstance(message, dict):
            self.skipped_lines += 1
            return
        if told.get("isApiErrorMessage") is True:
            return
        content, id_ = message.get("content"), _str_or_empty(message.get("id"))
        if not isinstance(content, (str, list)):
            self.skipped_lines += 1
            return
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if not isinstance(part, dict):
                self.skipped_lines += 1
            elif part.get("type") == "text":
                self._add_message_text(part.get("text"), id_, line_id or id_)
            elif part.get("type") == "tool_use":
                self._read_tool_call(part)

    def _add_message_text(self, text: object, message: str, line: str) -> None:
        """One text of a message. A host that writes a message again as it grows writes each of its texts once more."""
        if not isinstance(text, str):
            self.skipped_lines += 1
            return
        if message:
            told = self.text_hashes.setdefault(message, set())
            if hash(text) in told:
                return
            told.add(hash(text))
            if len(self.text_hashes) > 64:
                self.text_hashes.pop(next(iter(self.text_hashes)))
        self.add_agent_text(text, message or line)

    def _read_tool_call(self, part: dict[str, Any]) -> None:
        name, call, given = part.get("name"), _str_or_empty(part.get("id")), part.get("input")
        if not isinstance(given, dict):
            return
        if name in _EDIT_TOOLS:
            self.add_edit(given.get(_EDIT_TOOLS[name]), call)
        elif name in _SHELL_TOOLS:
            self.add_command(given.get("command"), call)
        elif name == "TodoWrite" and isinstance(given.get("todos"), list):
            todos = (
                make_plan_step(one.get("content"), one.get("status") == "completed")
                for one in given["todos"]
                if isinstance(one, dict)
            )
            self.add_plan([one for one in todos if one], call)
        elif name == "ExitPlanMode" and isinstance(given.get("plan"), str):
            self.add_plan(parse_plan_steps(given["plan"]), call)
        elif name == "TaskCreate" and (
            one := make_plan_step(given.get("subject") or given.get("description"), done=False)
        ):
            self.pending_tasks[call or str(len(self.pending_tasks))] = one
            if len(self.pending_tasks) > _MAX_TASKS:
                self.pending_tasks.pop(next(iter(self.pending_tasks)))
        elif name == "TaskUpdate":
            self._update_task(given, call)

    def _update_task(self, given: dict[str, Any], call: str) -> None:
        id_, status = str(given.get("taskId")), given.get("status")
        if status == "deleted":
            self.tasks.pop(id_, None)
        elif id_ in self.tasks:
            held = self.tasks[id_]
            named = make_plan_step(given.get("subject"), done=False)
            self.tasks[id_] = PlannedStep(
                named.text if named else held.text,
                status == "completed" if isinstance(status, str) else held.done,
            )
        else:
            return
        self.add_plan(list(self.tasks.values()), call)

    def _read_user(self, told: dict[str, Any], id_: str) -> None:
        content = _message_content(told)
        if told.get("isCompactSummary") is True:
            self.add_summary(text_content(content), id_)
            return
        if isinstance(content, list):
            for part in content:
                if isinstance(part, dict) and part.get("type") == "tool_result":
                    self._read_tool_result(part, told.get("toolUseResult"))
        elif not isinstance(content, str):
            self.skipped_lines += 1
        if told.get("isMeta") is not True and (text := _typed_text(content)):
            self.add_prompt(text, id_)

    def _read_tool_result(self, part: dict[str, Any], result: object) -> None:
        call, failed = part.get("tool_use_id"), part.get("is_error") is True
        if not isinstance(call, str):
            return
        if call in self.pending_tasks:
            created = self.pending_tasks.pop(call)
            task = result.get("task") if isinstance(result, dict) else None
            id_ = (
                str(task["id"])
                if isinstance(task, dict) and "id" in task
                else _task_number(text_content(part.get("content"))) or str(len(self.tasks) + 1)
            )
            if not failed and len(self.tasks) < _MAX_TASKS:
                self.tasks[id_] = created
                self.add_plan(list(self.tasks.values()), "")
            return
        if call in self.pending_calls:
            ended = not (
                isinstance(result, dict)
                and (result.get("backgroundTaskId") or result.get("interrupted") is True)
            )
            self.finish_call(call, failed, text_content(part.get("content")), known=ended)

    def _read_queued_prompt(self, told: dict[str, Any], id_: str) -> None:
        """What the person typed while the agent worked."""
        attached = told.get("attachment")
        if told.get("type") == "queue-operation":
            text = told.get("content") if told.get("operation") == "remove" else None
        else:
            text = (
                attached.get("prompt")
                if isinstance(attached, dict) and attached.get("type") == "queued_command"
                else None
            )
        text = _typed_text(text)
        if text and text not in self.queued_prompts:
            if len(self.queued_prompts) < _MAX_TASKS:
                self.queued_prompts.add(text)
            self.add_prompt(text, id_)

    def _read_long_line(self, line: bytes) -> bool:
        """Whether a long line is only the answer of a tool that succeeded; then its bytes say all that is needed."""
        start = line.find(b'"tool_use_id":"')
        if (
            start < 0
            or line.count(b'"tool_use_id":"') > 1
            or b'"is_error":true' in line
            or b'"type":"text"' in line
            or b'"role":"user"' not in line
        ):
            return False
        if (
            b'"type":"user"' not in line
            or b'"type":"tool_result"' not in line
            or not line.rstrip().endswith(b"}")
        ):
            return False
        call = _string_after(line, b'"tool_use_id":"')
        if (
            call in self.pending_tasks
            or b'"backgroundTaskId"' in line
            or b'"interrupted":true' in line
        ):
            return False
        id_, parent = _string_after(line, b'"uuid":"'), _string_after(line, b'"parentUuid":"')
        if id_ and (id_ in self.seen_ids or self._is_rewound(id_, parent)):
            return True
        aside = b'"isSidechain":true' in line and not self.is_sidechain
        self.sidechain = (
            self._sidechain_of(id_, parent, _string_after(line, b'"agentId":"')) if aside else ""
        )
        if id_ and len(self.seen_ids) < _MAX_LINE_IDS:
            self.seen_ids.add(id_)
        if self.advance_time(_string_after(line, b'"timestamp":"', last=True)):
            self.finish_call(call, failed=False)
        return True


def session_of(line: bytes, before: str, expected: str) -> str:
    """The session that a line names, else that of the line before. The file of a session that was resumed or forked begins with lines of
    the one before it."""
    at = line.find(_SESSION_KEY)
    if at < 0:
        return before
    if line[at + len(_SESSION_KEY) :].startswith(
        (f':"{expected}"'.encode(), f': "{expected}"'.encode())
    ):
        return expected
    told = parse_json_object(line)
    return (_str_or_empty(told.get("sessionId")) if told else "") or before


def _task_number(answer: str) -> str:
    """The number in `Task #3 created successfully`; empty when there is none."""
    word = answer[:100].partition("#")[2].split(" ")[0].rstrip(":.,")
    return word if word.isdecimal() and len(word) < 10 else ""


def _message_content(told: dict[str, Any]) -> object:
    message = told.get("message")
    return message.get("content") if isinstance(message, dict) else None


def _typed_text(content: object) -> str:
    """What a person typed, of a message that may be something else: a tool's answer, or what the host says in their name."""
    if isinstance(content, list):
        texts = [
            part["text"]
            for part in content
            if isinstance(part, dict)
            and part.get("type") == "text"
            and isinstance(part.get("text"), str)
        ]
        content = "\n".join(text for text in texts if not text.startswith(_INTERRUPTED_START))
    if not isinstance(content, str):
        return ""
    text = content.strip()
    if text.startswith("<command-"):
        _, found, rest = text.partition("<command-args>")
        return rest.partition("</command-args>")[0].strip() if found else ""
    return "" if text.startswith((*_HOST_TEXT_STARTS, _INTERRUPTED_START)) else text


def _branch_or_previous(value: object, before: str) -> str:
    """The branch of a line. A detached HEAD is none."""
    return before if not isinstance(value, str) else "" if value == "HEAD" else value


def _string_after(line: bytes, start: bytes, *, last: bool = False) -> str:
    """The short string behind `start`, read from the bytes."""
    at = line.rfind(start) if last else line.find(start)
    found = line[at + len(start) : at + len(start) + 100].partition(b'"')[0] if at >= 0 else b""
    return found.decode("utf-8", "replace")


def _str_or_empty(value: object) -> str:
    return value if isinstance(value, str) else ""
