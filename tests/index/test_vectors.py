"""Vectors: each passage is embedded once, whatever happens; what was changed note by note answers as what was built anew."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.problem import CortexError
from cortex.index import semantic
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import open_index, query_index
from cortex.index.vectors import vector_file
from cortex.index.vectors.embedders import load_embedder
from cortex.index.vectors.vector_file import HEADER_BYTES, VectorFile, newest_vector_file
from cortex.operations.care import embed as verb
from cortex.operations.care.embed import embed
from cortex.vault import user_settings
from cortex.vault.extra import SEMANTIC, install_command
from cortex.vault.locate import Vault
from tests.conftest import run_cortex

pytest.importorskip("numpy")
from cortex.index.vectors import remote_models
from tests.index.embedding_server import CONCEPTS, concept_vector, embedding_server

NOTES = """=== car.md
# Wheels

My automobile needs oil.
=== dog.md
# Pets

The hound sleeps.
=== deep/money.md
# Budget

The price went up.
=== empty.md
"""


@pytest.fixture
def server(monkeypatch):
    """An embedder that notes what it is asked, chosen by the person."""
    monkeypatch.setattr(remote_models, "_FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(remote_models, "_TRY_SECONDS", 0.3)
    load_embedder.cache_clear()
    with embedding_server() as made:
        monkeypatch.setenv("CORTEX_EMBEDDER", "openai")
        monkeypatch.setenv("CORTEX_EMBEDDER_URL", made.url)
        monkeypatch.setenv("CORTEX_EMBEDDER_MODEL", "m")
        yield made


def find(vault: Vault, text: str, limit: int = 9, **more) -> list[tuple[str, int, float]]:
    def at(index):
        answer = semantic.nearest(vault, index, text, limit, **more)
        assert answer.problem is None, answer.problem
        rows = index.catalogue.rows_by_number(one.number for one in answer.found)
        found = [(rows[one.number].path, one.part, one.cosine) for one in answer.found]
        return sorted(found, key=lambda one: (-one[2], one[0]))

    return query_index(vault, no_progress, at)


def problem_of(vault: Vault, text: str = "vehicle") -> str:
    def at(now):
        problem = semantic.nearest(vault, now, text, 5).problem
        return f"{problem.message}; {problem.hint}" if problem else ""

    return query_index(vault, no_progress, at)


def file_of(vault: Vault) -> VectorFile:
    found = newest_vector_file(vault.cache_folder())
    assert found is not None
    return found


def test_what_is_said_in_other_words_is_found(vault_from, caller, server) -> None:
    vault = vault_from(NOTES)
    done = embed(vault, caller)
    assert (done.embedded, done.present, done.problems) == (4, 0, ())  # an empty note has a title
    assert [path for path, _, _ in find(vault, "vehicle", 1)] == ["car.md"]
    assert [path for path, _, _ in find(vault, "puppy", 1)] == ["dog.md"]
    assert find(vault, "cash", 1)[0][2] == pytest.approx(1, abs=0.05)

    def money_only(index):
        (row,) = index.catalogue.find(NoteFilter(query=None, link_name="money"))
        return semantic.nearest(vault, index, "vehicle", 5, {row.number}).found

    assert len(query_index(vault, no_progress, money_only)) == 1


def test_similar_notes_need_no_model(vault_from, caller, server) -> None:
    vault = vault_from(NOTES + "=== other.md\n# Garage\n\nThe car, the car.\n")
    embed(vault, caller)
    asked = len(server.headers)

    def at(index):
        number = index.catalogue.row_at("car.md").number
        allowed = index.catalogue.numbers(NoteFilter())
        found = semantic.similar_to(index, number, 1, allowed).found
        return index.catalogue.rows_by_number([found[0].number])[found[0].number].path, len(found)

    path, count = query_index(vault, no_progress, at)
    assert path == "other.md"
    assert count == 1
    assert len(server.headers) == asked


def test_each_text_is_embedded_once_and_a_move_costs_nothing(vault_from, caller, server) -> None:
    vault = vault_from(NOTES)
    embed(vault, caller)
    root = Path(vault.root)
    (root / "car.md").rename(root / "deep/auto.md")
    (root / "copy.md").write_bytes((root / "dog.md").read_bytes())
    assert embed(vault, caller).embedded == 0
    (root / "dog.md").write_text("# Pets\n\nThe hound barks.\n")
    assert embed(vault, caller, dry_run=True).embedded == 1
    assert embed(vault, caller).embedded == 1
    assert max(Counter(server.texts).values()) == 1
    assert find(vault, "vehicle", 1)[0][0] == "deep/auto.md"
    assert {path for path, _, _ in find(vault, "puppy", 1)} == {"copy.md", "dog.md"}


def test_without_vectors_nothing_is_loaded_and_nothing_said(vault_from, server) -> None:
    vault = vault_from(NOTES)
    assert query_index(vault, no_progress, lambda index: semantic.nearest(vault, index, "x", 5)) == ([], None)  # fmt: skip
    assert server.headers == []
    code = (
        "import sys; from cortex.interfaces.cli.main import main\n"
        "main(['search', 'automobile']); main(['status'])\n"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=vault.root, check=False, stdout=subprocess.DEVNULL).returncode == 0  # fmt: skip


def test_without_numpy_words_alone_answer_and_that_is_said(vault_from, caller, server, monkeypatch) -> None:  # fmt: skip
    vault = vault_from(NOTES)
    embed(vault, caller)
    for name in ("openai", "auto", "minilm"):
        load_embedder.cache_clear()
        monkeypatch.setenv("CORTEX_EMBEDDER", name)
        monkeypatch.setattr(verb.embedders, "find_spec", lambda _name: None)
        assert f"installed; {install_command(SEMANTIC)}" in problem_of(vault)
        with pytest.raises(CortexError, match="installed"):
            embed(vault, caller)


paths = st.sampled_from(["a.md", "b.md", "sub/c.md"])
texts = st.lists(
    st.sampled_from([*(word for some in CONCEPTS for word in some), "# Part\n\n" + "word " * 150 + "\n\n"]), max_size=6
).map(" ".join)  # fmt: skip
edits = st.lists(
    st.one_of(
        st.tuples(st.just("write"), paths, texts),
        st.tuples(st.just("delete"), paths),
        st.tuples(st.just("rename"), paths, paths),
    ),
    max_size=6,
)


class ConceptModel:
    """An embedder of this process."""

    model, dimension, is_remote, patience = "concepts", 5, False, 0.0

    def embed(self, texts):
        import numpy as np

        made = np.array([concept_vector(text) for text in texts], np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)


@given(edits)
@settings(max_examples=25)
def test_vectors_changed_note_by_note_answer_as_those_made_anew(steps) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for module in (semantic, verb.embedders):
            patch.setattr(module, "load_embedder", lambda _chosen: ConceptModel())
        patch.setenv("CORTEX_EMBEDDER", "folder")
        Path(folder, "cortex.toml").write_text("format = 1\n")
        vault = Vault(os.path.realpath(folder))
        caller = Caller("/", "2026-11-20T16:45:12Z", os.urandom, "test", no_progress)
        Path(folder, "first.md").write_text("a puppy")
        embed(vault, caller)
        for edit in steps:
            path = Path(folder, edit[1])
            path.parent.mkdir(exist_ok=True)
            if edit[0] == "write":
                path.write_text(edit[2])
            elif path.exists() and edit[0] == "delete":
                path.unlink()
            elif path.exists():
                target = Path(folder, edit[2])
                target.parent.mkdir(exist_ok=True)
                path.rename(target)
            find(vault, "dog")  # embeds what is missing
        changed = [find(vault, text, 2) for text in ("dog", "cash ship", "word")]
        os.unlink(file_of(vault).path)
        with open_index(vault, no_progress, rebuild=True):
            pass
        embed(vault, caller)
        assert [find(vault, text, 2) for text in ("dog", "cash ship", "word")] == changed


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(6))
def test_an_embedding_that_is_killed_goes_on_where_it_stood(vault_from, server, seed) -> None:
    total = 500
    vault = vault_from("".join(f"=== n{number}.md\ncar {number}\n" for number in range(total)))
    server.delay = 0.02
    chance = random.Random(seed)
    words = [sys.executable, "-m", "cortex", "embed"]
    kills = 0
    for _ in range(4):
        before = len(server.headers)
        process = subprocess.Popen(words, cwd=vault.root, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while len(server.headers) == before and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        time.sleep(chance.random() * 0.1)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    subprocess.run(words, cwd=vault.root, check=True, stdout=subprocess.DEVNULL)
    counts = Counter(server.texts)
    again = sum(count - 1 for count in counts.values())
    assert len(counts) == total
    assert again <= kills * semantic._BATCH_TEXTS  # the batch that was under way
    keys = file_of(vault).keys()
    assert len(keys) == len(set(keys)) == total


def test_a_file_that_is_cut_loses_what_was_cut(vault_from, caller, server) -> None:
    vault = vault_from(NOTES)
    embed(vault, caller)
    file = file_of(vault)
    size = os.path.getsize(file.path)
    for cut, left in ((1, 3), (vector_file._row_bytes(5) + 1, 2), (size - HEADER_BYTES, 0)):
        os.truncate(file.path, size - cut)
        assert len(file.keys()) == left
        assert embed(vault, caller).embedded == 4 - left
        assert os.path.getsize(file.path) == size
    os.truncate(file.path, HEADER_BYTES - 1)
    assert newest_vector_file(vault.cache_folder()) is None
    assert "the vectors cannot be read; cortex embed" in problem_of(vault)
    assert embed(vault, caller).embedded == 4


def test_a_file_of_another_model_is_not_this_models(
    vault_from, caller, server, monkeypatch
) -> None:
    vault = vault_from(NOTES)
    embed(vault, caller)
    monkeypatch.setenv("CORTEX_EMBEDDER_MODEL", "n")
    assert "no passage has a vector of n of" in problem_of(vault)
    other = VectorFile(vault.cache_folder(), file_of(vault).model.replace("m of", "n of"))
    os.replace(file_of(vault).path, other.path)
    assert other.keys() == []
    assert embed(vault, caller).embedded == 4


def test_vectors_of_another_length_are_told(vault_from, caller, server) -> None:
    vault = vault_from(NOTES)
    embed(vault, caller)
    server.faults = ["wide"]
    assert "no vector of 5 numbers" in problem_of(vault)
    for number in range(3):
        Path(vault.root, f"more{number}.md").write_text("a boat")
    server.faults = ["wide"] * 9
    with pytest.raises(CortexError, match="vectors of 6 numbers, not of 5"):
        embed(vault, caller)
    server.faults = []
    assert embed(vault, caller).embedded == 3


def test_a_text_that_an_embedder_cannot_take_stops_no_other(vault_from, caller, server) -> None:
    vault = vault_from(NOTES + "".join(f"=== n{number}.md\nship {number}\n" for number in range(9)))
    server.poison = "hound"
    done = embed(vault, caller)
    assert done.embedded == 12
    assert [one.where for one in done.problems] == ["dog.md"]
    assert "n4.md" in [path for path, _, _ in find(vault, "vessel", 9)]
    server.poison = ""
    assert embed(vault, caller).embedded == 1


@pytest.mark.parametrize("fault", ["nan", "short", "html", 401, "hang"])
def test_a_failing_embedder_is_said_and_what_was_done_stays(vault_from, caller, server, monkeypatch, fault) -> None:  # fmt: skip
    vault = vault_from(NOTES)
    embed(vault, caller)
    server.faults = [fault] * 99
    monkeypatch.setattr(semantic, "_QUERY_SECONDS", 0.5)
    monkeypatch.setattr(verb, "_RUN_SECONDS", 0.5)
    assert "meaning is left out" in problem_of(vault)
    for number in range(3):
        Path(vault.root, f"more{number}.md").write_text("a boat")
    with pytest.raises(CortexError):
        embed(vault, caller)
    assert len(file_of(vault).keys()) == 4


def test_what_agents_did_and_what_is_personal_is_not_sent_unless_asked(vault_from, caller, server, monkeypatch) -> None:  # fmt: skip
    event = "---\nid: {id}\ntype: {type}\nat: 2026-11-20T16:45:12Z\n---\n## Raw Content\n\n{text}\n"
    ids = ["20261120t164512z-aaaaaaaaaa", "20261120t164513z-bbbbbbbbbb"]
    vault = vault_from(
        NOTES
        + "=== mine.md\n---\nid: mine-aaaaaa\ntype: note\nscope: personal\n---\nMy secret boat.\n"
        + f"=== events/2026/11/{ids[0]}.md\n{event.format(id=ids[0], type='observation', text='cat /etc/vessel')}"
        + f"=== events/2026/11/{ids[1]}.md\n{event.format(id=ids[1], type='manual', text='A ship came.')}"
    )
    done = embed(vault, caller)
    assert done.withheld == {"events of agents": 1, "personal notes": 1}
    sent = "\n".join(server.texts)
    assert "secret boat" not in sent
    assert "/etc/vessel" not in sent
    assert "A ship came" in sent
    monkeypatch.setenv("CORTEX_EMBEDDER_SEND", "all")
    load_embedder.cache_clear()
    assert embed(vault, caller).embedded == 2
    assert "secret boat" in "\n".join(server.texts)


def test_nothing_of_ones_own_vault_is_sent_unless_asked(vault_from, caller, server) -> None:
    vault = vault_from(NOTES)._replace()
    own = Vault(vault.root, default_root=vault.root)
    done = embed(own, caller)
    assert (done.embedded, done.withheld, server.texts) == (0, {"personal notes": 4}, [])


@pytest.mark.parametrize(
    "section",
    ['embedder = "openai"', 'embedder = "folder"\nfolder = "/etc"', 'embedder = "off"\nurl = "http://evil.example"', 'embedder = ["minilm"]'],
)  # fmt: skip
def test_a_vault_names_no_address_and_no_folder(vault_from, caller, server, section) -> None:
    vault = vault_from(NOTES)
    Path(vault.root, "cortex.toml").write_text(f"format = 1\n\n[semantic]\n{section}\n")
    chosen, _ = semantic.choose_embedder(vault.root)
    assert chosen.embedder == "off"
    assert chosen.url == server.url  # the person's own
    with pytest.raises(CortexError):
        embed(vault, caller)
    assert server.headers == []
    said = run_cortex("doctor", cwd=vault.root).stdout
    assert "[semantic] says more than a vault may" in said or "[semantic] embedder is not" in said


def test_a_vault_switches_vectors_off_for_all(vault_from, caller, server) -> None:
    vault = vault_from(NOTES)
    embed(vault, caller)
    Path(vault.root, "cortex.toml").write_text('format = 1\n[semantic]\nembedder = "off"\n')
    asked = len(server.headers)
    assert find(vault, "vehicle") == []
    assert len(server.headers) == asked


def test_a_persons_own_settings(vault_from, caller, server, monkeypatch) -> None:
    vault = vault_from(NOTES)
    monkeypatch.delenv("CORTEX_EMBEDDER")
    path = Path(user_settings.settings_file())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('[semantic]\nembedder = "openai"\nmodel = "ours"\nnumber = 3\n')
    monkeypatch.delenv("CORTEX_EMBEDDER_MODEL")
    done = embed(vault, caller)
    assert done.model.startswith("ours of 127.0.0.1")
    assert [one.message for one in done.problems] == ["[semantic] number is no setting"]
    path.write_text('[semantic]\nembedder = "word2vec"\n')
    with pytest.raises(CortexError, match="none that there is"):
        embed(vault, caller)


def test_vectors_that_nothing_needs_are_removed_when_they_are_most(vault_from, caller, server, monkeypatch) -> None:  # fmt: skip
    monkeypatch.setattr(vector_file, "_MIN_UNUSED", 2)
    vault = vault_from(NOTES)
    embed(vault, caller)
    kept = find(vault, "vehicle", 1)
    for name in ("dog.md", "deep/money.md"):
        Path(vault.root, name).unlink()
    assert embed(vault, caller).removed == 0
    Path(vault.root, "empty.md").unlink()
    assert embed(vault, caller).removed == 3
    assert len(file_of(vault).keys()) == 1
    assert find(vault, "vehicle", 1) == kept


def test_one_run_at_a_time_and_readers_do_not_wait(vault_from, caller, server) -> None:
    vault = vault_from(NOTES)
    embed(vault, caller)
    with file_of(vault).writing():
        assert find(vault, "vehicle", 1)[0][0] == "car.md"
        with pytest.raises(CortexError, match="busy with the embedding"):
            embed(vault, caller)


def test_what_is_said_of_a_run(vault_from, server) -> None:
    vault = vault_from(NOTES)
    dry = run_cortex("embed", "--dry-run", cwd=vault.root).stdout
    assert "4 passages to embed, in about 1 second, 0 had a vector of m of 127.0.0.1" in dry
    assert server.texts == []
    assert "4 passages embedded" in run_cortex("embed", cwd=vault.root).stdout
    counted = query_index(Vault(vault.root), no_progress, lambda index: semantic.count_embedded(index.catalogue))  # fmt: skip
    assert counted == (4, 4)
    assert "4 passages embedded" in run_cortex("status", cwd=vault.root).stdout
    Path(vault.root, "more.md").write_text("a boat")
    assert "4 of 5 passages embedded: cortex embed goes on" in run_cortex("status", cwd=vault.root).stdout  # fmt: skip
