"""Claude Code, `claude -p --output-format=stream-json`, as version 2.1.197 prints it."""

from __future__ import annotations

from cortex.agents.reader import EventReader, count_at, info, objects_at, text_at, usage_of
from cortex.core.runs.run_event import RunEvent


class ClaudeEvents(EventReader):
    """Reads what Claude Code prints."""

    login = "run `claude` and type /login, or set ANTHROPIC_API_KEY"

    def events_of(self, fields: dict[str, object]) -> list[RunEvent]:  # noqa: PLR0911  a kind each
        match fields.get("type"), fields.get("subtype"):
            case "system", "init":
                return self.started(fields)
            case "system", "api_retry":
                why, attempt = text_at(fields, "error"), count_at(fields, "attempt")
                if why in ("authentication_failed", "billing_error"):  # neither passes by itself
                    return [self.failed(f"the model cannot be asked: {why}")]
                return [info(f"tries again for the {attempt}. time: {why}", "progress")]
            case "system", "thinking_tokens" | "status":
                return self.streamed(4 * count_at(fields, "estimated_tokens_delta"))
            case "stream_event", _:  # a piece of what comes again as a whole
                return self.streamed(len(text_at(fields, "event", "delta", "text")))
            case "assistant" | "user", _:
                # The text of an error is that of the result, which follows.
                blocks = [] if fields.get("error") else objects_at(fields, "message", "content")
                return [event for block in blocks if (event := self._of_block(block))]
            case "result", kind:
                return [self._of_result(fields, str(kind))]
        return [info(fields)]

    def _of_block(self, block: dict[str, object]) -> RunEvent | None:
        match block.get("type"):
            case "text":
                return {"event": "message", "text": text_at(block, "text")}
            case "thinking" | "redacted_thinking":  # without a text where it is kept secret
                summary = text_at(block, "thinking")
                return {"event": "thinking", "summary": summary} if summary else None
            case "tool_use" | "server_tool_use":
                tool, call = text_at(block, "name"), text_at(block, "id")
                return self.tool_start(tool, block.get("input"), call)
            case "tool_result":
                parts = [text_at(part, "text") for part in objects_at(block, "content")]
                result = text_at(block, "content") or "\n".join(filter(None, parts))
                is_ok = block.get("is_error") is not True
                return self.tool_end(text_at(block, "tool_use_id"), result, ok=is_ok)
        return info(block)

    def _of_result(self, fields: dict[str, object], kind: str) -> RunEvent:
        spent, errors = fields.get("modelUsage"), fields.get("errors")
        usage = {"input": 0, "output": 0, "cached": 0}
        for one in spent.values() if isinstance(spent, dict) else ():  # its `usage` lacks some
            used = usage_of(one, "inputTokens", "outputTokens", "cacheReadInputTokens")
            used["input"] += used["cached"] + count_at(one, "cacheCreationInputTokens")
            usage = {key: usage[key] + used[key] for key in usage}
        more = {"usage": usage, "cost_usd": fields.get("total_cost_usd")}
        result, is_refused = text_at(fields, "result"), fields.get("stop_reason") == "refusal"
        # A failure of the vendor's server is a `success` with `is_error`.
        if kind == "success" and fields.get("is_error") is False and not is_refused:
            return self.finished(result, **more)
        told = "; ".join(map(str, errors)) if isinstance(errors, list) else ""
        return self.failed(told or result or kind, "refusal" if is_refused else "", **more)
