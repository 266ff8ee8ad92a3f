"""The Cortex that runs agents: each `NAME/TIME.jsonl` a run that has ended, each `talent/NAME.md` an
agent, which is to be trusted before it runs."""

from __future__ import annotations

import json
from collections.abc import Iterator

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.redact.secrets import sanitize_text
from cortex.core.runs import agent_note, run_event, run_note
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import format_time, hash_bytes, slugify
from cortex.core.text.yaml_writer import frontmatter
from cortex.importers.archive import open_archive
from cortex.importers.item import ForeignFile, ForeignItem

_RUN_RE = lazy_re(r"(?:(?:.*/)?([^/]+)/)?(1\d{12})(?:_active)?\.jsonl")
_TALENT_RE = lazy_re(r"(?:.*/)?talents?/([^/]+)\.md")
_TIERS = {"1": "pro", "2": "flash", "3": "lite"}
# Names of keys there, some in older versions only -> here.
_KEYS_OF_EVENTS = {"persona": "name", "backend": "provider", "content": "summary"}
_KEYS_OF_USAGE = {"input_tokens": "input", "output_tokens": "output", "cached_tokens": "cached"}
_KEYS_OF_TALENTS = {"max_output_tokens": "max_tokens", "timeout_seconds": "timeout"}
_KEPT = "title schedule output provider max_tokens timeout priority always disabled tier facets"


def accepts(path: str) -> bool:
    """Whether a folder (or zip) holds such runs or talents."""
    with open_archive(path) as archive:
        talents = filter(_TALENT_RE.fullmatch, archive.names(".md"))
        is_talent = any(archive.read(one, 100).startswith("{") for one in talents)
        return is_talent or any(map(_RUN_RE.fullmatch, archive.names(".jsonl")))


def read(path: str) -> Iterator[ForeignItem]:
    """The notes of the runs, and of the agents."""
    with open_archive(path) as archive:
        names = [
            one for one in archive.names() if _RUN_RE.fullmatch(one) or _TALENT_RE.fullmatch(one)
        ]
        if not names:
            raise InvalidInputError(f"{path} holds no runs", "name the folder of its journal")
        for name in names:
            text = archive.read(name)
            if name.endswith(".md"):
                yield from _agent(name, text)
            elif text.strip():
                yield from _run(name, text)
            else:
                yield Problem(name, "the run is empty", "nothing was written of it")
        yield from archive.problems


def _run(name: str, text: str) -> Iterator[ForeignFile]:
    """The note of a run, and what of it lies beside the note since it is large."""
    found = _RUN_RE.fullmatch(name) or ("", "", "0")
    folder, stamp = found[1] or "", found[2]
    at, agent = format_time(int(stamp) / 1000), slugify(folder) or "default"
    id_ = run_note.make_run_id(at, hash_bytes(f"{folder}/{stamp}", 3))
    path, events = run_note.sealed_path(id_), list[run_event.RunEvent]()
    for line in filter(str.strip, text.splitlines()):
        said = run_event.with_texts(_event(line, agent), sanitize_text)  # before it is cut in two
        event = run_event.complete(said, id_, len(events), f"{at[:-1]}.000Z")
        if len(run_event.encode_line(event)) > run_event.MAX_EVENT_BYTES:
            beside = f"{id_}.d/{len(events)}.json"
            event, data = run_event.set_aside(event, beside)
            to = f"{path.rpartition('/')[0]}/{beside}"
            yield ForeignFile(f"{folder}/{stamp}/{len(events)}", to, data.decode())
        events.append(event)
        if event["event"] in run_event.TERMINAL:
            break
    else:
        cut = {"event": "error", "error": "it was cut off, there", "ts": events[-1]["ts"]}
        events.append(run_event.complete(cut, id_, len(events), ""))
    asked, last = events[0], events[-1]
    request = run_note.RunRequest(asked.get("agent") or agent, str(asked.get("prompt") or ""))
    result = last.get("result") or last.get("error") or ""
    result = result if isinstance(result, str) else json.dumps(result, indent=2)
    data = run_note.compose_request(id_, request, asked, at)
    note = run_note.compose_sealed(data, events, result, "").decode()
    yield ForeignFile(f"{folder}/{stamp}", path, note, at)


def _event(line: str, agent: str) -> run_event.RunEvent:
    """The event of a line, in Cortex's words; what is no JSON is a word of the program's."""
    said = run_event.decode_json(line)
    if not isinstance(said, dict):
        return {"event": "info", "message": line}
    said = {_KEYS_OF_EVENTS.get(key, key): value for key, value in said.items()}
    if isinstance(used := said.get("usage"), dict):
        said["usage"] = {_KEYS_OF_USAGE.get(key, key): value for key, value in used.items()}
    if said.get("event") == "request":
        env = said.get("env")
        said |= {"agent": slugify(str(said.get("name") or "")) or agent, "requested_by": "import"}
        said |= {"output_path": "", "env": [*env] if isinstance(env, dict) else []}
    return said


def _agent(name: str, text: str) -> Iterator[ForeignFile | Problem]:
    """The note of an agent, and what of its talent is not understood here; nothing for a text that
    talents share."""
    text = text.lstrip()
    try:
        meta, end = json.JSONDecoder().raw_decode(text if text.startswith("{") else "{}")
    except ValueError as error:
        yield Problem(name, f"its settings cannot be read: {error}", "mend its JSON")
        return
    if meta:
        meta = {_KEYS_OF_TALENTS.get(key, key): value for key, value in meta.items()}
        meta |= {"tier": _TIERS.get(str(meta.get("tier")), "")}
        meta |= {"facets": "active" if meta.get("multi_facet") else ""}
        fields = {
            key: str(meta[key]).lower() if meta[key] is True else str(meta[key])
            for key in _KEPT.split()
            if meta.get(key)
        }
        note = f"{frontmatter(fields)}\n{text[end:].strip()}\n"
        stem = slugify(name.rpartition("/")[2][:-3])
        yield from agent_note.read_agent(note.encode(), f"agents/{stem}.md")[1]
        yield ForeignFile(f"talent/{stem}", f"agents/{stem}.md", note)
