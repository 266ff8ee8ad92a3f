"""A program of the user's own: it is given the run as one line of JSON, and prints events, one a line."""

from __future__ import annotations

import json

from cortex.agents.reader import EventReader, info, text_at, usage_of
from cortex.core.runs.run_event import KINDS, RunEvent


class NdjsonEvents(EventReader):
    """Reads events as they are. A kind that is unknown, or not the program's to say, is an `info`."""

    def events_of(self, fields: dict[str, object]) -> list[RunEvent]:
        kind = fields.get("event")
        if kind not in KINDS or kind == "request":
            return [info(fields)]
        event: RunEvent = dict(fields)
        if "usage" in fields:
            event["usage"] = usage_of(fields["usage"], "input", "output", "cached")
        if kind == "finish":
            result = fields.get("result") or ""
            event["result"] = result if isinstance(result, str) else json.dumps(result)
        elif kind == "error":
            said = text_at(fields, "error") or text_at(fields, "error", "message")
            why = said or "the program says no more than that"
            event |= self.failed(why, text_at(fields, "reason"))
        return [event]
