"""Write the briefing where hosts without hooks read it: rule files, or a marked block in AGENTS.md;
and a skill, which hosts with hooks read too.

Both can be removed without a trace. Files that Cortex did not write stay; links are not followed.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import accumulate

from cortex.core.briefing.injected import SURFACE_FILE
from cortex.core.markdown.bound import fence_spans
from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError, NotFoundError
from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.git import checkout, objects
from cortex.vault.locate import Vault
from cortex.vault.templates import read_template

RULES_DIR = ".claude/rules"
BRIEFING_FILE = f"{RULES_DIR}/cortex-briefing.md"
MEMORY_FILE = f"{RULES_DIR}/cortex-memory-instructions.md"
# Claude Code reads the one; Codex, Gemini CLI and others the other.
SKILL_FILES = (".claude/skills/cortex/SKILL.md", ".agents/skills/cortex/SKILL.md")
AGENTS_FILE = "AGENTS.md"
BEGIN_MARK, END_MARK = "<!-- cortex:begin -->", "<!-- cortex:end -->"
_FILE_HEADER = "<!-- cortex: made by `cortex brief --into rules`, which writes it anew -->\n"
# A skill begins with its frontmatter.
_SKILL_HEADER = "---\n# cortex: made by `cortex brief --into skill`, which writes it anew\n"
_BLOCK_HEADER = "<!-- cortex: made by `cortex brief --into {}`, which writes it anew; --into none takes it away{} -->"
# What was put above the block, so that it can be taken away: the line ends, or the file itself.
_ADDED_ABOVE = {
    "": "", "1": ", and the line end above", "2": ", and the two line ends above",
    "file": ", and the file",
}  # fmt: skip
_MAX_BYTES = 4 * 1024 * 1024  # bytes of an AGENTS.md; more is none


class _MarkedBlock(NamedTuple):
    """A file in which a marked block holds the briefing."""

    path: str
    begin: str
    end: str
    way: str  # of `cortex brief --into`

    def header(self, added: str) -> str:
        return _BLOCK_HEADER.format(self.way, _ADDED_ABOVE[added])


_AGENTS = _MarkedBlock(AGENTS_FILE, BEGIN_MARK, END_MARK, "agents")
# As seed 003 has it: a file of one's own, which git leaves out.
_SURFACE = _MarkedBlock(
    SURFACE_FILE, "<!-- CORTEX_MEMORY_START -->", "<!-- CORTEX_MEMORY_END -->", "surface"
)
_BLOCKS = (_AGENTS, _SURFACE)


def write_briefing_files(vault: Vault, cwd: str, way: str, text: str) -> tuple[str, ...]:
    """Put the briefing `text` where `way` says; return the files that changed, relative to the
    project.

    Raises `ConflictError` for a file in the way that Cortex did not write, `InvalidInputError` for
    marks that do not match.
    """
    root = project_root(vault, cwd)
    if way == "rules":
        bodies = rule_texts(text).items()
        return tuple(path for path, body in bodies if write_rule_file(root, path, body))
    if way == "skill":
        skill = read_template("agent/skill.md").removeprefix("---\n")
        return tuple(path for path in SKILL_FILES if write_rule_file(root, path, skill))
    block = next(one for one in _BLOCKS if one.way == way)
    before = _read_file(root, block.path)
    after = insert_block(before, text, block)
    if after == before:
        return ()
    _write_file(root, block.path, before, after)
    if block == _SURFACE and before is None:
        _keep_out_of_git(root)
    return (block.path,)


def remove_briefing_files(vault: Vault, cwd: str) -> tuple[str, ...]:
    """Remove what `write_briefing_files` wrote, and folders that are empty then; return the paths
    that changed."""
    root = project_root(vault, cwd)
    changed = []
    for path in (BRIEFING_FILE, MEMORY_FILE, *SKILL_FILES):
        if (_read_file(root, path) or b"").startswith(_header_of(path)):
            _remove(root, path)
            changed.append(path)
    for block in _BLOCKS:
        before = _read_file(root, block.path)
        after = before if before is None else remove_block(before, block)
        if after == before:
            continue
        changed.append(block.path)
        if after is None:
            _remove(root, block.path)
        else:
            _write_file(root, block.path, before, after)
    return tuple(changed)


def _remove(root: str, path: str) -> None:
    """Remove a file, and the folders that are empty then."""
    files.remove(root, path)
    with suppress(OSError):  # something else is in a folder
        while path := os.path.dirname(path):
            os.rmdir(os.path.join(root, path))


def _keep_out_of_git(root: str) -> None:
    """Name the surface in this clone's `info/exclude`, unless git leaves it out already."""
    repository = checkout.find_repository(root)
    if repository is None or objects.filter_ignored(root, [SURFACE_FILE]):
        return
    path = os.path.join(repository.common_dir, "info", "exclude")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a+b") as file:
        file.seek(0)
        text = file.read()
        line_end = b"" if not text or text.endswith(b"\n") else b"\n"
        file.write(line_end + f"/{SURFACE_FILE}\n".encode())


def project_root(vault: Vault, cwd: str) -> str:
    """The folder of the project around `cwd`. `InvalidInputError` where that is the vault, whose
    notes no host reads."""
    git = checkout.find_repository(cwd)
    root = git[0] if git else os.path.realpath(cwd)
    if root == vault.root or root.startswith(f"{vault.root}{os.sep}"):
        hint = "run this in the folder of the project that works with it"
        raise InvalidInputError(f"{root} is the vault, not a project", hint)
    return root


def insert_block(data: bytes | None, text: str, of: _MarkedBlock = _AGENTS) -> bytes:
    """A file with the block that holds `text`, in the place of its own one, else at its end. Every
    other byte stays."""
    span = _find_block(data or b"", of)
    eol = _line_ending(data or b"")
    if data is None:
        added = "file"
    elif span:
        added = _read_added_above(data[span[0] : span[1]], of)
    elif not data or data.endswith((b"\n\n", b"\r\n\r\n")):
        added = ""
    else:
        added = "1" if data.endswith(b"\n") else "2"
    # A text that cannot end the block or begin another.
    safe_lines = text.replace("<!--", "<!- -").replace("-->", "-- >").splitlines()
    lines = (of.begin, of.header(added), "", *safe_lines, "", of.end, "")
    block = eol.join(line.encode() for line in lines)
    if data is None:
        return block
    if span:
        return data[: span[0]] + block + data[span[1] :]
    return data + eol * int(added or 0) + block


def remove_block(data: bytes, of: _MarkedBlock = _AGENTS) -> bytes | None:
    """A file without its block; None when nothing is left of a file that was made for it."""
    span = _find_block(data, of)
    if span is None:
        return data
    before, block, after = data[: span[0]], data[span[0] : span[1]], data[span[1] :]
    added = _read_added_above(block, of)
    if added == "file":
        return before + after or None
    for _ in range(int(added or 0)):
        before = before.removesuffix(_line_ending(block))
    return before + after


def _find_block(data: bytes, of: _MarkedBlock) -> tuple[int, int] | None:
    """Offsets of the block, its last line end included; None without one. Marks in fences do not
    count.

    Raises `InvalidInputError` for a file whose marks do not match, with the line.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data:
        raise InvalidInputError(f"{of.path} is not UTF-8", "save it as UTF-8")
    places: dict[str, list[tuple[int, int, int]]] = {of.begin: [], of.end: []}
    start = 0
    # An unclosed fence counts for nothing; the line end tells it from one that ends the file.
    fences = [span for span in fence_spans(f"{data.decode('latin-1')}\n") if span[1] <= len(data)]
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        mark = line.strip().decode("utf-8", "replace")
        if mark in places and not any(begin < start < end for begin, end in fences):
            places[mark].append((number, start, start + len(line)))
        start += len(line)
    begins, ends = places.values()
    if not begins and not ends:
        return None
    hint = f"take both marks out, {of.begin} and {of.end}, or put them back around one block"
    for mark, own, others in ((of.begin, begins, ends), (of.end, ends, begins)):
        if len(own) > 1:
            message = f"{own[1][0]}: {mark} stands there a second time"
        elif not own:
            message = f"{others[0][0]}: the mark there has no {mark}"
        else:
            continue
        raise InvalidInputError(f"{of.path}:{message}", hint)
    if begins[0][0] > ends[0][0]:
        message = f"{of.path}:{ends[0][0]}: {of.end} stands before {of.begin}"
        raise InvalidInputError(message, hint)
    return begins[0][1], ends[0][2]


def _read_added_above(block: bytes, of: _MarkedBlock) -> str:
    """What was put above a block, as its second line says; empty when that line is none of ours."""
    lines = block.splitlines()
    said = lines[1].decode("utf-8", "replace") if len(lines) > 1 else ""
    above_by_header = {of.header(above): above for above in _ADDED_ABOVE}
    return above_by_header.get(said, "")


def _line_ending(data: bytes) -> bytes:
    return b"\r\n" if b"\r\n" in data.partition(b"\n")[0] + b"\n" else b"\n"


def rule_texts(briefing: str) -> dict[str, str]:
    """The rule files of a project, and what each says."""
    return {BRIEFING_FILE: briefing, MEMORY_FILE: read_template("agent/memory.md")}


def write_rule_file(root: str, path: str, text: str, *, force: bool = False) -> bool:
    """Write a rule file of ours, unless it says this already; with `force` over anybody's."""
    header = _header_of(path)
    wanted = (header + text.encode()).rstrip(b"\n") + b"\n"
    current = _read_file(root, path)
    if current is not None and not current.startswith(header) and not force:
        hint = "move it away, or write into another place: cortex brief --into agents"
        raise ConflictError(f"{path} is there, and cortex did not write it", hint)
    if current == wanted:
        return False
    _write_file(root, path, current, wanted)
    return True


def _header_of(path: str) -> bytes:
    """By which a file is known as ours."""
    return (_SKILL_HEADER if path in SKILL_FILES else _FILE_HEADER).encode()


def _read_file(root: str, path: str) -> bytes | None:
    """The bytes of a file of the project; None if absent. `InvalidInputError` for a link."""
    try:
        data = files.read(root, path, _MAX_BYTES + 1)
    except NotFoundError:
        return None
    except InvalidInputError as error:
        hint = "cortex writes through no link: put a file in its place, or name the other way"
        raise InvalidInputError(f"{path}: {error.message}", hint) from error
    if len(data) > _MAX_BYTES:
        hint = "give the briefing another place"
        raise InvalidInputError(f"{path} is larger than {_MAX_BYTES:,} bytes", hint)
    return data


def _write_file(root: str, path: str, current: bytes | None, wanted: bytes) -> None:
    """Write a file of the project with the rights that the user's umask gives."""
    folders = list(accumulate(path.split("/")[:-1], "{}/{}".format))
    new = [folder for folder in folders if not files.exists(root, folder)]
    try:
        files.replace(root, path, wanted, current)
    except OSError as error:
        hint = "make room, or check the rights of the folder"
        raise CortexError(f"{path} cannot be written: {error.strerror}", hint) from error
    if current is not None:
        return
    mask = files.current_umask()
    for one, mode in (*((folder, 0o777) for folder in new), (path, 0o666)):
        full = os.path.join(root, one)
        if not stat.S_ISLNK(os.lstat(full).st_mode):
            os.chmod(full, mode & ~mask)
