"""`from cortex import Vault`: the verbs, from Python."""

from __future__ import annotations

import inspect
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

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
    names = {name.rstrip("_") for name in dir(opened) if name != "root"}
    assert names == VERBS.keys() - NOT_THERE
    for name in dir(opened):
        if name == "root":
            continue
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
    with pytest.raises(InvalidInputError, match="--number 0"):
        opened.search("pears", number=0)
    with pytest.raises(InvalidInputError, match="no parameter 'limit'"):
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


def test_threads_may_share_a_vault(vault) -> None:
    opened = Vault(vault.root)
    with ThreadPoolExecutor(6) as threads:
        kept = [*threads.map(lambda n: opened.capture(f"Gotcha: pear {n} rots").id, range(24))]
    assert len({*kept}) == 24
    assert opened.search("rots", type="gotcha", number=100).total == 24


def test_the_package_loads_no_verb_before_it_is_asked(vault) -> None:
    code = "import sys, cortex; print([m for m in sys.modules if m.startswith('cortex.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
