"""Gemini CLI, `gemini --output-format=stream-json`, as version 0.61.0 prints it."""

from __future__ import annotations

from cortex.agents.reader import EventReader, info, text_at, usage_of
from cortex.core.runs.run_event import RunEvent


class GeminiEvents(EventReader):
    """Reads what Gemini CLI prints. Text comes in pieces, which joined are one message."""

    login = "run `gemini` once and log in, or set GEMINI_API_KEY"

    _pieces: tuple[str, ...] = ()
    _error = ""

    def events_of(self, fields: dict[str, object]) -> list[RunEvent]:  # noqa: PLR0911  a kind each
        call, text = text_at(fields, "tool_id"), text_at(fields, "content")
        match fields.get("type"), fields.get("role"):
            case "init", _:
                return self.started(fields)
            case "message", "user":
                return []  # what it was sent
            case "message", "assistant":
                self._pieces += (text,)
                return self.streamed(len(text))
            case "tool_use", _:
                tool = text_at(fields, "tool_name")
                return [*self._message(), self.tool_start(tool, fields.get("parameters"), call)]
            case "tool_result", _:
                result = fields.get("output") or text_at(fields, "error", "message")
                return [self.tool_end(call, result, ok=fields.get("status") == "success")]
            case "error", _:
                self._error = text_at(fields, "message")
                return [info(self._error)]
            case "result", _:
                whole, stats = self._message(), fields.get("stats")
                usage = usage_of(stats, "input_tokens", "output_tokens", "cached")
                if fields.get("status") == "success":
                    return [*whole, self.finished(self.said, usage=usage)]
                why = text_at(fields, "error", "message") or self._error or "it failed"
                return [*whole, self.failed(why, usage=usage)]
        return [info(fields)]

    def _message(self) -> list[RunEvent]:
        """The message whose pieces have come, if any have."""
        text, self._pieces = "".join(self._pieces), ()
        self.said = text or self.said
        return [{"event": "message", "text": text}] if text else []
