"""Codex: hooks in a file of their own; transcripts (rollouts) that hold most messages twice.

A line of a rollout is `{timestamp, type, payload}`. A message is a `response_item` and, mostly,
also an `event_msg`: of two with the same words the second is skipped, so that files with only one
of the two kinds are complete. Source: developers.openai.com/codex/hooks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from cortex.core.model.speaker import own_words
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import TYPE_CHECKING, Any
from cortex.hosts.host import (
    FIELDS,
    NESTED_CONTEXT,
    START_SOURCES,
    Host,
    HostEvent,
    McpSettings,
    matcher_group,
)
from cortex.hosts.transcript_reader import (
    TranscriptReader,
    get_dict,
    get_str,
    objects_in,
    parse_json_object,
    parse_todos,
    text_content,
)

if TYPE_CHECKING:
    from cortex.hosts.transcript_item import TranscriptItem

_SHELL_TOOLS = (
    "shell", "shell_command", "exec_command", "local_shell", "container.exec", "unified_exec",
)  # fmt: skip
_SESSION_KEYS = ("id", "session_id")
# In what the host says in the person's name: what stands before and behind the working directory.
_CWD_MARKS = (("Current working directory: ", "\n"), ("<cwd>", "</cwd>"))
_PATCH_FILE_MARKS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
_FAILED_STARTS = (
    "apply_patch verification failed", "failed to apply patch", "execution error", "Error:",
)  # fmt: skip
_EXIT_CODE_MARKS = ("process exited with code ", "exit code: ")
_MAX_QUESTIONS = 100  # calls that wait for the person's answers
# Before a prompt its editor puts what is open; the person's words follow the last of these.
_REQUEST_RE = lazy_re(r"(?m)^## My request(?: for Codex)?[:：][ \t]*$")
# A prompt of a file begins with what was typed behind its name, as spec-kit's do.
_TYPED_RE = lazy_re(r"\s*#+ User Input\s+```\w*\n(.*?)\n```", re.DOTALL)
_MAX_UNMATCHED_TEXTS = 200  # texts that wait for their twin
_MODEL_COMMAND = (
    "codex", "exec", "--skip-git-repo-check", "--sandbox", "read-only", "--ephemeral", "--color",
    "never", "-",
)  # fmt: skip


class CodexReader(TranscriptReader):
    """Reads one rollout, part by part."""

    def __init__(self) -> None:
        super().__init__()
        self.unmatched_texts: dict[str, list[str]] = {"response_item": [], "event_msg": []}
        self.turn_number = 0  # which prompt this is
        self.rollback_count = 0  # how many were taken back so far
        self.rolled_back_turns: set[int] = set()  # turns that were taken back
        self.questions: dict[str, dict[str, str]] = {}  # call -> id of a question -> its text
        self._prescan_reader: CodexReader | None = None  # counts turns while prescanning
        self._live_turns: list[int] = []

    @staticmethod
    def is_transcript(_folder: str, name: str) -> bool:
        """Whether a file is a rollout."""
        return name.startswith("rollout-")

    @staticmethod
    def session_of(line: bytes, before: str, _expected: str) -> str:
        """The session of the first line, for all lines: a fork names its parent's later."""
        if before or b"session_meta" not in line:
            return before
        data = parse_json_object(line)
        is_first = data is not None and data.get("type") == "session_meta"
        payload = get_dict(data, "payload") if data and is_first else {}
        return get_str(payload, *_SESSION_KEYS)

    def identify(self, path: str, session: str) -> tuple[str, str]:
        """The session that began a subagent's, and the subagent; else the session and nothing."""
        parent = self.parent_session if self.is_sidechain else ""
        return parent or session or os.path.basename(path).removesuffix(".jsonl"), self.subagent

    def prescan(self, lines: Sequence[bytes]) -> None:
        """Find turns that were taken back."""
        counter = self._prescan_reader = self._prescan_reader or CodexReader()
        counter.since = self.since
        for line in lines:
            if b"user" not in line and b"thread_rolled_back" not in line:
                continue
            turns_before, rolled_back_before = counter.turn_number, counter.rollback_count
            counter.feed([line])
            if count := counter.rollback_count - rolled_back_before:
                if count <= len(self._live_turns):
                    self.rolled_back_turns.update(self._live_turns[-count:])
                del self._live_turns[-count:]
            else:
                self._live_turns += range(turns_before + 1, counter.turn_number + 1)

    def take_items(self) -> list[TranscriptItem]:
        """The items since the last time; none of a turn that was taken back."""
        items = super().take_items()
        return [] if self.turn_number in self.rolled_back_turns else items

    def feed(self, lines: Sequence[bytes]) -> list[TranscriptItem]:
        """The items of these lines, taken line by line: each may belong to another turn."""
        return [item for line in lines for item in TranscriptReader.feed(self, [line])]

    def read_line(self, data: dict[str, Any]) -> None:
        """Add what a line tells to the items."""
        type_, item = data.get("type"), data.get("payload")
        if not isinstance(item, dict):
            self.skipped_lines += 1
            return
        if not self.advance_time(data.get("timestamp")):
            return
        kind = item.get("type")
        if type_ in ("session_meta", "turn_context"):
            self._read_context(item)
        elif type_ == "response_item":
            self._read_item(item, kind)
        elif type_ == "event_msg" and kind in ("agent_message", "user_message"):
            self._read_message("event_msg", kind == "agent_message", item.get("message"), "")
        elif type_ == "event_msg" and kind == "thread_name_updated":
            self.title = get_str(item, "thread_name") or self.title
        elif type_ == "event_msg" and kind == "thread_rolled_back":
            count = item.get("num_turns")
            self.rollback_count += count if isinstance(count, int) and 0 < count < 1_000_000 else 0
            self.turn_number += 1  # what follows belongs to no turn before
        elif type_ == "compacted":
            self.add_summary(item.get("message"), "")

    def _read_context(self, item: dict[str, Any]) -> None:
        """Read session, folder and branch. In a forked rollout the parent's come later."""
        if not self.session:
            self.session = get_str(item, *_SESSION_KEYS)
            source = get_dict(item, "source")
            self.is_sidechain = item.get("thread_source") == "subagent" or "subagent" in source
            if self.is_sidechain:
                thread = get_dict(get_dict(source, "subagent"), "thread_spawn")
                names = ("parent_thread_id",) if thread else ("parent_thread_id", "forked_from_id")
                self.subagent, self.parent_session = self.session, get_str(thread or item, *names)
        self.cwd = get_str(item, "cwd") or self.cwd
        git = item.get("git")
        self.set_branch(git.get("branch") if isinstance(git, dict) else item.get("git_branch"))

    def _read_item(self, item: dict[str, Any], kind: object) -> None:
        call = get_str(item, "call_id")
        if kind == "message" and item.get("role") in ("assistant", "user"):
            is_agent, text = item["role"] == "assistant", text_content(item.get("content"))
            self._read_message("response_item", is_agent, text, get_str(item, "id"))
        elif kind == "local_shell_call":
            action = get_dict(item, "action")
            self.add_call("shell", action, call)
            self._read_command(action.get("command"), get_str(action, "working_directory"), call)
        elif kind in ("function_call", "custom_tool_call"):
            arguments = item.get("arguments" if kind == "function_call" else "input")
            self._read_tool_call(item.get("name"), arguments, call)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            text, code = tool_output(item.get("output"))
            self._read_answers(call, item.get("output"))
            self.finish_call(call, code not in ("", "0"), text, code, known=bool(code))

    def _read_message(self, source: str, is_agent: bool, text: object, id_: str) -> None:
        if not isinstance(text, str) or not text.strip():
            return
        if not (is_agent or own_words(text)):
            self.cwd = self.cwd or _cwd_in(text)
            return
        words = f"{is_agent:d} {' '.join(text.split())}"
        twins = self.unmatched_texts["event_msg" if source == "response_item" else "response_item"]
        if words in twins:
            twins.remove(words)
            return
        waiting = self.unmatched_texts[source]
        waiting.append(words)
        del waiting[:-_MAX_UNMATCHED_TEXTS]
        if is_agent:
            self.add_agent_text(text, id_)
        else:
            self.turn_number += 1
            typed = _TYPED_RE.match(text)
            self.add_prompt(typed[1] if typed else _REQUEST_RE.split(text)[-1].strip() or text, id_)

    def _read_answers(self, call: str, output: object) -> None:
        """What the person answers to the questions of a call."""
        questions = self.questions.pop(call, {})
        text = output if isinstance(output, str) else ""
        data = parse_json_object(text.encode("utf-8", "replace")) or {}
        for name, answer in get_dict(data, "answers").items() if questions else ():
            said = answer.get("answers") if isinstance(answer, dict) else None
            if isinstance(said, list):
                words = ", ".join(one for one in said if isinstance(one, str))
                self.add_reply(words, questions.get(name, ""), call)

    def _read_tool_call(self, name: object, arguments: object, call: str) -> None:
        table: object = arguments
        if isinstance(arguments, str) and arguments.lstrip().startswith("{"):
            table = parse_json_object(arguments.encode("utf-8", "replace"))
        self.add_call(name, table or arguments, call)
        if name == "apply_patch":
            in_table = isinstance(table, dict) and (table.get("input") or table.get("patch"))
            self._read_patch(in_table if isinstance(table, dict) else arguments, "", call)
        elif isinstance(table, dict) and name in _SHELL_TOOLS:
            command = table.get("command") if "command" in table else table.get("cmd")
            self._read_command(command, get_str(table, "workdir"), call)
        elif isinstance(table, dict) and name == "update_plan":
            self.add_plan(parse_todos(table.get("plan"), "step"), call)
        elif isinstance(table, dict) and name == "request_user_input":
            questions = objects_in(table.get("questions"))
            texts = {get_str(one, "id"): get_str(one, "question") for one in questions}
            if len(self.questions) < _MAX_QUESTIONS:
                self.questions[call] = texts

    def _read_command(self, command: object, workdir: str, call: str) -> None:
        if isinstance(command, list):
            words = [word for word in command if isinstance(word, str)]
            # `bash -lc "what it runs"`
            command = words[2] if len(words) > 2 and words[1] in ("-lc", "-c") else " ".join(words)
        if isinstance(command, str) and "*** Begin Patch" in command:
            self._read_patch(command, workdir, call)
        else:
            self.add_command(command, call)

    def _read_patch(self, patch: object, workdir: str, call: str) -> None:
        for line in patch.splitlines() if isinstance(patch, str) else ():
            if start := next((mark for mark in _PATCH_FILE_MARKS if line.startswith(mark)), ""):
                self.add_edit(os.path.join(workdir, line[len(start) :].strip()), call)


def _cwd_in(text: str) -> str:
    """The working directory in a message of the host; old rollouts have it nowhere else."""
    for start, end in _CWD_MARKS:
        _, marked, rest = text.partition(start)
        path = rest.partition(end)[0].strip()
        if marked and os.path.isabs(path):
            return path
    return ""


def tool_output(output: object) -> tuple[str, str]:
    """The answer of a tool and its exit code, empty if there is none. `output` is JSON, a list of
    parts, or text with a header."""
    if isinstance(output, str) and output.lstrip().startswith("{"):
        output = parse_json_object(output.encode("utf-8", "replace")) or output
    if isinstance(output, dict):
        about = output.get("metadata")
        code = about.get("exit_code") if isinstance(about, dict) else output.get("exit_code")
        inner = output["output"] if "output" in output else output.get("content")
        if isinstance(inner, str) and not inner.lstrip().startswith("{"):
            text, inner_code = tool_output(inner)
        else:
            text, inner_code = text_content(inner), ""
        if isinstance(code, int) and not isinstance(code, bool):
            return text, str(code)
        return text, "1" if output.get("success") is False else inner_code
    text = text_content(output)
    head, has_head, rest = text.partition("Output:\n")
    for line in head.lower().splitlines()[:12] if has_head or len(head) < 4000 else ():
        for mark in _EXIT_CODE_MARKS:
            number = line.removeprefix(mark).strip().rstrip(".").lstrip("-")
            if line.startswith(mark) and number.isdigit():
                return rest if has_head else text, number
    return text, "1" if text.startswith(_FAILED_STARTS) else ""


def make_entry(on: HostEvent, line: str, _words: list[str]) -> dict[str, object]:
    """An entry of the settings."""
    handler = {"type": "command", "command": line, "timeout": on.timeout_seconds}
    shown = {"statusMessage": "Cortex: what is known here"} if on.event == "session-start" else {}
    return matcher_group(on, {**handler, **shown})


HOST = Host(
    "codex",
    "Codex",
    mcp=McpSettings(".codex/config.toml", "mcp_servers", asks="whether the folder is trusted"),
    events=(
        HostEvent("SessionStart", "session-start", matcher=START_SOURCES),
        HostEvent("UserPromptSubmit", "user-prompt-submit"),
        HostEvent("PreCompact", "pre-compact"),
        HostEvent("PostCompact", "post-compact"),
        HostEvent("Stop", "stop"),
        HostEvent("SubagentStop", "subagent-stop"),
        HostEvent("SessionEnd", "session-end", 3),  # Codex grants no more
    ),
    make_entry=make_entry,
    next_step="trust the new hooks in Codex (/hooks): it runs none that nobody has looked at",
    model_command=_MODEL_COMMAND,
    settings_folder=".codex",
    settings_file="hooks.json",
    home_variable="CODEX_HOME",
    fields=FIELDS | {"turn": ("turn_id",)},
    context_key=NESTED_CONTEXT,
    context_events=("session-start", "user-prompt-submit"),
    json_events=("stop", "subagent-stop"),
    reader=CodexReader,
    resume_command=("codex", "resume"),
    transcript_folders=("sessions", "archived_sessions"),
)
