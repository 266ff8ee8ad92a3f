"""One call path: a call is bound to its request, never to the process; every interface says the same of it."""

from __future__ import annotations

import errno
import math
import random
import subprocess
import sys
from pathlib import Path

import pytest

from cortex import Vault as OpenVault
from cortex.core.model.problem import CortexError, NotFoundError
from cortex.interfaces.call import Request, bind, error_of
from cortex.interfaces.declare import choices_of, declaration_of, is_note_name, load_verb
from cortex.interfaces.mcp.call import call_tool
from cortex.interfaces.mcp.tools import declare, select_tools
from cortex.vault.git.checkout import has_merge_drivers
from cortex.vault.locate import Vault, find_vault


def ask(request: Request, verb: str, /, **given: object):
    function = load_verb(verb)
    return bind(function, declaration_of(function), given, request).answer()


def test_folder_project_and_session_are_those_of_the_request(vault, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "of-the-process")
    for name in ("shop", "till"):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".cortex-project").write_text(name)
        request = Request(str(tmp_path / name), "mcp", lambda: vault, session=f"s-{name}")
        kept = ask(request, "save", title=f"Pears in the {name}", type="learning")
        text = Path(kept.file).read_text()
        assert (f"project: {name}\n" in text, f"s-{name}" in text) == (True, True)
    own = ask(request, "save", title="Plums do not keep", type="learning", session="s-own")
    assert "s-own" in Path(own.file).read_text()


def test_a_vault_is_looked_for_by_those_alone_that_take_one(tmp_path) -> None:
    request = Request(str(tmp_path), "mcp", lambda: find_vault("", str(tmp_path), {}))
    assert "search" in ask(request, "schema", verb="search").verbs
    with pytest.raises(NotFoundError, match="there is no vault"):
        ask(request, "search", query="pears")


def test_a_note_is_named_by_its_path_from_where_one_stands_over_every_interface(
    vault, vault_from, cortex
) -> None:
    vault_from("=== fruit/pears.md\n# Pears\n\nripe\n")
    below = str(Path(vault.root, "fruit"))
    assert OpenVault(vault.root, cwd=below).show("./pears.md").title == "Pears"
    tool, request = select_tools(["show"])["show"], Request(below, "mcp", lambda: vault)
    assert call_tool("show", tool, {"id": "./pears.md"}, request).content["title"] == "Pears"
    assert "# Pears" in cortex("show", "./pears.md", cwd=below).stdout


def test_a_fresh_clone_is_given_its_merge_drivers_before_a_call(
    vault, vault_from, cortex, git, tmp_path
) -> None:
    vault_from("=== pears.md\n# Pears\n\nripe\n")
    git(vault.root, "init", "-q")
    git(vault.root, "add", "-A")
    git(vault.root, "commit", "-qm", "all")
    clone = str(tmp_path / "clone")
    git(vault.root, "clone", "-q", vault.root, clone)
    said: list[str] = []
    only = Request(clone, "mcp", lambda: Vault(clone), say=None)
    ask(only, "search", query="pears")
    assert not has_merge_drivers(clone)
    ask(only._replace(say=said.append), "search", query="pears")
    assert (has_merge_drivers(clone), len(said) > 0) == (True, True)


def test_what_the_system_refuses_names_the_folder_to_look_at(tmp_path) -> None:
    refused = error_of(PermissionError(errno.EACCES, "Permission denied", f"{tmp_path}/a"))
    assert refused.message == f"Permission denied: {tmp_path}/a"
    assert refused.hint.startswith(f"ls -ld {tmp_path} shows whose it is")
    assert error_of(OSError(errno.ENOSPC, "No space left on device")).hint == "cortex doctor"


DEEP: list[object] = []
for _ in range(5_000):
    DEEP = [DEEP]
HALF = "\ud83d"
ODD: list[object] = [
    42, -1, 0, 1.5, 2**63, 10**30, 10**5000, -(10**30), math.nan, math.inf, 1e300, True, False, None, "", "null", [], ["a"], [""], [1], [None],
    [["a"]], {}, {"id": "x"}, DEEP, "3", "3.0", "true", "yes", '["a"]', "a, b", ",", "[", '["', "[" * 5_000, HALF, f"a{HALF}", "\udcff", "\x00",
    "a\x00b", "b'abc'", b"abc", {"a"}, ("a",), object(), "\n", "../../etc/passwd", "/etc/passwd", "x" * 100_000, "*", ".", "-", "--", "1e999",
    "NaN", "١٢", "2026-13-45", "9" * 30 + "d", "99999999y", "T", "\u202e", "e\u0301", "🍐", "%s%n{0}", "[[a]]", "type:", "type:[", "(((", '"',
    "after:9999999999d", "~root/x", "records/x.md:12",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_given_for_an_argument_is_answered_or_refused(vault, caller, seed) -> None:
    """A thousand calls of tools and methods, in which arguments hold what no one would send."""
    chance, opened = random.Random(seed), OpenVault(vault.root)
    known = opened.save("Use pears", type="decision", topic="decision/fruit").id
    request = Request(vault.root, "mcp", lambda: vault)
    tools = [*select_tools(["all"]).items()]
    refused = 0
    for _ in range(1_000):
        name, tool = chance.choice(tools)
        asked = [one for one in declare(tool).parameters if one.label]
        given: dict[str, object] = {
            one.label: known
            if is_note_name(one.type)
            else next(iter(choices_of(one.type)), "pears")
            for one in asked
            if one.required
        }
        for one in chance.sample(asked, min(len(asked), chance.choice((1, 1, 1, 2, 3)))):
            given[one.label] = chance.choice(ODD)
        method = "" if tool.profile else "import_" if name == "import" else name
        try:
            if method and hasattr(OpenVault, method) and chance.random() < 0.4:
                getattr(opened, method)(**given)
            else:
                call_tool(name, tool, given, request)
        except CortexError as error:  # any other exception is a fault of ours
            refused += 1
            assert 0 < len(error.message) < 2_100
    assert 200 < refused < 900


def test_a_working_directory_that_is_gone_is_said(vault, tmp_path):
    gone = tmp_path / "gone"
    for verb in ("doctor", "capture"):
        gone.mkdir()
        line = f"cd {gone} && rmdir {gone} && exec {sys.executable} -m cortex {verb} --vault {vault.root} {'x' * (verb == 'capture')}"
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert done.stderr.splitlines()[0] == "cortex: the working directory is gone"
        assert "cd to a folder" in done.stderr
