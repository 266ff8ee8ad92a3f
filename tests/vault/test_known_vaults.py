"""Which vault of this machine a request means, and how the vaults of this machine are known."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.operations.care.init import init
from cortex.vault.git import checkout
from cortex.vault.state import known_vaults
from cortex.vault.state.known_vaults import find_workplace, list_vaults


@pytest.fixture
def shop(tmp_path, caller) -> Path:
    """A project with a vault beside its code."""
    (tmp_path / "shop").mkdir()
    init(caller, str(tmp_path / "shop/vault"))
    (tmp_path / "shop/.cortex-project").write_text("web-shop\n")
    return tmp_path / "shop"


@pytest.fixture
def notes(tmp_path, caller) -> Path:
    init(caller, str(tmp_path / "notes"), default=True)
    return tmp_path / "notes"


def test_init_and_the_first_command_that_reads_make_a_vault_known(shop, notes, cortex_process):
    def known() -> list[tuple[str, str]]:
        return [(one.name, one.root) for one in list_vaults()]

    ours, own = ("web-shop", str(shop / "vault")), ("notes", str(notes))
    assert {ours, own} <= {*known()}
    shutil.rmtree(os.path.join(os.environ["HOME"], ".local/state/cortex"))
    assert known() == [own]  # the default one is known anyway
    cortex_process("capture", "Decision: a capture pays for nothing else", cwd=str(shop))
    assert known() == [own]
    cortex_process("search", "decision", cwd=str(shop))
    assert known() == [own, ours]


@pytest.mark.parametrize("asked", ["web-shop", "shop", "ROOT"])
def test_a_request_names_a_vault_by_its_project_its_folder_or_its_path(shop, notes, asked):
    root = str(shop / "vault")
    found = find_workplace("", str(notes), {}, (), asked.replace("ROOT", root))
    assert (found.vault.root, found.folder) == (root, str(shop))
    assert checkout.project_of(found.folder) == "web-shop"


def test_a_request_names_no_other_folder_of_this_machine(tmp_path, shop, notes):
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "cortex.toml").write_text("")  # a vault that nobody has used here
    for asked in (str(stranger), "stranger", "../stranger", f"{shop}/vault/../../stranger", "/"):
        with pytest.raises(NotFoundError) as told:
            find_workplace("", str(shop), {}, (), asked)
        assert "web-shop" in told.value.hint
        assert str(notes) in told.value.hint


def test_a_vault_that_is_gone_is_said_to_be_gone_and_those_that_are_there_are_named(shop, notes):
    shutil.rmtree(shop / "vault")
    with pytest.raises(NotFoundError) as told:
        find_workplace("", str(notes), {}, (), "shop")
    assert told.value.message == f"the vault {shop / 'vault'} is gone"
    assert told.value.hint == f"choose by the argument vault: notes ({notes})"


def test_two_vaults_of_one_name_are_told_apart_by_their_paths(tmp_path, shop, caller):
    (tmp_path / "old/shop").mkdir(parents=True)
    init(caller, str(tmp_path / "old/shop/vault"))
    with pytest.raises(InvalidInputError, match="2 vaults are called 'shop'") as told:
        find_workplace("", str(tmp_path), {}, (), "shop")
    path = str(tmp_path / "old/shop/vault")
    assert path in told.value.hint
    (tmp_path / "old/shop/.cortex-project").write_text("web-shop\n")
    assert {one.name for one in list_vaults()} == {path, str(shop / "vault")}
    assert find_workplace("", str(tmp_path), {}, (), path).vault.root == path


def test_the_order_is_argument_roots_environment_working_directory_default(
    tmp_path, shop, notes, caller
):
    places = {}
    for name in ("argued", "rooted", "set", "here"):
        (tmp_path / f"my {name}").mkdir()
        places[name] = str(tmp_path / f"my {name}")
        init(caller, f"{places[name]}/vault")
    (tmp_path / "bare").mkdir()
    bare, home = str(tmp_path / "bare"), os.environ["HOME"]
    environ = {"CORTEX_WORKSPACE": "${workspaceFolder}", "CLAUDE_PROJECT_DIR": places["set"]}
    root = Path(places["rooted"]).as_uri()

    def found(cwd: str, given: dict[str, str], asked: str = "", *folders: str) -> tuple[str, str]:
        place = find_workplace("", cwd, given, folders, asked)
        return place.vault.root, place.folder

    def at(name: str) -> tuple[str, str]:
        return f"{places[name]}/vault", places[name]

    argued = f"{places['argued']}/vault"
    assert found(places["here"], environ, argued, root) == at("argued")
    assert found(places["here"], environ, "", root) == at("rooted")
    assert found(places["here"], environ, "", bare, "file://elsewhere/x", "http://x") == at("set")
    assert found(places["here"], {"CORTEX_WORKSPACE": "${workspaceFolder}"}) == at("here")
    assert found(home, {"WORKSPACE_FOLDER_PATHS": f"{bare},{places['set']}"}) == at("set")
    # No vault lies there: the person's own, and still the project of the workspace.
    assert found(home, {"CORTEX_WORKSPACE": bare}) == (str(notes), bare)
    assert found("/", {}) == (str(notes), "/")


def test_a_server_that_is_bound_to_a_vault_leaves_it_for_no_request(shop, notes):
    for named, environ in ((str(notes), {}), ("", {"CORTEX_VAULT": str(notes)})):
        place = find_workplace(named, "/", environ, [str(shop)])
        assert (place.vault.root, place.folder) == (str(notes), str(shop))
        assert find_workplace(named, str(shop), environ, (), "notes").vault.is_explicit
        with pytest.raises(InvalidInputError, match=f"answers for {notes} alone"):
            find_workplace(named, str(shop), environ, (), "shop")


def test_without_any_vault_the_error_says_which_there_are(shop, tmp_path):
    with pytest.raises(NotFoundError) as told:
        find_workplace("", str(tmp_path), {})
    assert told.value.hint == f"choose by the argument vault: web-shop ({shop / 'vault'})"
    shutil.rmtree(shop)
    with pytest.raises(NotFoundError, match="there is no vault") as told:
        find_workplace("", str(tmp_path), {})
    assert "cortex init" in told.value.hint


def test_a_state_folder_that_somebody_copied_names_no_vault(shop):
    (one,) = [
        path for path in Path(os.environ["HOME"], ".local/state/cortex").iterdir()
        if (path / "root").exists()
    ]  # fmt: skip
    shutil.copytree(one, one.with_name("copy-0123456789ab"))
    (one / "root").write_text(str(shop))
    assert list_vaults() == []
    known_vaults.remember(str(shop / "vault"))  # it is there: nothing to write
    assert list_vaults() == []
