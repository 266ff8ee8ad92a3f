"""Codex rollouts: lines of `{timestamp, type, payload}`, of which two kinds tell the same conversation. Before that there
were lines that are only what is now the payload of a `response_item`, behind one that says when the session began.

What is said stands in a `response_item` and, mostly, once more in an `event_msg`: whichever comes second with the same words
is passed over, so that a file with only one of the two loses nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from cortex.core.text.value import TYPE_CHECKING
from cortex.hosts.transcript_item import ParsedLines, TranscriptItem, parse_with
from cortex.hosts.transcript_reader import (
    TranscriptReader,
    absolute_path,
    make_plan_step,
    parse_json_object,
    text_content,
)

if TYPE_CHECKING:
    from typing import Any

_HOST_TEXT_STARTS = (
    "<environment_context", "<user_instructions", "<INSTRUCTIONS", "# AGENTS.md instructions", "<permissions", "<turn_aborted", "<skill",
    "<subagent_notification", "<user_shell_command", "<collaboration_mode", "<personality", "<recommended_plugins", "<apps_instructions",
)  # fmt: skip
_SHELL_TOOLS = (
    "shell",
    "shell_command",
    "exec_command",
    "local_shell",
    "container.exec",
    "unified_exec",
)
_BARE_ITEM_TYPES = (
    "message", "reasoning", "function_call", "function_call_output", "local_shell_call", "local_shell_call_output", "custom_tool_call",
    "custom_tool_call_output", "web_search_call",
)  # fmt: skip
_CWD_MARKS = (
    ("Current working directory: ", "\n"),
    ("<cwd>", "</cwd>"),
)  # in what the host says in the person's name
_PATCH_FILE_MARKS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
_EXIT_CODE_MARKS = ("process exited with code ", "exit code: ")
_MAX_TURNS = 1_000_000
_MAX_UNMATCHED_TEXTS = 200  # texts that wait for their twin


def read(lines: list[bytes], root: str, since: str = "") -> ParsedLines:
    """What the lines tell that are later than `since`. `root`: the project's folder, to which paths are relative."""
    return parse_with(reader(), lines, root, since)


def reader() -> CodexReader:
    """A reader for one rollout."""
    return CodexReader()


class CodexReader(TranscriptReader):
    """Reads one rollout, part by part."""

    def __init__(self) -> None:
        super().__init__()
        self.unmatched_texts: dict[str, list[str]] = {"response_item": [], "event_msg": []}
        self.turn_number = 0  # which prompt this is
        self.rollback_count = 0  # how many were taken back so far
        self.rolled_back_turns: set[int] = set()  # turns that were taken back
        self._prescan_reader: CodexReader | None = None  # what the glance counts turns with
        self._live_turns: list[int] = []

    def prescan(self, lines: Sequence[bytes]) -> None:
        """Find turns that were taken back."""
        seen = self._prescan_reader = self._prescan_reader or CodexReader()
        seen.since = self.since
        for line in lines:
            if b"user" not in line and b"thread_rolled_back" not in line:
                continue
            before, undone = seen.turn_number, seen.rollback_count
            seen.feed([line])
            if count := seen.rollback_count - undone:
                self.rolled_back_turns.update(
                    self._live_turns[-count:] if count <= len(self._live_turns) else ()
                )
                del self._live_turns[-count:]
            else:
                self._live_turns += range(before + 1, seen.turn_number + 1)

    def take_items(self) -> list[TranscriptItem]:
        """The pieces since the last time; none of a turn that was taken back."""
        found = super().take_items()
        return [] if self.turn_number in self.rolled_back_turns else found

    def feed(self, lines: Sequence[bytes]) -> list[TranscriptItem]:
        """The pieces that these lines tell."""
        return [piece for line in lines for piece in self._feed_line(line)]

    def _feed_line(self, line: bytes) -> list[TranscriptItem]:
        told = parse_json_object(line)
        item = told.get("payload") if told else None
        if told is not None and "payload" not in told:
            self._read_bare_line(told)
        elif told is None or not isinstance(item, dict):
            self.skipped_lines += 1
        elif self.advance_time(told.get("timestamp")):
            self._read_line(told.get("type"), item)
        return self.take_items()

    def _read_line(self, type_: object, item: dict[str, Any]) -> None:
        if type_ in ("session_meta", "turn_context"):
            self._read_context(item)
        elif type_ == "response_item":
            self._read_item(item, item.get("type"))
        elif type_ == "event_msg" and item.get("type") in ("agent_message", "user_message"):
            self._read_message(
                "event_msg", item.get("type") == "agent_message", item.get("message"), ""
            )
        elif type_ == "event_msg" and item.get("type") == "thread_rolled_back":
            count = item.get("num_turns")
            self.rollback_count += count if isinstance(count, int) and 0 < count < _MAX_TURNS else 0
            self.turn_number += 1  # what follows belongs to no turn before
        elif type_ == "compacted":
            self.add_summary(item.get("message"), "")

    def _read_bare_line(self, told: dict[str, Any]) -> None:
        """A line of the old form."""
        type_ = told.get("type")
        if type_ in _BARE_ITEM_TYPES:
            if self.advance_time(told.get("timestamp")):
                self._read_item(told, type_)
        elif type_ is None and isinstance(told.get("id"), str):
            if self.advance_time(told.get("timestamp")):
                self._read_context(told)
        elif "record_type" not in told:
            self.skipped_lines += 1

    def _read_context(self, item: dict[str, Any]) -> None:
        """Where the session is. A rollout that was forked tells its parent's beginning behind its own: the first counts."""
        if not self.session:
            self.session = next(
                (item[key] for key in ("id", "session_id") if isinstance(item.get(key), str)), ""
            )
            source = item.get("source")
            self.is_sidechain = item.get("thread_source") == "subagent" or (
                isinstance(source, dict) and "subagent" in source
            )
            if self.is_sidechain:
                self.subagent, self.parent_session = self.session, _parent_session_of(item, source)
        self.cwd = item["cwd"] if isinstance(item.get("cwd"), str) else self.cwd
        git = item.get("git")
        branch = git.get("branch") if isinstance(git, dict) else item.get("git_branch")
        if isinstance(branch, str):
            self.branch = "" if branch == "HEAD" else branch

    def _read_item(self, item: dict[str, Any], type_: object) -> None:
        call = item.get("call_id") if isinstance(item.get("call_id"), str) else ""
        assert isinstance(call, str)
        if type_ == "message" and item.get("role") in ("assistant", "user"):
            id_ = item.get("id")
            self._read_message(
                "response_item",
                item["role"] == "assistant",
                text_content(item.get("content")),
                id_ if isinstance(id_, str) else "",
            )
        elif type_ == "local_shell_call":
            action = item.get("action")
            if isinstance(action, dict):
                self._read_command(action.get("command"), action.get("working_directory"), call)
        elif type_ in ("function_call", "custom_tool_call"):
            self._read_tool_call(
                item.get("name"),
                item.get("arguments") if type_ == "function_call" else item.get("input"),
                call,
            )
        elif type_ in ("function_call_output", "custom_tool_call_output"):
            self._read_tool_result(call, item.get("output"))

    def _read_message(self, source: str, agent: bool, text: object, id_: str) -> None:
        if not isinstance(text, str) or not text.strip():
            return
        if not agent and text.lstrip().startswith(_HOST_TEXT_STARTS):
            self.cwd = self.cwd or _cwd_in(text)
            return
        words = f"{agent:d} {' '.join(text.split())}"
        twins = self.unmatched_texts["event_msg" if source == "response_item" else "response_item"]
        if words in twins:
            twins.remove(words)
            return
        waiting = self.unmatched_texts[source]
        waiting.append(words)
        del waiting[:-_MAX_UNMATCHED_TEXTS]
        if agent:
            self.add_agent_text(text, id_)
        else:
            self.turn_number += 1
            self.add_prompt(text, id_)

    def _read_tool_call(self, name: object, given: object, call: str) -> None:
        held = (
            parse_json_object(given.encode("utf-8", "replace"))
            if isinstance(given, str) and given.lstrip().startswith("{")
            else given
        )
        if isinstance(held, dict) and name in _SHELL_TOOLS:
            self._read_command(
                held.get("command") if "command" in held else held.get("cmd"),
                held.get("workdir"),
                call,
            )
        elif (
            name == "update_plan" and isinstance(held, dict) and isinstance(held.get("plan"), list)
        ):
            steps = (
                make_plan_step(one.get("step"), one.get("status") == "completed")
                for one in held["plan"]
                if isinstance(one, dict)
            )
            self.add_plan([one for one in steps if one], call)
        elif name == "apply_patch":
            patch = held.get("input") or held.get("patch") if isinstance(held, dict) else given
            self._read_patch(patch, "", call)

    def _read_command(self, command: object, workdir: object, call: str) -> None:
        if isinstance(command, list):
            words = [word for word in command if isinstance(word, str)]
            # `bash -lc "what it runs"`
            command = words[2] if len(words) > 2 and words[1] in ("-lc", "-c") else " ".join(words)
        if not isinstance(command, str):
            return
        if "*** Begin Patch" in command:
            self._read_patch(command, workdir, call)
        else:
            self.add_command(command, call)

    def _read_patch(self, patch: object, workdir: object, call: str) -> None:
        if not isinstance(patch, str):
            return
        for line in patch.splitlines():
            if start := next((mark for mark in _PATCH_FILE_MARKS if line.startswith(mark)), ""):
                self.add_edit(
                    absolute_path(
                        line[len(start) :].strip(), workdir if isinstance(workdir, str) else ""
                    ),
                    call,
                )

    def _read_tool_result(self, call: str, output: object) -> None:
        text, code = tool_output(output)
        self.finish_call(call, code not in ("", "0"), text, code, known=bool(code))


def session_of(line: bytes, before: str, _expected: str) -> str:
    """The session that the first line of a rollout names, for all lines of it: what a forked one tells of its parent comes later."""
    if before or b"session_meta" not in line:
        return before
    told = parse_json_object(line)
    item = told.get("payload") if told and told.get("type") == "session_meta" else None
    return (
        next((item[key] for key in ("id", "session_id") if isinstance(item.get(key), str)), "")
        if isinstance(item, dict)
        else ""
    )


def _parent_session_of(item: dict[str, Any], source: object) -> str:
    """The session that began this one; empty where the line does not say."""
    begun = source.get("subagent") if isinstance(source, dict) else None
    thread = begun.get("thread_spawn") if isinstance(begun, dict) else None
    found = (
        thread.get("parent_thread_id")
        if isinstance(thread, dict)
        else item.get("parent_thread_id") or item.get("forked_from_id")
    )
    return found if isinstance(found, str) else ""


def _cwd_in(text: str) -> str:
    """The directory that the host names in a message of its own; old rollouts have it nowhere else."""
    for start, end in _CWD_MARKS:
        _, found, rest = text.partition(start)
        path = rest.partition(end)[0].strip()
        if found and os.path.isabs(path):
            return path
    return ""


def tool_output(output: object) -> tuple[str, str]:
    """What a tool answered and its exit code, empty where it says none: it may be JSON, parts, or text with a head."""
    if isinstance(output, str) and output.lstrip().startswith("{"):
        output = parse_json_object(output.encode("utf-8", "replace")) or output
    if isinstance(output, dict):
        about = output.get("metadata")
        code = about.get("exit_code") if isinstance(about, dict) else output.get("exit_code")
        inner = output["output"] if "output" in output else output.get("content")
        text, told = (
            tool_output(inner)
            if isinstance(inner, str) and not inner.lstrip().startswith("{")
            else (text_content(inner), "")
        )
        if isinstance(code, int) and not isinstance(code, bool):
            return text, str(code)
        return text, "1" if output.get("success") is False else told
    text = text_content(output)
    head, found, rest = text.partition("Output:\n")
    for line in head.lower().splitlines()[:12] if found or len(head) < 4000 else ():
        for mark in _EXIT_CODE_MARKS:
            if (
                line.startswith(mark)
                and (number := line[len(mark) :].strip().rstrip(".").lstrip("-")).isdigit()
            ):
                return rest if found else text, number
    if text.startswith(
        ("apply_patch verification failed", "failed to apply patch", "execution error", "Error:")
    ):
        return text, "1"
    return text, ""
