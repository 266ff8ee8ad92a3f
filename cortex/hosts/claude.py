"""Claude Code's transcripts: JSON lines whose shape its vendor calls internal, so nothing unknown or malformed is an error.

One message of the model is split over several lines with the same `message.id`. Lines name their parent: a prompt that has
the same parent as a later one was taken back, with all that followed from it. Anything less certain is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from cortex.core.model.turn_summary import Step
from cortex.core.text.value import TYPE_CHECKING
from cortex.hosts.transcript_item import Piece, Read, read_all
from cortex.hosts.transcript_reader import Telling, object_of, step, steps_in, text_of

if TYPE_CHECKING:
    from typing import Any

_LONG = 64 * 1024  # bytes; a longer line that is only a tool's answer is not parsed
_EDITS = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
_SHELLS = ("Bash", "PowerShell")
_NOT_TYPED = (
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<user-memory-input>",
    "Caveat: The messages below",
)
_SESSION = b'"sessionId"'
_INTERRUPTED = "[Request interrupted"
_MOST_SEEN = 200_000  # ids of lines; as many stand in a transcript of 400 MB
_MOST_TASKS = 500


def read(lines: list[bytes], root: str, since: str = "") -> Read:
    """What the lines tell that are later than `since`. `root`: the project's folder, to which paths are relative. A part may
    begin anywhere: where parents are unknown, the order of the file counts."""
    return read_all(reader(), lines, root, since)


def reader() -> ClaudeReader:
    """A reader for one transcript."""
    return ClaudeReader()


class ClaudeReader(Telling):
    """Reads one transcript, part by part."""

    def __init__(self) -> None:
        super().__init__()
        self.prompts: dict[str, str] = {}  # parent -> the last prompt that has it
        self.rewound: set[str] = set()  # lines that were taken back
        self.seen: set[str] = set()
        self.texts: dict[str, set[int]] = {}  # message id -> hashes of its texts that were told
        self.tasks: dict[str, Step] = {}
        self.creating: dict[str, Step] = {}
        self.steered: set[str] = set()
        self.chains: dict[str, str] = {}  # line of a side chain -> the name of that chain
        self.main = self.named_aside = False

    def glance(self, lines: Sequence[bytes]) -> None:
        """Find prompts that were taken back, and whether this is the file of a side chain."""
        for line in lines:
            if b'"isSidechain"' in line and not self.main:
                aside = b'"isSidechain":true' in line or b'"isSidechain": true' in line
                self.main = self.main or (
                    not aside and (b'"assistant"' in line or b'"user"' in line)
                )
                self.named_aside = self.named_aside or (aside and b'"agentId"' in line)
            if (
                b'"parentUuid"' in line
                and b'"user"' in line
                and b'"tool_result"' not in line
                and len(line) < _LONG * 16
            ):
                self._glance_at(line)
        self.aside = self.named_aside and not self.main

    def _glance_at(self, line: bytes) -> None:
        told = object_of(line)
        if (
            not told
            or told.get("type") != "user"
            or told.get("isSidechain")
            or told.get("isMeta")
            or told.get("isCompactSummary")
        ):
            return
        parent, own = told.get("parentUuid"), told.get("uuid")
        if isinstance(parent, str) and isinstance(own, str) and parent and _typed(_content(told)):
            before = self.prompts.get(parent)
            if before is not None and before != own:
                self.rewound.add(before)
            self.prompts[parent] = own

    def feed(self, lines: Sequence[bytes]) -> list[Piece]:
        """The pieces that these lines tell."""
        for line in lines:
            if len(line) > _LONG and self._long(line):
                continue
            told = object_of(line)
            if told is None:
                self.skipped += 1
                continue
            self._line(told)
        return self.taken()

    def _line(self, told: dict[str, Any]) -> None:
        type_, id_ = told.get("type"), _text(told.get("uuid"))
        if type_ in ("ai-title", "summary", "custom-title"):
            self.title = (
                _text(told.get("aiTitle"))
                or _text(told.get("customTitle"))
                or _text(told.get("summary"))
                or self.title
            )
        if id_:
            if id_ in self.seen or self._taken_back(id_, told.get("parentUuid")):
                return
            if len(self.seen) < _MOST_SEEN:
                self.seen.add(id_)
        if type_ not in ("user", "assistant", "attachment", "queue-operation"):
            return
        self.session = self.session or _text(told.get("sessionId"))
        if not self.moment(told.get("timestamp")):
            return
        agent = _text(told.get("agentId"))
        self.chain = (
            self._chain(id_, told.get("parentUuid"), agent)
            if told.get("isSidechain") is True and not self.aside
            else ""
        )
        self.agent = self.agent or (agent if self.aside else "")
        self.cwd = _text(told.get("cwd")) or self.cwd
        self.branch = _branch(told.get("gitBranch"), self.branch)
        if type_ == "assistant":
            self._assistant(told, id_)
        elif type_ == "user":
            self._user(told, id_)
        else:
            self._steered(told, id_)

    def _chain(self, id_: str, parent: object, agent: str) -> str:
        """The side chain of a line: the agent that it names, or where its parents begin."""
        chain = (
            agent
            or (self.chains.get(parent, "") if isinstance(parent, str) else "")
            or id_
            or "aside"
        )
        if id_ and len(self.chains) < _MOST_SEEN:
            self.chains[id_] = chain
        return chain

    def _taken_back(self, id_: str, parent: object) -> bool:
        if id_ in self.rewound:
            return True
        if isinstance(parent, str) and parent in self.rewound:
            self.rewound.add(id_)
            return True
        return False

    def _assistant(self, told: dict[str, Any], line_id: str) -> None:
        message = told.get("message")
        if not isinstance(message, dict):
            self.skipped += 1
            return
        if told.get("isApiErrorMessage") is True:
            return
        content, id_ = message.get("content"), _text(message.get("id"))
        if not isinstance(content, (str, list)):
            self.skipped += 1
            return
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if not isinstance(part, dict):
                self.skipped += 1
            elif part.get("type") == "text":
                self._said(part.get("text"), id_, line_id or id_)
            elif part.get("type") == "tool_use":
                self._called(part)

    def _said(self, text: object, message: str, line: str) -> None:
        """One text of a message. A host that writes a message again as it grows writes each of its texts once more."""
        if not isinstance(text, str):
            self.skipped += 1
            return
        if message:
            told = self.texts.setdefault(message, set())
            if hash(text) in told:
                return
            told.add(hash(text))
            if len(self.texts) > 64:
                self.texts.pop(next(iter(self.texts)))
        self.say(text, message or line)

    def _called(self, part: dict[str, Any]) -> None:
        name, call, given = part.get("name"), _text(part.get("id")), part.get("input")
        if not isinstance(given, dict):
            return
        if name in _EDITS:
            self.edit(given.get(_EDITS[name]), call)
        elif name in _SHELLS:
            self.ask(given.get("command"), call)
        elif name == "TodoWrite" and isinstance(given.get("todos"), list):
            todos = (
                step(one.get("content"), one.get("status") == "completed")
                for one in given["todos"]
                if isinstance(one, dict)
            )
            self.planned([one for one in todos if one], call)
        elif name == "ExitPlanMode" and isinstance(given.get("plan"), str):
            self.planned(steps_in(given["plan"]), call)
        elif name == "TaskCreate" and (
            one := step(given.get("subject") or given.get("description"), done=False)
        ):
            self.creating[call or str(len(self.creating))] = one
            if len(self.creating) > _MOST_TASKS:
                self.creating.pop(next(iter(self.creating)))
        elif name == "TaskUpdate":
            self._task(given, call)

    def _task(self, given: dict[str, Any], call: str) -> None:
        id_, status = str(given.get("taskId")), given.get("status")
        if status == "deleted":
            self.tasks.pop(id_, None)
        elif id_ in self.tasks:
            held = self.tasks[id_]
            named = step(given.get("subject"), done=False)
            self.tasks[id_] = Step(
                named.text if named else held.text,
                status == "completed" if isinstance(status, str) else held.done,
            )
        else:
            return
        self.planned(list(self.tasks.values()), call)

    def _user(self, told: dict[str, Any], id_: str) -> None:
        content = _content(told)
        if told.get("isCompactSummary") is True:
            self.summary(text_of(content), id_)
            return
        if isinstance(content, list):
            for part in content:
                if isinstance(part, dict) and part.get("type") == "tool_result":
                    self._answered(part, told.get("toolUseResult"))
        elif not isinstance(content, str):
            self.skipped += 1
        if told.get("isMeta") is not True and (text := _typed(content)):
            self.prompt(text, id_)

    def _answered(self, part: dict[str, Any], result: object) -> None:
        call, failed = part.get("tool_use_id"), part.get("is_error") is True
        if not isinstance(call, str):
            return
        if call in self.creating:
            created = self.creating.pop(call)
            task = result.get("task") if isinstance(result, dict) else None
            id_ = (
                str(task["id"])
                if isinstance(task, dict) and "id" in task
                else _number(text_of(part.get("content"))) or str(len(self.tasks) + 1)
            )
            if not failed and len(self.tasks) < _MOST_TASKS:
                self.tasks[id_] = created
                self.planned(list(self.tasks.values()), "")
            return
        if call in self.calls:
            ended = not (
                isinstance(result, dict)
                and (result.get("backgroundTaskId") or result.get("interrupted") is True)
            )
            self.answer(call, failed, text_of(part.get("content")), known=ended)

    def _steered(self, told: dict[str, Any], id_: str) -> None:
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
        text = _typed(text)
        if text and text not in self.steered:
            if len(self.steered) < _MOST_TASKS:
                self.steered.add(text)
            self.prompt(text, id_)

    def _long(self, line: bytes) -> bool:
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
        call = _between(line, b'"tool_use_id":"')
        if call in self.creating or b'"backgroundTaskId"' in line or b'"interrupted":true' in line:
            return False
        id_, parent = _between(line, b'"uuid":"'), _between(line, b'"parentUuid":"')
        if id_ and (id_ in self.seen or self._taken_back(id_, parent)):
            return True
        aside = b'"isSidechain":true' in line and not self.aside
        self.chain = self._chain(id_, parent, _between(line, b'"agentId":"')) if aside else ""
        if id_ and len(self.seen) < _MOST_SEEN:
            self.seen.add(id_)
        if self.moment(_between(line, b'"timestamp":"', last=True)):
            self.answer(call, failed=False)
        return True


def session_of(line: bytes, before: str, expected: str) -> str:
    """The session that a line names, else that of the line before. The file of a session that was resumed or forked begins with lines of
    the one before it."""
    at = line.find(_SESSION)
    if at < 0:
        return before
    if line[at + len(_SESSION) :].startswith(
        (f':"{expected}"'.encode(), f': "{expected}"'.encode())
    ):
        return expected
    told = object_of(line)
    return (_text(told.get("sessionId")) if told else "") or before


def _number(answer: str) -> str:
    """The number in `Task #3 created successfully`; empty when there is none."""
    word = answer[:100].partition("#")[2].split(" ")[0].rstrip(":.,")
    return word if word.isdecimal() and len(word) < 10 else ""


def _content(told: dict[str, Any]) -> object:
    message = told.get("message")
    return message.get("content") if isinstance(message, dict) else None


def _typed(content: object) -> str:
    """What a person typed, of a message that may be something else: a tool's answer, or what the host says in their name."""
    if isinstance(content, list):
        texts = [
            part["text"]
            for part in content
            if isinstance(part, dict)
            and part.get("type") == "text"
            and isinstance(part.get("text"), str)
        ]
        content = "\n".join(text for text in texts if not text.startswith(_INTERRUPTED))
    if not isinstance(content, str):
        return ""
    text = content.strip()
    if text.startswith("<command-"):
        _, found, rest = text.partition("<command-args>")
        return rest.partition("</command-args>")[0].strip() if found else ""
    return "" if text.startswith((*_NOT_TYPED, _INTERRUPTED)) else text


def _branch(value: object, before: str) -> str:
    """The branch of a line. A detached HEAD is none."""
    return before if not isinstance(value, str) else "" if value == "HEAD" else value


def _between(line: bytes, start: bytes, *, last: bool = False) -> str:
    """The short string behind `start`, read from the bytes."""
    at = line.rfind(start) if last else line.find(start)
    found = line[at + len(start) : at + len(start) + 100].partition(b'"')[0] if at >= 0 else b""
    return found.decode("utf-8", "replace")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
