"""The commits and pull requests that a shell command has made, by its words and what it printed."""

from __future__ import annotations

from cortex.core.model.turn_summary import Commit
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import shorten
from cortex.hosts.transcript_item import NO_HASH

_MAX_SUBJECT_CHARS, _MAX_BODY_CHARS, _MAX_READ_CHARS = 200, 2000, 20_000
# `[main abc1234] subject`, `[detached HEAD abc1234] …`, `[main (root-commit) abc1234] …`
_PRINTED_RE = lazy_re(r"(?m)^\[[^\]\n]{1,200}? ([0-9a-f]{7,40})\] (.+)$")
_ADDRESS_RE = lazy_re(r"https://[\w.-]+/[\w.-]+/[\w.-]+/(?:pull|-/merge_requests)/\d+")
# Options of `git commit` and of `gh pr create` that a text follows: quoted, or a here-document.
_MESSAGE_RE = lazy_re(r"\s(?:-[a-zA-Z]{0,5}[mF]|--message|--file)[= ]?\s{0,3}")
_TITLE_RE = lazy_re(r"\s(?:--title|-t)[= ]\s{0,3}")
_BODY_RE = lazy_re(r"\s(?:--body|-b)[= ]\s{0,3}")
_QUOTED_RE = lazy_re(r"""(?s)"((?:[^"\\]|\\.)*)"|'([^']*)'""")
_HEREDOC_RE = lazy_re(
    r"""(?:"\$\(cat\s{1,3}|-\s{0,3}|/dev/stdin\s{0,3})?<<-?\s{0,3}['"]?(\w{1,40})['"]?[^\n]{0,200}\n"""
)
# Another repository than the session's: `git -C`, one made on the way, a folder for trials.
_ELSEWHERE_RE = lazy_re(
    r"\bgit\s+(?:-C\s|init\b)|\bcd\s+[\"']?(?:/tmp/|/var/folders/|\$\(mktemp|\$TMP)"
)
_COMMIT_RE = lazy_re(r"\bgit\b[^\n;&|]{0,200}?\scommit\b")
_TRAILER_RE = lazy_re(r"[A-Z][A-Za-z]*(?:-[A-Za-z]+)+: .*|\W*Generated with .*|Change-Id: .*")


def read_commits(command: str, output: str, *, cwd: str = "", failed: bool) -> list[Commit]:
    """The commits that a command has made in the repository of `cwd`, in their order, without
    trailers. One whose message stands in no word of the command has its subject alone."""
    text = command[:_MAX_READ_CHARS]
    text = text.replace(cwd, ".") if cwd else text  # the session's own folder may lie in /tmp
    if " commit" not in text or not _COMMIT_RE.search(text) or _ELSEWHERE_RE.search(text):
        return []
    # Several `-m` are paragraphs of one message.
    texts: list[str] = []
    for part in _COMMIT_RE.split(text)[1:]:
        found = [_argument(part, one.end()) for one in _MESSAGE_RE.finditer(part)]
        texts += ["\n\n".join(filter(None, found))] if any(found) else []
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
    options = (one.search(command[:_MAX_READ_CHARS]) for one in (_TITLE_RE, _BODY_RE))
    title, body = (_argument(command, one.end()) if one else "" for one in options)
    subject, text = _split_message(f"{title}\n\n{body}")
    return Commit(address[0], subject, text)


def _argument(command: str, at: int) -> str:
    """The text of an option: quoted, or a here-document; empty for another word."""
    if begun := _HEREDOC_RE.match(command, at):
        end = command.find(f"\n{begun[1]}", begun.end() - 1)
        return command[begun.end() : max(end, begun.end())]
    found = _QUOTED_RE.match(command, at)
    return (found[1] or found[2] or "").replace('\\"', '"').replace("\\`", "`") if found else ""


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
