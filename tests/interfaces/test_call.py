"""One call path: a call is bound to its request, never to the process; every interface says the same of it."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from cortex import Vault as OpenVault
from cortex.core.model.problem import NotFoundError
from cortex.interfaces.call import Request, bind, error_of
from cortex.interfaces.declare import declaration_of, load_verb
from cortex.interfaces.mcp.call import call_tool
from cortex.interfaces.mcp.tools import select_tools
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
