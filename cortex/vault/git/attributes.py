"""Which merge driver git takes for which note.

The vault's own `.gitattributes`, which comes with every clone, says `-merge`: without Cortex git
stops where two sides meet, and mixes no two notes. A clone with Cortex names the drivers in a
marked block of the repository's `info/attributes`, which speaks loudest.
"""

from __future__ import annotations

import os
import re

from cortex.core.model.layout import OWN_FOLDERS, Layout
from cortex.core.model.problem import CortexError, Problem
from cortex.core.text.lazy_re import lazy_re
from cortex.vault import files, private
from cortex.vault.git import git_cli, objects
from cortex.vault.git.checkout import ATTRIBUTES_BLOCK, Repository
from cortex.vault.git.git_locks import FIX_COMMAND
from cortex.vault.layout import layout_of

# folder -> what `git check-attr merge` says of a note in it
MERGE_ATTRIBUTES = {
    "briefings": "cortex-briefing",
    "records": "cortex-record",
    "sessions": "cortex-record",
    "events": "unset",
}
_PROBE_PATHS = (
    "briefings/x.md", "records/decision/x.md", "sessions/2026/11/x.md", "events/2026/11/x.md",
)  # fmt: skip
_BLOCK_END = b"# cortex: end"
# A line by which git stops at a record; a stranger's `* binary` does, too.
_STOPS_RE = lazy_re(rb"(?m)^(?:\*|\S*records/\*\*\"?)[ \t][^\n]*(?:-merge|merge=binary|\bbinary)\b")
_MAY_MIX = "a clone without Cortex may mix two notes"
_ATTRIBUTES_FILE = ".gitattributes"
_MAX_BYTES = 4_000_000  # bytes of a file of attributes
_PATTERN_SPECIAL_RE = lazy_re(r"([*?\[\]\\])")


def enforce(root: str, repository: Repository) -> bool:
    """Name our drivers in `info/attributes`, behind whatever else stands there; True when that
    changed the file."""
    before = _read_attributes(repository)
    rest = _without_block(before, _block_begin(root, repository.top))
    return _write_if_changed(repository, before, rest + _format_block(root, repository.top, rest))


def remove_block(root: str, repository: Repository) -> bool:
    """Take our block out again, and nothing else; True when there was one."""
    before = _read_attributes(repository)
    after = _without_block(before, _block_begin(root, repository.top))
    return _write_if_changed(repository, before, after)


def overridden_paths(root: str) -> list[str]:
    """The vault-relative paths of our notes for which git does not take our driver."""
    layout = layout_of(root)
    listed = git_cli.run(root, ["ls-files", "-z", "--", *map(layout.path, MERGE_ATTRIBUTES)])
    listed += objects.join_nul(map(layout.path, _PROBE_PATHS))
    fields = git_cli.run(root, ["check-attr", "-z", "--stdin", "merge"], stdin=listed).split(b"\0")
    values = {
        os.fsdecode(path): os.fsdecode(value)
        for path, value in zip(fields[::3], fields[2::3], strict=False)
    }
    return sorted(
        path
        for path, value in values.items()
        if MERGE_ATTRIBUTES.get(layout.own_folder(path)) != value
    )


def with_layout(data: bytes, layout: Layout) -> bytes:
    """The `.gitattributes` of a new vault, with our folders where its layout has them."""
    for name in OWN_FOLDERS:
        pattern = os.fsencode(_quote_pattern(layout.path(f"{name}/**")))
        data = data.replace(f"\n{name}/** ".encode(), b"\n%b " % pattern)
    return data


def problems(root: str, *, are_named: bool) -> list[Problem]:
    """Attributes that are not ours, or that a clone would not get. `are_named`: git knows our
    drivers, so its attributes should take them."""
    found = []
    if are_named and (others := overridden_paths(root)):
        probes = set(map(layout_of(root).path, _PROBE_PATHS))
        others = [path for path in others if path not in probes] or others
        more = f" and {len(others) - 1} more are" if len(others) > 1 else " is"
        message = f"{others[0]}{more} merged without Cortex: git's attributes say otherwise"
        found.append(Problem(_ATTRIBUTES_FILE, message, FIX_COMMAND))
    text = files.read(root, _ATTRIBUTES_FILE) if files.exists(root, _ATTRIBUTES_FILE) else b""
    if not text:
        return [
            *found,
            Problem(_ATTRIBUTES_FILE, f"is missing: {_MAY_MIX}", "cortex init writes it"),
        ]
    if not _STOPS_RE.search(text):
        hint = "add the line records/** text eol=lf -merge, and the same for sessions and events"
        found.append(Problem(_ATTRIBUTES_FILE, f"lets git merge records as text: {_MAY_MIX}", hint))
    if not git_cli.has_commit(root):
        return found
    is_committed = git_cli.line(root, ["ls-tree", "--name-only", "HEAD", "--", _ATTRIBUTES_FILE])
    if not is_committed and not objects.filter_ignored(root, ["."]):
        message = "is not committed, so other clones merge without Cortex"
        found.append(Problem(_ATTRIBUTES_FILE, message, "git add .gitattributes and commit it"))
    return found


def _block_begin(root: str, top: str) -> bytes:
    return f"{ATTRIBUTES_BLOCK} ".encode() + os.fsencode(
        _attribute_pattern(os.path.relpath(root, top), "")
    )


def _format_block(root: str, top: str, before: bytes) -> bytes:
    prefix = os.path.relpath(root, top)
    begin = _block_begin(root, top)
    if before and not before.endswith(b"\n"):
        begin = b"\n" + begin
    lines = [begin, b"# cortex git remove takes these lines out"]
    layout = layout_of(root)
    for name, value in MERGE_ATTRIBUTES.items():
        attribute = "-merge" if value == "unset" else f"merge={value}"
        pattern = _attribute_pattern(prefix, layout.path(f"{name}/**"))
        lines.append(os.fsencode(f"{pattern} {attribute}"))
    return b"\n".join([*lines, _BLOCK_END, b""])


def _attribute_pattern(prefix: str, below: str) -> str:
    """A pattern of gitattributes for what lies below a folder of the repository."""
    folder = "" if prefix == "." else _PATTERN_SPECIAL_RE.sub(r"\\\1", prefix) + "/"
    return _quote_pattern(f"/{folder}{below}")


def _quote_pattern(pattern: str) -> str:
    if not re.search(r'[\s"\\\x00-\x1f\x7f]', pattern):
        return pattern
    escaped = pattern.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\{ord(found[0]):03o}", escaped) + '"'


def _without_block(data: bytes, begin: bytes) -> bytes:
    """The lines without our blocks; one that does not end is not ours to judge."""
    begin, end = re.escape(begin), re.escape(_BLOCK_END)
    block = rb"(?m)^%b\r?\n(?:(?!%b\r?$|%b\r?$)[^\n]*\n)*%b(?:\r?\n|\r?\Z)" % (
        begin,
        begin,
        end,
        end,
    )
    return re.sub(block, b"", data)


def _attributes_path(repository: Repository) -> str:
    return os.path.join(repository.common_dir, "info", "attributes")


def _read_attributes(repository: Repository) -> bytes:
    path = _attributes_path(repository)
    if why := files.why_unreadable(path):
        raise CortexError(f"{path} {why}", "make it a plain file, or remove it")
    data = files.read_bounded(path, _MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise CortexError(f"{path} is larger than {_MAX_BYTES:,} bytes", "shorten it")
    return data


def _write_if_changed(repository: Repository, before: bytes, after: bytes) -> bool:
    """Replace the file durably, or delete it when empty. False when nothing changes."""
    path = _attributes_path(repository)
    if after == before:
        return False
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if after:
            private.replace(path, after, durable=True, mode=0o666)
        else:
            os.unlink(path)
            private.sync_folder(os.path.dirname(path))
    except OSError as error:
        message = f"{path} cannot be written: {error.strerror}"
        raise CortexError(message, "merges may run without Cortex until it can") from error
    return True
