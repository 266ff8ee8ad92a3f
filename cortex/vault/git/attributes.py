"""Which merge driver git takes for which note. The vault's own `.gitattributes` says it; where something else speaks
louder (an older file, a nested one, a stranger's), a marked block in the repository's `info/attributes` says it again.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from cortex.core.model.problem import CortexError, Problem
from cortex.vault import files
from cortex.vault.git import git_cli
from cortex.vault.state import store

# folder -> what `git check-attr merge` says of a note in it
MERGE_ATTRIBUTES = {
    "briefings": "cortex-briefing",
    "records": "cortex-record",
    "sessions": "cortex-record",
    "events": "unset",
}
_PROBE_PATHS = (
    "briefings/x.md",
    "records/decision/x.md",
    "sessions/2026/11/x.md",
    "events/2026/11/x.md",
)
_BLOCK_END = b"# cortex: end"
_MAX_BYTES = 4_000_000  # bytes of a file of attributes
_PATTERN_SPECIAL_RE = re.compile(r"([*?\[\]\\])")


def enforce(root: str, top: str, common: str) -> bool:
    """Put our attributes in force when they are not; True when that changed a file."""
    if not overridden_paths(root):
        return False
    before = _read_attributes(common)
    rest = _without_block(before, _block_begin(root, top))
    after = rest + _format_block(root, top, rest)
    if after == before:
        return False
    _write_attributes(common, after)
    return True


def remove_block(root: str, top: str, common: str) -> bool:
    """Take our block out again, and nothing else; True when there was one."""
    before = _read_attributes(common)
    after = _without_block(before, _block_begin(root, top))
    if after == before:
        return False
    _write_attributes(common, after)
    return True


def overridden_paths(root: str) -> list[str]:
    """The vault-relative paths of our notes, tracked or to come, for which git would not take our driver."""
    listed = git_cli.run(root, ["ls-files", "-z", "--", *MERGE_ATTRIBUTES]) + b"".join(
        os.fsencode(path) + b"\0" for path in _PROBE_PATHS
    )
    fields = git_cli.run(root, ["check-attr", "-z", "--stdin", "merge"], stdin=listed).split(b"\0")
    said = zip(fields[::3], fields[2::3], strict=False)
    return sorted(
        {
            os.fsdecode(path)
            for path, value in said
            if MERGE_ATTRIBUTES.get(os.fsdecode(path).partition("/")[0])
            != value.decode("ascii", "replace")
        }
    )


def problems(root: str) -> list[Problem]:
    """Attributes that are not ours, or that a clone would not get."""
    found = []
    if others := [
        path for path in overridden_paths(root) if path not in _PROBE_PATHS
    ] or overridden_paths(root):
        what = (
            f"{others[0]} is" if len(others) == 1 else f"{others[0]} and {len(others) - 1} more are"
        )
        found.append(
            Problem(
                ".gitattributes",
                f"{what} merged without Cortex: git's attributes say otherwise",
                "cortex doctor --fix",
            )
        )
    if not git_cli.has_commit(root):
        return found
    if (
        not git_cli.run(root, ["ls-tree", "--name-only", "HEAD", "--", ".gitattributes"])
        and git_cli.run_unchecked(root, ["check-ignore", "-q", "--", "."]).code
    ):
        found.append(
            Problem(
                ".gitattributes",
                "is not committed, so other clones merge without Cortex",
                "git add .gitattributes and commit it",
            )
        )
    return found


def _block_begin(root: str, top: str) -> bytes:
    return b"# cortex: begin " + os.fsencode(_attribute_pattern(os.path.relpath(root, top), ""))


def _format_block(root: str, top: str, before: bytes) -> bytes:
    prefix = os.path.relpath(root, top)
    merge = {
        name: "-merge" if value == "unset" else f"merge={value}"
        for name, value in MERGE_ATTRIBUTES.items()
    }
    rules = [
        f"{_attribute_pattern(prefix, name + '/**')} {attribute}"
        for name, attribute in merge.items()
    ]
    # Where the last line had no end it gets one, which the first line of the block remembers.
    open_line = bool(before) and not before.endswith(b"\n")
    begin = (
        (b"\n" if open_line else b"")
        + _block_begin(root, top)
        + (b" (line ended)" if open_line else b"")
    )
    return b"\n".join(
        [
            begin,
            b"# cortex git remove takes these lines out",
            *map(os.fsencode, rules),
            _BLOCK_END,
            b"",
        ]
    )


def _attribute_pattern(prefix: str, below: str) -> str:
    """A pattern of gitattributes for what lies below a folder of the repository, whatever the folder's name."""
    folder = "" if prefix == "." else _PATTERN_SPECIAL_RE.sub(r"\\\1", prefix) + "/"
    pattern = f"/{folder}{below}"
    if not re.search(r'[\s"\\\x00-\x1f\x7f]', pattern):
        return pattern
    escaped = pattern.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\{ord(found[0]):03o}", escaped) + '"'


def _without_block(data: bytes, begin: bytes) -> bytes:
    kept: list[bytes] = []
    block: list[bytes] = []
    for line in data.splitlines(keepends=True):
        bare = line.rstrip(b"\r\n")
        if bare in (begin, begin + b" (line ended)"):
            kept += block  # a block without an end is not ours to judge
            block = [line]
        elif not block:
            kept.append(line)
        elif bare == _BLOCK_END:
            if block[0].rstrip(b"\r\n") != begin and kept:
                kept[-1] = kept[-1].removesuffix(b"\n")
            block = []
        else:
            block.append(line)
    return b"".join([*kept, *block])


def _attributes_path(common: str) -> str:
    return os.path.join(common, "info", "attributes")


def _read_attributes(common: str) -> bytes:
    try:
        fd = files.open_regular(_attributes_path(common))
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise CortexError(
            f"{_attributes_path(common)} cannot be read: {error.strerror}",
            "make it a plain file, or remove it",
        ) from error
    with os.fdopen(fd, "rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise CortexError(
            f"{_attributes_path(common)} is larger than {_MAX_BYTES:,} bytes", "shorten it"
        )
    return data


def _write_attributes(common: str, data: bytes) -> None:
    """Put the file in its place whole, and durable; without content it goes."""
    path = _attributes_path(common)
    temp = f"{path}.cx-tmp"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if data:
            with suppress(FileNotFoundError):
                os.unlink(temp)
            fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                files.full_fsync(fd)
            os.replace(temp, path)
        else:
            os.unlink(path)
        store.sync_folder(os.path.dirname(path))
    except OSError as error:
        raise CortexError(
            f"{path} cannot be written: {error.strerror}",
            "merges may run without Cortex until it can",
        ) from error
