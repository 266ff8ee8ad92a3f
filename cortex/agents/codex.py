"""Codex, `codex exec --json`, as version 0.171.0 prints it."""

from __future__ import annotations

from cortex.agents.reader import EventReader, count_at, info, text_at, usage_of
from cortex.core.runs.run_event import RunEvent

# Kind of an item that is a tool -> the keys of what the tool is given, and of what it answers.
_TOOLS = {
    "command_execution": ("command", "aggregated_output"),
    "mcp_tool_call": ("arguments", "result"),
    "file_change": ("changes", "changes"),
    "web_search": ("query", "query"),
}


class CodexEvents(EventReader):
    """Reads what Codex prints. It does not say which model answers."""

    login = "run `codex login`, or set CODEX_API_KEY"

    def events_of(self, fields: dict[str, object]) -> list[RunEvent]:
        item = fields.get("item")
        match fields.get("type"):
            case "thread.started":
                return self.started(fields, "thread_id")
            case "item.started" | "item.updated" | "item.completed" if isinstance(item, dict):
                return self._of_item(item, is_done=fields["type"] == "item.completed")
            case "turn.started" | "error":  # after which it tries again, or says `turn.failed`
                text = text_at(fields, "message")
                return [info(text, "progress")] if text else []
            case "turn.completed":
                spent = fields.get("usage")
                usage = usage_of(spent, "input_tokens", "output_tokens", "cached_input_tokens")
                # That of the whole thread: what the runs before used is in it.
                rest = {key: max(0, n - count_at(self.before, key)) for key, n in usage.items()}
                return [self.finished(self.said, usage=rest)]
            case "turn.failed":
                return [self.failed(text_at(fields, "error", "message") or "its turn failed")]
        return [info(fields)]

    def _of_item(self, item: dict[str, object], *, is_done: bool) -> list[RunEvent]:
        kind, call, text = (text_at(item, key) for key in ("type", "id", "text"))
        events: list[RunEvent] = []
        if kind in _TOOLS:
            given, answered = _TOOLS[kind]
            if call not in self._tools:
                tool = text_at(item, "tool") or kind
                events.append(self.tool_start(tool, {given: item.get(given)}, call))
            if is_done:
                is_ok = item.get("status", "completed") == "completed"
                result = item.get("error") or item.get(answered)
                events.append(self.tool_end(call, result, ok=is_ok))
        elif is_done and kind == "agent_message":
            self.said = text
            events.append({"event": "message", "text": text})
        elif is_done and kind == "reasoning":
            events.append({"event": "thinking", "summary": text})
        elif is_done:
            events.append(info(text_at(item, "message") or item))
        return events
