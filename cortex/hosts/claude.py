"""Claude Code: hooks in its settings; transcripts in a format that its vendor calls internal.

Transcripts are JSON lines; unknown or malformed ones are no error. One message of the model is
split over several lines with the same `message.id`. Lines name their parent: a prompt with the
same parent as a later one was rewound, with all that followed from it. In doubt a line is kept.
Source, looked at in November 2026: code.claude.com/docs/en/hooks.
"""

from __future__ import annotations

import os
from _collections_abc import Sequence
from binascii import crc32

from cortex.core.model.speaker import own_words
from cortex.core.model.turn_summary import PLAN_APPROVAL, Commit, PlannedStep
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.light import dumps
from cortex.core.text.value import Any
from cortex.hosts.host import (
    NESTED_CONTEXT,
    START_SOURCES,
    Host,
    HostEvent,
    McpSettings,
    matcher_group,
)
from cortex.hosts.transcript_reader import (
    UUID_CHARS,
    TranscriptReader,
    content_parts,
    get_dict,
    get_str,
    make_plan_step,
    objects_in,
    parse_json_object,
    parse_plan_steps,
    parse_todos,
    text_content,
)

_MAX_PROMPT_BYTES = 1 << 20  # bytes of a line in which a prompt that was taken back is looked for
_EDIT_TOOLS = {
    "Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}  # fmt: skip
_SHELL_TOOLS = ("Bash", "PowerShell")
_SESSION_KEY = b'"sessionId"'
_SUBAGENTS_FOLDER, _SUBAGENT_PREFIX = "subagents", "agent-"
_INTERRUPTED_START = "[Request interrupted"
_MAX_ADDRESS_CHARS = 300  # of a pull request
_MAX_LINE_IDS = 200_000  # ids of lines; as many stand in a transcript of 400 MB
_MAX_TASKS = 500
_REFUSAL_WORDS = "the user said:"  # before what the person says to a call that they refuse
_CLARIFY_START = "The user wants to clarify these questions"  # said by the host, not by the person
_APPROVED_START = "User has approved your plan"
_ANSWERED_START = "User has answered your questions:"
_ANSWER_RE = lazy_re(r'"([^"\n]{1,400})"="([^"\n]{0,2000})"')
_MODEL_COMMAND = (
    "claude", "-p", "--output-format", "json", "--model", "sonnet", "--tools", "", "--settings",
    '{"disableAllHooks": true}', "--strict-mcp-config", "--no-session-persistence",
)  # fmt: skip


class ClaudeReader(TranscriptReader):
    """Reads one transcript, part by part."""

    def __init__(self) -> None:
        super().__init__()
        self.prompt_by_parent: dict[str, str] = {}  # parent -> the last prompt that has it
        self.rewound_ids: set[str] = set()  # lines that were taken back
        self.seen_ids: set[str] = set()
        self.text_hashes: dict[str, set[int]] = {}  # message id -> hashes of the texts read
        self.tasks: dict[str, PlannedStep] = {}
        self.pending_tasks: dict[str, PlannedStep] = {}
        self.queued_prompts: set[str] = set()
        self.summary_by_leaf: dict[str, str] = {}  # the line that a summary ends with -> its text
        self.sidechain_by_line: dict[str, str] = {}  # line of a side chain -> its name
        self.has_main_lines = self.has_named_sidechain = False

    @staticmethod
    def is_transcript(folder: str, name: str) -> bool:
        """Whether a file holds a session, or the work of a subagent in a folder of theirs."""
        return name.startswith(_SUBAGENT_PREFIX) or _SUBAGENTS_FOLDER not in folder.split(os.sep)

    @staticmethod
    def session_of(line: bytes, before: str, expected: str) -> str:
        """The session that a line names, else that of the line before. The file of a resumed or
        forked session begins with lines of the earlier one."""
        at = line.find(_SESSION_KEY)
        if at < 0:
            return before
        expected_values = (f':"{expected}"'.encode(), f': "{expected}"'.encode())
        if line[at + len(_SESSION_KEY) :].startswith(expected_values):
            return expected
        return get_str(parse_json_object(line) or {}, "sessionId") or before

    @staticmethod
    def copy_key(line: bytes) -> str:
        """As `TranscriptReader.copy_key`: the id that the line has in the first transcript that holds
        it, and a checksum of its message."""
        data = parse_json_object(line) if b'"uuid"' in line else None
        return _copy_key(data) if data else ""

    def identify(self, path: str, session: str) -> tuple[str, str]:
        """The session and the subagent of a file. Names of files and folders come first: lines of
        a resumed session name the earlier one."""
        stem = os.path.basename(path).removesuffix(".jsonl")
        if not (stem.startswith(_SUBAGENT_PREFIX) or self.subagent):
            return stem if len(stem) == UUID_CHARS else session or stem, ""
        folders = os.path.dirname(os.path.abspath(path)).split(os.sep)
        at = folders.index(_SUBAGENTS_FOLDER) - 1 if _SUBAGENTS_FOLDER in folders else -1
        within = folders[at] if at >= 0 and len(folders[at]) == UUID_CHARS else ""
        is_named = stem.startswith(_SUBAGENT_PREFIX)
        agent = stem.removeprefix(_SUBAGENT_PREFIX) if is_named else self.subagent
        return within or session or stem, agent

    def prescan(self, lines: Sequence[bytes]) -> None:
        """Find prompts that were taken back, and whether this is the file of a side chain."""
        for line in lines:
            if len(line) < 2000 and (b'"summary"' in line or b'-title"' in line):
                self._read_title(parse_json_object(line) or {})
            if b'"isSidechain"' in line and not self.has_main_lines:
                aside = b'"isSidechain":true' in line or b'"isSidechain": true' in line
                self.has_main_lines = not aside and (b'"assistant"' in line or b'"user"' in line)
                self.has_named_sidechain |= aside and b'"agentId"' in line
            may_be_prompt = b'"parentUuid"' in line and b'"user"' in line
            if may_be_prompt and b'"tool_result"' not in line and len(line) < _MAX_PROMPT_BYTES:
                self._prescan_prompt(parse_json_object(line) or {})
        self.is_sidechain = self.has_named_sidechain and not self.has_main_lines

    def _prescan_prompt(self, data: dict[str, Any]) -> None:
        is_typed = not any(map(data.get, ("isSidechain", "isMeta", "isCompactSummary")))
        if data.get("type") != "user" or not is_typed:
            return
        parent, own = get_str(data, "parentUuid"), get_str(data, "uuid")
        if parent and own and _typed_text(get_dict(data, "message").get("content")):
            before = self.prompt_by_parent.get(parent)
            if before is not None and before != own:
                self.rewound_ids.add(before)
            self.prompt_by_parent[parent] = own

    def read_line(self, data: dict[str, Any]) -> None:
        """Add what a line tells to the items, unless it stands again or was taken back."""
        type_, id_, parent = data.get("type"), get_str(data, "uuid"), get_str(data, "parentUuid")
        self._read_title(data)
        if type_ == "pr-link" and self.advance_time(data.get("timestamp")):
            if address := "".join(get_str(data, "prUrl")[:_MAX_ADDRESS_CHARS].split()):
                self.add_pull_request(Commit(address, ""), address)
            return
        if id_:
            if id_ in self.seen_ids or self._is_rewound(id_, parent):
                return
            if len(self.seen_ids) < _MAX_LINE_IDS:
                self.seen_ids.add(id_)
            if self.copied and _copy_key(data) in self.copied:
                return
            self.title = self.summary_by_leaf.get(id_) or self.title
        if type_ not in ("user", "assistant", "attachment", "queue-operation"):
            return
        self.session = self.session or get_str(data, "sessionId")
        if not self.advance_time(data.get("timestamp")):
            return
        agent, is_aside = get_str(data, "agentId"), data.get("isSidechain") is True
        self.sidechain = ""
        if self.is_sidechain:
            self.subagent = self.subagent or agent
        elif is_aside:
            self.sidechain = self._sidechain_of(id_, parent, agent)
        self.cwd = get_str(data, "cwd") or self.cwd
        self.is_headless |= get_str(data, "entrypoint").startswith("sdk")
        self.set_branch(data.get("gitBranch"))
        if type_ == "assistant":
            self._read_assistant(data, id_)
        elif type_ == "user":
            self._read_user(data, id_)
        else:
            self._read_queued_prompt(data, id_)

    def _read_title(self, data: dict[str, Any]) -> None:
        title = get_str(data, "aiTitle", "customTitle", "summary")
        if data.get("type") in ("ai-title", "custom-title"):
            self.title = title or self.title
        elif data.get("type") == "summary":
            # A file begins with summaries of other sessions, too: of lines that it does not have.
            leaf = get_str(data, "leafUuid")
            if not leaf or leaf in self.seen_ids:
                self.title = title or self.title
            elif len(self.summary_by_leaf) < _MAX_TASKS:
                self.summary_by_leaf[leaf] = title

    def _sidechain_of(self, id_: str, parent: str, agent: str) -> str:
        """The side chain of a line: the agent that it names, or where its parents begin."""
        chain = agent or self.sidechain_by_line.get(parent, "") or id_ or "aside"
        if id_ and len(self.sidechain_by_line) < _MAX_LINE_IDS:
            self.sidechain_by_line[id_] = chain
        return chain

    def _is_rewound(self, id_: str, parent: str) -> bool:
        if parent in self.rewound_ids:
            self.rewound_ids.add(id_)
        return id_ in self.rewound_ids

    def _read_assistant(self, data: dict[str, Any], line_id: str) -> None:
        if data.get("isApiErrorMessage") is True and isinstance(data.get("message"), dict):
            return
        message = get_dict(data, "message")
        content, id_ = message.get("content"), get_str(message, "id")
        if not isinstance(content, (str, list)):
            self.skipped_lines += 1
            return
        for part in content_parts(content):
            if not isinstance(part, dict):
                self.skipped_lines += 1
            elif part.get("type") == "text":
                self._add_message_text(part.get("text"), id_, line_id or id_)
            elif part.get("type") == "tool_use" and isinstance(part.get("input"), dict):
                tool, call = get_str(part, "name"), get_str(part, "id")
                self.add_call(tool, part["input"], call)
                self._read_tool_call(tool, part["input"], call)

    def _add_message_text(self, text: object, message: str, line: str) -> None:
        """Add one text of a message once, though a growing message may be written several times."""
        if not isinstance(text, str):
            self.skipped_lines += 1
            return
        if message:
            hashes = self.text_hashes.setdefault(message, set())
            if hash(text) in hashes:
                return
            hashes.add(hash(text))
            if len(self.text_hashes) > 64:
                self.text_hashes.pop(next(iter(self.text_hashes)))
        self.add_agent_text(text, message or line)

    def _read_tool_call(self, tool: str, arguments: dict[str, Any], call: str) -> None:
        if tool in _EDIT_TOOLS:
            self.add_edit(arguments.get(_EDIT_TOOLS[tool]), call)
        elif tool in _SHELL_TOOLS:
            self.add_command(arguments.get("command"), call)
        elif tool == "TodoWrite":
            self.add_plan(parse_todos(arguments.get("todos"), "content"), call)
        elif tool == "ExitPlanMode":
            plan = get_str(arguments, "plan")
            self.add_agent_text(plan, call)
            self.add_plan(parse_plan_steps(plan), call)
        elif tool == "TaskCreate":
            subject = arguments.get("subject") or arguments.get("description")
            if step := make_plan_step(subject, done=False):
                self.pending_tasks[call or str(len(self.pending_tasks))] = step
                if len(self.pending_tasks) > _MAX_TASKS:
                    self.pending_tasks.pop(next(iter(self.pending_tasks)))
        elif tool == "TaskUpdate":
            self._update_task(arguments, call)

    def _update_task(self, arguments: dict[str, Any], call: str) -> None:
        id_, status = str(arguments.get("taskId")), arguments.get("status")
        if status == "deleted":
            self.tasks.pop(id_, None)
        elif task := self.tasks.get(id_):
            renamed = make_plan_step(arguments.get("subject"), done=False)
            done = status == "completed" if isinstance(status, str) else task.done
            self.tasks[id_] = PlannedStep((renamed or task).text, done)
        else:
            return
        self.add_plan(list(self.tasks.values()), call)

    def _read_user(self, data: dict[str, Any], id_: str) -> None:
        content = get_dict(data, "message").get("content")
        if data.get("isCompactSummary") is True:
            self.add_summary(text_content(content), id_)
            return
        if not isinstance(content, (str, list)):
            self.skipped_lines += 1
        results = [part for part in objects_in(content) if part.get("type") == "tool_result"]
        for part in results:
            self._read_tool_result(part, get_dict(data, "toolUseResult"))
        if data.get("isMeta") is not True and (text := _typed_text(content)):
            if results:
                self.add_reply(text, "", id_)
            else:
                self.add_prompt(text, id_)

    def _read_tool_result(self, part: dict[str, Any], result: dict[str, Any]) -> None:
        call, failed = part.get("tool_use_id"), part.get("is_error") is True
        answer = text_content(part.get("content"))
        if not isinstance(call, str):
            return
        self.answer_call(call, answer, failed=failed)
        if call in self.pending_tasks:
            step, task = self.pending_tasks.pop(call), get_dict(result, "task")
            number = str(task["id"]) if "id" in task else _task_number(answer)
            if not failed and len(self.tasks) < _MAX_TASKS:
                self.tasks[number or str(len(self.tasks) + 1)] = step
                self.add_plan(list(self.tasks.values()), "")
        elif failed and _REFUSAL_WORDS in answer:
            self._read_refusal(call, answer)
        elif answers := _answers_to_questions(result, answer):
            for question, said in answers:
                self.add_reply(said, question, call)
        elif call in self.pending_calls:
            if not failed and answer.startswith(_APPROVED_START):
                self.add_reply(PLAN_APPROVAL.text, PLAN_APPROVAL.about, call)
            ended = not (result.get("backgroundTaskId") or result.get("interrupted") is True)
            self.finish_call(call, failed, answer, known=ended)

    def _read_refusal(self, call: str, answer: str) -> None:
        """What the person says instead of letting a tool run."""
        command, items = self.pending_calls.pop(call, ("", []))
        what = command or " ".join(os.path.basename(item.text) or item.kind for item in items)
        said = answer.partition(_REFUSAL_WORDS)[2].strip()
        if not said.startswith(_CLARIFY_START):
            self.add_reply(said, f"refused {what}".strip(), call)

    def _read_queued_prompt(self, data: dict[str, Any], id_: str) -> None:
        """What the person typed while the agent worked."""
        attached = get_dict(data, "attachment")
        typed: object = None
        if data.get("type") != "queue-operation":
            typed = attached.get("prompt") if attached.get("type") == "queued_command" else None
        elif data.get("operation") == "remove":
            typed = data.get("content")
        text = _typed_text(typed)
        if text and text not in self.queued_prompts:
            if len(self.queued_prompts) < _MAX_TASKS:
                self.queued_prompts.add(text)
            self.add_reply(text, "", id_)


def _copy_key(data: dict[str, Any]) -> str:
    id_ = get_str(get_dict(data, "forkedFrom"), "messageUuid") or get_str(data, "uuid")
    said = dumps(data.get("message"), sort_keys=True)
    return f"{id_} {crc32(said.encode()):08x}" if id_ and "message" in data else ""


def _answers_to_questions(result: dict[str, Any], text: str) -> list[tuple[str, object]]:
    """The questions that the agent has asked, each with the person's answer: from the structured
    `result`, else read from its `text`."""
    if isinstance(answers := result.get("answers"), dict):
        return [(str(question), answer) for question, answer in answers.items()]
    return _ANSWER_RE.findall(text) if text.startswith(_ANSWERED_START) else []


def _task_number(answer: str) -> str:
    """The number in `Task #3 created successfully`; empty when there is none."""
    word = answer[:100].partition("#")[2].split(" ")[0].rstrip(":.,")
    return word if word.isdecimal() and len(word) < 10 else ""


def _typed_text(content: object) -> str:
    """What a person typed; empty for a tool's answer, or for what the host says in their name."""
    if isinstance(content, list):
        parts = (one for one in objects_in(content) if one.get("type") == "text")
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        content = "\n".join(text for text in texts if not text.startswith(_INTERRUPTED_START))
    if not isinstance(content, str):
        return ""
    text = content.strip()
    if text.startswith("<command-"):
        arguments = text.partition("<command-args>")[2]
        return arguments.partition("</command-args>")[0].strip()
    return own_words(text)


def make_entry(on: HostEvent, line: str, words: list[str]) -> dict[str, object]:
    """An entry of the settings: a handler that runs `words`, or if there are none `line`."""
    run = {"command": words[0], "args": words[1:]} if words else {"command": line}
    limits = {"timeout": on.timeout_seconds, **({"async": True} if on.is_background else {})}
    return matcher_group(on, {"type": "command", **run, **limits})


HOST = Host(
    "claude",
    "Claude Code",
    mcp=McpSettings(".mcp.json", "mcpServers", ".claude.json", asks="whether the server may run"),
    events=(
        HostEvent("SessionStart", "session-start", matcher=f"{START_SOURCES}|fork"),
        HostEvent("UserPromptSubmit", "user-prompt-submit"),
        HostEvent("PreCompact", "pre-compact"),
        HostEvent("PostCompact", "post-compact"),
        HostEvent("Stop", "stop", is_background=True),
        HostEvent("SubagentStop", "subagent-stop", is_background=True),
        HostEvent("SessionEnd", "session-end", 5),
    ),
    make_entry=make_entry,
    next_step="start Claude Code anew, or look at /hooks in it; it asks whether you trust the folder",
    model_command=_MODEL_COMMAND,
    settings_folder=".claude",
    settings_file="settings.json",
    home_variable="CLAUDE_CONFIG_DIR",
    local_file="settings.local.json",
    context_key=NESTED_CONTEXT,
    context_events=("session-start", "user-prompt-submit"),
    reader=ClaudeReader,
    resume_command=("claude", "--resume"),
    transcript_folders=("projects",),
)
