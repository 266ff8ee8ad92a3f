"""Asks an endpoint that speaks as OpenAI's chat completions do (Ollama, llama-server, vLLM), as a program
of the `ndjson` protocol: the run on standard input, events on standard output. A model is given no tools.

    python -m cortex.agents.openai_compatible URL [VARIABLE_OF_THE_KEY]
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from cortex.agents.reader import EventReader, count_at, info, objects_at, text_at, usage_of
from cortex.core.runs.run_event import RunEvent

_ROLES = {"system": ("system_instruction", "extra_context"), "user": ("user_instruction", "prompt")}
_STREAM = {"stream": True, "stream_options": {"include_usage": True}}
_CUT_OFF = {  # by `finish_reason`
    "": "the answer broke off", "length": "the answer is longer than max_tokens allows",
    "content_filter": "a content filter stopped the answer",
}  # fmt: skip


class CompletionEvents(EventReader):
    """Reads a whole answer: an object with its `chunks`."""

    login = "set the variable that key_variable of the provider names"

    def events_of(self, fields: dict[str, object]) -> list[RunEvent]:
        chunks = objects_at(fields, "chunks")
        choices = [one for chunk in chunks for one in objects_at(chunk, "choices")[:1]]
        said = [one.get("delta") or one.get("message") for one in choices]
        keys = ("content", "refusal", "reasoning_content", "reasoning")
        text, refusal, *thoughts = ("".join(text_at(one, key) for one in said) for key in keys)
        spent = ([one["usage"] for one in chunks if one.get("usage")] or [{}])[-1]
        usage = usage_of(spent, "prompt_tokens", "completion_tokens", "")
        details = spent.get("prompt_tokens_details") if isinstance(spent, dict) else None
        usage["cached"] = count_at(details, "cached_tokens")
        reason = "".join(text_at(one, "finish_reason") for one in choices)
        told = (text_at(one, "error", "message") or text_at(one, "error") for one in chunks)
        error = next(filter(None, told), "")
        wrong = refusal or error or _CUT_OFF.get(reason, "")
        kind = "refusal" if refusal else ""
        end = self.failed(wrong, kind, usage=usage) if wrong else self.finished(text, usage=usage)
        thought: RunEvent = {"event": "thinking", "summary": "".join(thoughts)}
        message: RunEvent = {"event": "message", "text": text}
        return [*([thought] if any(thoughts) else []), *([message] if text else []), end]


def ask(url: str, key: str, config: dict[str, Any]) -> Iterator[RunEvent]:
    """The events of one answer. No proxy is asked and no redirection followed: the key is for this
    endpoint alone."""
    texts = {role: [config[key] for key in keys if config[key]] for role, keys in _ROLES.items()}
    messages = [{"role": role, "content": "\n\n".join(parts)} for role, parts in texts.items()]
    limit = {"max_tokens": number} if (number := config["max_output_tokens"]) else {}
    body = {"model": config["model"], "messages": messages, **limit, **_STREAM}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key or 'none'}"}
    place, chunks = urlsplit(url), list[object]()
    kind = HTTPSConnection if place.scheme == "https" else HTTPConnection
    yield {"event": "start", "model": config["model"]}
    try:
        connection = kind(place.netloc, timeout=config["idle"])
        path = f"{place.path.rstrip('/')}/chat/completions"
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        if answer.status != 200:
            told = answer.read(4_000).decode("utf-8", "replace")
            raise HTTPException(f"the endpoint answers {answer.status} {answer.reason}: {told}")
        is_stream = "json" not in answer.headers.get("Content-Type", "")
        for line in answer if is_stream else [b"data:" + answer.read()]:
            if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
                chunks.append(json.loads(line[5:]))
                if len(chunks) % 200 == 0:
                    yield info(f"{len(chunks)} pieces", "progress")
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        chunks.append(
            {"error": f"{url}: {error}" if str(error) else f"{url}: {type(error).__name__}"}
        )
    yield from CompletionEvents({}).read({"chunks": chunks})


def main(url: str, variable: str = "") -> None:
    """Prints the events of the run on standard input."""
    key = os.environ.get(variable, "")
    for event in ask(url, key, json.loads(sys.stdin.readline())):
        print(json.dumps(event).replace(key or "\0", "[key]"), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
