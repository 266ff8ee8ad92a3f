"""The merge drivers that git runs: `python -I -S merge_driver.py briefing|record %O %A %B %L %P`.

Run as a file, with the standard library alone. Python compiles this file at each run, so it is
short. Exit codes of `record`: 0 clean, 1 conflicts are in the file, or its versions are two notes, 2 not
merged (the command's shell fallback takes over). `briefing` always ends with 0: a briefing that could not be merged is
healed later, and no merge is held up by one.
"""

from __future__ import annotations

import gc
import os
import sys

CLEAN, CONFLICTS, FAILED = 0, 1, 2
_MAX_FRONTMATTER_BYTES = 65_536  # bytes that frontmatter may take
MAX_BYTES = 4 * 1024 * 1024  # of each version of a note


def run(words: list[str]) -> int:
    """Merge, write the result to %A, say on stderr what was decided."""
    kind, base_name, name, theirs_name, size, path = words
    base, ours, theirs = (_read(each) for each in (base_name, name, theirs_name))
    if kind == "briefing":
        from cortex.core.briefing import pages  # noqa: PLC0415  each driver loads what it needs

        _write(name, pages.merge(base, ours, theirs), ours)
        return CLEAN
    if not any(b"\nid:" in each[:_MAX_FRONTMATTER_BYTES] for each in (base, ours, theirs)):
        return FAILED  # a person's own note: the command's fallback merges it as git merges text
    from cortex.core.merge.merge_record import merge_record  # noqa: PLC0415

    stem = os.path.basename(path).removesuffix(".md")
    merged = merge_record(base, ours, theirs, max(7, int(size)), name=stem)
    if merged.are_two_notes or (merged.leaves_out_text and not _is_of_commits()):
        _print_line(path, merged.decisions[0])
        return CONFLICTS  # %A stays as it is; the index, or the commits of it, hold all versions
    _write(name, merged.data, ours)
    for line in merged.decisions:
        _print_line(path, line)
    return CLEAN if merged.is_clean else CONFLICTS


def _is_of_commits() -> bool:
    """True if git merges or rebases commits: of a stash, a patch or `checkout -m` no commit has the
    text that would be left out."""
    from cortex.vault.git import checkout  # noqa: PLC0415  few merges are of a topic that both saved

    found = checkout.find_repository(os.getcwd())
    if found is None:
        return True

    def exists(name: str) -> bool:
        return os.path.lexists(os.path.join(found.git_dir, name))

    is_named = any(key.startswith("GITHEAD_") for key in os.environ) or exists("rebase-merge")
    return is_named and not exists("MERGE_AUTOSTASH") and not exists("rebase-merge/autostash")


def _read(name: str) -> bytes:
    with open(name, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES // 1024 // 1024} MB: not merged by its fields")
    return data


def _write(name: str, data: bytes, before: bytes) -> None:
    """Write in place, since the file is git's own; on a full disk it gets back what it held."""
    with open(name, "r+b", buffering=0) as file:
        try:
            _overwrite(file, data)
        except OSError:
            file.seek(0)
            _overwrite(file, before)
            raise


# `file` is an `io.FileIO`; io is not imported for a name.
def _overwrite(file, data: bytes) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
    file.truncate()


def _print_line(path: str, line: str) -> None:
    from cortex.interfaces.escape_terminal import escape  # noqa: PLC0415  seldom needed

    sys.stderr.write(f"{escape(path)}: {escape(line)}\n")


def main(argv: list[str]) -> int:
    """The exit code, whatever happens."""
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    try:
        return run(argv)
    # Python's own exit code 1 would tell git that %A holds the conflict.
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        path = argv[-1] if argv else "merge_driver"
        _print_line(path, f"not merged by its fields: {error or type(error).__name__}")
        return CLEAN if argv[:1] == ["briefing"] else FAILED


if __name__ == "__main__":
    gc.disable()  # a merge ends before there is garbage; collecting costs a tenth of bare Python
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)  # everything is written; taking the interpreter apart costs a third of a merge
