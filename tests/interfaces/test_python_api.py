"""`from cortex import Vault`: the verbs, from Python."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cortex import Vault
from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.interfaces.declare import declaration_of, load_verb
from cortex.operations import VERBS
from cortex.operations.find.search import SearchResult

NOT_THERE = {"completion", "edit", "mcp", "open", "schema", "watch"}  # for a shell or a terminal


def test_each_verb_is_a_method_with_its_own_signature(vault) -> None:
    opened = Vault(vault.root)
    assert opened.root == vault.root
    names = {name for name in dir(opened) if not name.startswith("_") and name != "root"}
    assert {name.rstrip("_") for name in names} == {*VERBS, "update"} - NOT_THERE
    for name in names - {"update"}:  # a name of `revise`
        method = getattr(opened, name)
        function = load_verb(name.rstrip("_"))
        assert method.__doc__ == function.__doc__
        signature = inspect.signature(method)
        assert {*signature.parameters} == {one.name for one in declaration_of(function).parameters}
        assert signature.return_annotation == function.__annotations__["return"]


def test_values_or_words_go_in_and_what_the_verb_answers_comes_out(vault) -> None:
    opened = Vault(vault.root)
    kept = opened.save("Use pears", type="decision", tags=("fruit", "jam"), topic="decision/fruit")
    assert kept.outcome == "created"
    found = opened.search("pears", after="1d", number=3, type=["decision"])
    assert isinstance(found, SearchResult)
    assert [one.id for one in found.hits] == [kept.id]
    assert opened.recall(scope="recent").total == 1
    assert "fruit" in opened.show(kept.id).text
    assert opened.session("list").total == 0
    with pytest.raises(
        InvalidInputError, match="number 0 is not a whole number from 1 to 1,000: send 10"
    ):
        opened.search("pears", number=0)
    with pytest.raises(TypeError, match="limit"):
        opened.search("pears", limit=3)
    with pytest.raises(NotFoundError):
        opened.show("nothing")
    with pytest.raises(TypeError):
        opened.show("a", "b")
    with pytest.raises(TypeError):
        opened.show("a", note="b")
    with pytest.raises(AttributeError):
        opened.frobnicate
    with pytest.raises(NotFoundError):
        Vault(vault.root + "/nowhere")


def test_help_lists_the_verbs_with_what_they_take() -> None:
    shown = pydoc.render_doc(Vault, renderer=pydoc.plaintext)
    assert "show(self, note: 'NoteName', *, why: 'bool' = False" in shown
    assert "Show a note whole" in shown


def test_half_a_character_is_replaced_and_paths_may_be_objects(vault) -> None:
    opened = Vault(Path(vault.root))
    kept = opened.save("Pears \ud83d rot", tags=["a\udc80"])
    assert "Pears ? rot" in opened.show(kept.id).text
    assert opened.search("\ud83d rot").total == 1


def test_a_moment_is_a_word_or_seconds(vault) -> None:
    opened = Vault(vault.root)
    opened.save("Use pears", type="decision")
    assert opened.recall(since=1760000000).total == opened.recall(since="2025").total == 1
    assert opened.recall(since=4102444800).total == 0


def test_threads_may_share_a_vault(vault) -> None:
    opened = Vault(vault.root)
    with ThreadPoolExecutor(6) as threads:
        kept = [*threads.map(lambda n: opened.capture(f"Gotcha: pear {n} rots").id, range(24))]
    assert len({*kept}) == 24
    assert opened.search("rots", type="gotcha", number=100).total == 24


def test_the_package_loads_no_verb_before_it_is_asked(vault) -> None:
    code = "import sys, cortex; print([m for m in sys.modules if m.startswith('cortex.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['cortex.core']\n"  # its version
