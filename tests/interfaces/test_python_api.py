"""`from cortex import Vault`: the verbs, from Python."""

from __future__ import annotations

import inspect
import os
import pydoc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest

import cortex
from cortex import Vault
from cortex.core.model.parameters import MOMENT
from cortex.core.model.problem import InvalidInputError, NotFoundError, Problem
from cortex.core.runs.agent_note import Agent
from cortex.core.runs.prompt import Facet
from cortex.core.runs.run_config import RunConfig
from cortex.interfaces.declare import declaration_of, load_verb
from cortex.interfaces.schema import answer_type
from cortex.operations import VERBS
from cortex.operations.find.hits import Hit
from cortex.operations.find.search import SearchResult

# For a shell, a terminal or a browser.
NOT_THERE = {"completion", "edit", "mcp", "open", "schema", "serve", "tui", "watch", "web"}


def test_each_verb_is_a_method_with_its_own_signature(vault) -> None:
    opened = Vault(vault.root)
    assert opened.root == vault.root
    names = {name for name in dir(opened) if not name.startswith("_") and name != "root"}
    verbs = {name.rstrip("_").replace("_", "-") for name in names}
    assert verbs == {*VERBS, "update"} - NOT_THERE
    for name in names - {"update"}:  # a name of `revise`
        method = getattr(opened, name)
        function = load_verb(name.rstrip("_").replace("_", "-"))
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


def test_from_elsewhere_what_is_kept_belongs_to_the_project_of_the_vault(
    vault, tmp_path_factory, monkeypatch
) -> None:
    place, shop = Path(vault.root).parent, tmp_path_factory.mktemp("shop")
    (place / ".cortex-project").write_text("notes\n")
    (shop / ".cortex-project").write_text("shop\n")
    monkeypatch.chdir(shop)
    project = {
        "elsewhere": Vault(vault.root).save("Use pears").id,
        "named": Vault(vault.root, cwd=str(shop)).save("Use plums").id,
    }
    opened = Vault(vault.root)
    path = os.path.relpath(os.path.join(vault.root, opened.show(project["elsewhere"]).path))
    assert "project: notes\n" in opened.show(path).text  # a path is still meant from here
    assert "project: shop\n" in opened.show(project["named"]).text
    (place / "src").mkdir()
    (place / "src/.cortex-project").write_text("part\n")
    monkeypatch.chdir(place / "src")
    assert "project: part\n" in opened.show(Vault(vault.root).save("Use figs").id).text


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


# What type checkers and editors see

ERRORS = (
    "AmbiguousNameError",
    "ConflictError",
    "CortexError",
    "InvalidInputError",
    "NotFoundError",
)
STUB = Path(cortex.__file__).with_suffix(".pyi")
STUB_HEAD = '''"""What type checkers and editors see of `cortex`, made from the verbs: CORTEX_UPDATE=1 of its test writes it."""

import os
from collections.abc import Iterable
from typing import Any, Literal, Protocol

{imports}

__version__: str

class _Progress(Protocol):
    def __call__(self, what: str, done: int, total: int, /) -> object: ...

class Vault:
    """A vault, and each verb as a method."""

    def __init__(
        self, folder: str | os.PathLike[str] = "", *, cwd: str = "", progress: _Progress = ...
    ) -> None:
        """The vault at `folder`, else the one that a command would find in `cwd`."""

    @property
    def root(self) -> str:
        """The absolute path of the vault."""

{methods}

_AnyVault = Vault | str | os.PathLike[str]

def get_agent(vault: _AnyVault, name: str) -> Agent: ...
def get_facet(vault: _AnyVault, name: str) -> Facet: ...
def get_talent_configs(
    vault: _AnyVault, type: Literal["cogitate", "generate"] | None = None, schedule: str | None = None
) -> dict[str, Agent]: ...
def prepare_config(vault: _AnyVault, request: RunRequest) -> RunConfig: ...
def validate_config(config: RunConfig) -> list[Problem]: ...
def cortex_request(vault: _AnyVault, prompt: str, name: str = "default", **options: Any) -> str: ...
def wait_for_runs(vault: _AnyVault, ids: Iterable[str], timeout: float = 600.0) -> dict[str, str]: ...
'''


def accepted(kind: Any) -> list[str]:
    """What a method takes for a parameter of a type: a value, and the words that say one."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return ["str", "int"] if arguments[1] == MOMENT else accepted(arguments[0])
    if origin is Literal:
        return [f"Literal[{', '.join(map(repr, arguments))}]"]
    if origin in (list, tuple):
        of_items = f"Iterable[{' | '.join(accepted(arguments[0]))}]"
        return [of_items] if arguments[0] is str else [of_items, "str"]
    if arguments:
        return [word for one in arguments for word in accepted(one)]
    return ["None" if kind is NoneType else kind.__name__]


def method_of(name: str, verb: str, answers: set[type]) -> str:
    """The method of a verb; the classes of what it answers are added to `answers`."""
    function = load_verb(verb)
    declared, answer = declaration_of(function), answer_type(function)
    answers.update({get_origin(answer) or answer, *get_args(answer)})
    of_item = f"[{get_args(answer)[0].__name__}]" if get_args(answer) else ""
    words, has_star = ["self"], False
    for one in declared.parameters:
        words += ["*"] if one.is_option and not has_star else []
        has_star = one.is_option
        default = "" if one.required else f" = {one.default!r}"
        words.append(f"{one.name}: {' | '.join(dict.fromkeys(accepted(one.type)))}{default}")
    head = f"    def {name}({', '.join(words)}) -> {answer.__name__}{of_item}:"
    return f'{head}\n        """{declared.summary}"""\n'


def written_stub() -> str:
    answers: set[type] = {Hit, Agent, Facet, RunConfig, Problem}
    names = {verb: verb.replace("-", "_") for verb in VERBS.keys() - NOT_THERE}
    names["import"] = "import_"
    every = [*((name, verb) for verb, name in names.items()), ("update", "revise")]
    methods = "\n".join(method_of(name, verb, answers) for name, verb in sorted(every))
    lines = {f"from {one.__module__} import {one.__name__}" for one in answers}
    lines.add("from cortex.core.runs.run_note import RunRequest as RunRequest")
    for name in ERRORS:  # these are handed on
        lines.add(f"from cortex.core.model.problem import {name} as {name}")
    text = STUB_HEAD.format(imports="\n".join(sorted(lines)), methods=methods)
    for name in ("search", "search_decisions", "search_similar", "hybrid_search"):
        signature = inspect.signature(getattr(cortex, name))
        words = []
        for one in signature.parameters.values():
            kind = "Vault | str | os.PathLike[str]" if one.name == "conn" else one.annotation
            default = "" if one.default is one.empty else f" = {one.default!r}"
            words.append(
                f"**{one.name}: Any" if one.name == "options" else f"{one.name}: {kind}{default}"
            )
        doc = getattr(cortex, name).__doc__
        text += f'def {name}({", ".join(words)}) -> list[Hit]:\n    """{doc}"""\n\n'
    for what in (("check", "--select=I,F401", "--fix", "-q"), ("format",)):
        ruff = [sys.executable, "-m", "ruff", *what, f"--stdin-filename={STUB}", "-"]
        text = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True).stdout
    return text


def test_the_stub_is_what_the_verbs_declare() -> None:
    wanted = written_stub()
    if os.environ.get("CORTEX_UPDATE") == "1":
        STUB.write_text(wanted)
    assert STUB.read_text() == wanted, "CORTEX_UPDATE=1 writes it anew"


PROGRAM = """
from cortex import CortexError, NotFoundError, Vault, hybrid_search, search, search_decisions, search_similar

vault = Vault("v")
for hit in vault.search("pears", number=5, type=["decision"], after="3m").hits:
    print(hit.title.upper(), hit.score + 1)
kept = vault.save("Use pears", type="decision", tags=("fruit",))
print(kept.id)
for found in (*search(vault, "pears"), *search_decisions("v", "pears"), *search_similar(vault, "pears", limit=5)):
    print(found.path.upper())
for change in vault.changes("x-1").changes:
    print(change.what == "gone", change.path)
try:
    hybrid_search(vault, "pears", limit=10, alpha=0.5)
except NotFoundError as error:
    print(error.hint)
except CortexError:
    pass
"""
WRONG = """
from cortex import Vault

Vault("v").search("pears", limit=5)
Vault("v").show(5).title
Vault("v").searc("pears")
"""


def test_a_type_checker_sees_methods_parameters_and_answers(tmp_path) -> None:
    for name, text in (("right.py", PROGRAM), ("wrong.py", WRONG)):
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent", "right.py", "wrong.py"]  # fmt: skip
    environ = os.environ | {"MYPYPATH": str(STUB.parent.parent)}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True)
    said = [line.partition(": error: ") for line in done.stdout.splitlines() if "error:" in line]
    assert [place for place, *_ in said] == ["wrong.py:4", "wrong.py:5", "wrong.py:6"], done.stdout
    assert "limit" in said[0][2]


def test_searches_of_earlier_memories_take_a_vault_or_its_path(vault) -> None:
    opened = Vault(vault.root)
    kept = opened.save("Use pears", type="decision").id
    opened.save("Pears bruise", type="gotcha")
    assert {one.title for one in cortex.search(opened, "pears")} == {"Use pears", "Pears bruise"}
    assert [one.id for one in cortex.search_decisions(vault.root, "pears")] == [kept]
    assert [one.id for one in cortex.hybrid_search(Path(vault.root), "pears", 1, 0.0, type="decision")] == [kept]  # fmt: skip
    assert len(cortex.search(opened, "pears", limit=1)) == 1
    assert {one.title for one in cortex.search_similar(opened, "pears")} == {
        "Use pears",
        "Pears bruise",
    }
    with pytest.raises(cortex.InvalidInputError, match="alpha"):
        cortex.hybrid_search(opened, "pears", alpha=7)
