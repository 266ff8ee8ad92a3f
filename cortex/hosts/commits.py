"""The commits and pull requests that a shell command has made, by its words and what it printed."""

from __future__ import annotations

from cortex.core.model.turn_summary import Commit
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.light import re
from cortex.core.text.strings import shorten
from cortex.hosts.transcript_item import NO_HASH

_MAX_SUBJECT_CHARS, _MAX_BODY_CHARS, _MAX_READ_CHARS = 200, 2000, 20_000
# `[main abc1234] subject`, `[detached HEAD abc1234] …`, `[main (root-commit) abc1234] …`
_PRINTED_RE = lazy_re(r"(?m)^\[[^\]\n]{1,200}? ([0-9a-f]{7,40})\] (.+)$")
_ADDRESS_RE = lazy_re(r"https://[\w.-]+/[\w.-]+/[\w.-]+/(?:pull|-/merge_requests)/\d+")
_QUOTED = r"""(?:"((?:[^"\\]|\\.)*)"|'([^']*)')"""
# A here-document, by the number of the group that holds its word.
_HEREDOC = r"""<<-?\s*['"]?(\w+)['"]?[^\n]*\n(.*?)\n[ \t]*\{}\b"""
_CAT, _INPUT = r'"\$\(cat\s+' + _HEREDOC.format(1), r"(?:-|/dev/stdin)?\s*" + _HEREDOC.format(3)
_MESSAGE_RE = lazy_re(
    rf"(?s)(?:\s-[a-zA-Z]*m|--message[= ]|\s-F|--file[= ])\s*(?:{_CAT}|{_INPUT}|{_QUOTED})"
)
_TITLE_RE = lazy_re(rf"(?s)(?:--title|-t)[= ]\s*{_QUOTED}")
_BODY_RE = lazy_re(rf"(?s)(?:--body|-b)[= ]\s*(?:{_CAT}|{_QUOTED})")
# Another repository than the session's: `git -C`, one made on the way, a folder for trials.
_ELSEWHERE_RE = lazy_re(
    r"\bgit\s+(?:-C\s|init\b)|\bcd\s+[\"']?(?:/tmp/|/var/folders/|\$\(mktemp|\$TMP)"
)
_COMMIT_RE = lazy_re(r"\bgit\b[^\n;&|]{0,200}?\scommit\b")
_TRAILER_RE = lazy_re(r"[A-Z][A-Za-z]*(?:-[A-Za-z]+)+: .*|\W*Generated with .*|Change-Id: .*")


def read_commits(command: str, output: str, *, failed: bool) -> list[Commit]:
    """The commits that a command has made, in their order, without trailers. One whose message
    stands in no word of the command has its subject alone."""
    text = command[:_MAX_READ_CHARS]
    if " commit" not in text or not _COMMIT_RE.search(text) or _ELSEWHERE_RE.search(text):
        return []
    # Several `-m` are paragraphs of one message.
    texts: list[str] = []
    for part in _COMMIT_RE.split(text)[1:]:
        found = [_group(one) for one in _MESSAGE_RE.finditer(part)]
        texts += ["\n\n".join(found)] if found else []
    messages = [_split_message(one) for one in texts]
    printed = _PRINTED_RE.findall(output[:_MAX_READ_CHARS])
    if not printed and not failed and "nothing to commit" not in output:
        return [Commit(NO_HASH, subject, body) for subject, body in messages]
    bodies = dict(messages)
    made = []
    for ref, subject in printed:
        line = shorten(sanitize_text(subject), _MAX_SUBJECT_CHARS)
        made.append(Commit(ref[:10], line, bodies.get(line, "")))
    return made


def read_pull_request(command: str, output: str) -> Commit | None:
    """The pull request that `gh pr create` has opened."""
    address = _ADDRESS_RE.search(output[-_MAX_READ_CHARS:])
    if not address or "pr create" not in command[:_MAX_READ_CHARS]:
        return None
    title, body = (one.search(command[:_MAX_READ_CHARS]) for one in (_TITLE_RE, _BODY_RE))
    subject, text = _split_message(f"{_group(title)}\n\n{_group(body)}")
    return Commit(address[0], subject, text)


def _group(found: re.Match[str] | None) -> str:
    """What is quoted in a match: the last group that took part."""
    return found[found.lastindex or 0].replace('\\"', '"').replace("\\`", "`") if found else ""


def _split_message(message: str) -> tuple[str, str]:
    """Subject and body, without secrets and trailers."""
    subject, _, body = sanitize_text(message).strip().partition("\n")
    lines = body.strip().splitlines()
    while lines and (not lines[-1].strip() or _TRAILER_RE.fullmatch(lines[-1].strip())):
        lines.pop()
    text = "\n".join(lines)
    if len(text) > _MAX_BODY_CHARS:
        text = text[: text.rfind("\n", 0, _MAX_BODY_CHARS) or _MAX_BODY_CHARS] + "\n…"
    return shorten(subject, _MAX_SUBJECT_CHARS), text.strip()
