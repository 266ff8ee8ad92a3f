"""Embedders: a model of MiniLM's kind run by NumPy, static tables, and models behind HTTP."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")

from cortex.index.vectors import embedders, remote_models  # noqa: E402
from cortex.index.vectors.embedders import EmbedderFailed  # noqa: E402
from cortex.index.vectors.local_models import (  # noqa: E402
    LocalModel,
    StaticModel,
    WordPieces,
)
from cortex.vault.user_settings import SemanticSettings  # noqa: E402
from tests.index.embedding_server import embedding_server  # noqa: E402

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "##s", "un", "##like", "##ly", ".", "a", "日", "cafe", "_"]  # fmt: skip
WIDTH, HEADS, INNER, LAYERS = 8, 2, 16, 2


def at(folder: Path) -> SemanticSettings:
    return SemanticSettings(folder=str(folder))


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    header, at, parts = {"__metadata__": {"format": "pt"}}, 0, []
    for name, one in tensors.items():
        data = one.tobytes()
        kind = {"float32": "F32", "float16": "F16", "int64": "I64"}[str(one.dtype)]
        header[name] = {"dtype": kind, "shape": one.shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
        parts.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def write_bert(folder: Path, seed: int = 1) -> dict[str, np.ndarray]:
    """A model with random weights."""
    rng = np.random.default_rng(seed)
    shapes = {
        "embeddings.word_embeddings.weight": (len(PIECES), WIDTH),
        "embeddings.position_embeddings.weight": (12, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        dense = {
            **{f"attention.self.{name}": (WIDTH, WIDTH) for name in ("query", "key", "value")},
            "attention.output.dense": (WIDTH, WIDTH),
            "intermediate.dense": (INNER, WIDTH),
            "output.dense": (WIDTH, INNER),
        }
        for name, shape in dense.items():
            shapes |= {f"{at}{name}.weight": shape, f"{at}{name}.bias": shape[:1]}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{at}{name}.weight": (WIDTH,), f"{at}{name}.bias": (WIDTH,)}
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    folder.mkdir(parents=True, exist_ok=True)
    positions = {"embeddings.position_ids": np.arange(12)}
    write_safetensors(folder / "model.safetensors", positions | weights)
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    config = {"num_attention_heads": HEADS, "layer_norm_eps": 1e-12, "hidden_act": "gelu"}
    (folder / "config.json").write_text(json.dumps(config))
    return weights


def reference_vector(weights: dict[str, np.ndarray], numbers: list[int]) -> np.ndarray:
    """The same by the book, for one text without padding, in 64-bit numbers."""
    table = {name: one.astype(np.float64) for name, one in weights.items()}

    def norm(x, at):
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
        return x * table[at + ".weight"] + table[at + ".bias"]

    def dense(x, at):
        return x @ table[at + ".weight"].T + table[at + ".bias"]

    x = table["embeddings.word_embeddings.weight"][numbers]
    x = x + table["embeddings.position_embeddings.weight"][: len(numbers)]
    x = norm(x + table["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        q, k, v = (dense(x, f"{at}attention.self.{name}") for name in ("query", "key", "value"))
        heads = []
        for start in range(0, WIDTH, WIDTH // HEADS):
            part = slice(start, start + WIDTH // HEADS)
            e = np.exp(q[:, part] @ k[:, part].T / math.sqrt(WIDTH // HEADS))
            heads.append(e / e.sum(1, keepdims=True) @ v[:, part])
        x = norm(x + dense(np.concatenate(heads, 1), at + "attention.output.dense"), at + "attention.output.LayerNorm")  # fmt: skip
        h = dense(x, at + "intermediate.dense")
        h = h * (1 + np.vectorize(math.erf)(h / math.sqrt(2))) / 2
        x = norm(x + dense(h, at + "output.dense"), at + "output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def test_a_model_gives_what_its_formula_says_whatever_stands_in_the_same_batch(tmp_path) -> None:
    weights = write_bert(tmp_path / "m")
    model = LocalModel(at(tmp_path / "m"))
    texts = ["The cats sat.", "unlikely", "", "a cat " * 40, "日cat CAFÉ", "zzz the"]
    found = model.embed(texts)
    assert (model.dimension, model.is_remote, found.dtype) == (WIDTH, False, np.float32)
    for text, vector in zip(texts, found, strict=True):
        numbers = [2, *model._tokenizer.split(text, 10), 3]
        assert vector @ reference_vector(weights, numbers) > 0.9999
        assert vector @ model.embed([text])[0] > 0.99999
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(("text", "pieces"), [
    ("The CATS sat.", ["the", "cat", "##s", "sat", "."]),
    ("unlikely", ["un", "##like", "##ly"]),
    ("Café\u0301 a_a\u200b", ["cafe", "a", "_", "a"]),
    ("日日 \ufffd\x00a", ["日", "日", "a"]),
    ("dog " + "a" * 200, ["[UNK]", "[UNK]"]),
    ("", []),
])  # fmt: skip
def test_word_pieces(text, pieces) -> None:
    assert [PIECES[number] for number in WordPieces(PIECES).split(text, 99)] == pieces
    assert len(WordPieces(PIECES).split(text, 2)) <= 2


@pytest.mark.parametrize("cut", [0, 7, 40, 3000, -1])
def test_a_model_file_that_is_cut_is_no_model(tmp_path, cut) -> None:
    write_bert(tmp_path / "m")
    path = tmp_path / "m/model.safetensors"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(EmbedderFailed):
        LocalModel(at(tmp_path / "m")).embed(["the cat"])


def test_a_folder_that_holds_another_kind_of_model_is_refused(tmp_path) -> None:
    for name, text in (
        ("tokenizer_config.json", '{"do_lower_case": false}'),
        ("config.json", "{"),
        ("vocab.txt", "a\nb"),
    ):
        write_bert(tmp_path / "m")
        (tmp_path / "m" / name).write_text(text)
        with pytest.raises(EmbedderFailed):
            LocalModel(at(tmp_path / "m"))
        (tmp_path / "m" / name).unlink()
    for name in ("folder", "static"):
        with pytest.raises(EmbedderFailed):
            embedders.load_embedder(SemanticSettings(name, str(tmp_path / "none")))


def test_a_static_table(tmp_path) -> None:
    rng = np.random.default_rng(3)
    table = rng.normal(size=(len(PIECES), 6)).astype(np.float16)
    write_safetensors(tmp_path / "model.safetensors", {"embeddings": table})
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    model = {"type": "WordPiece", "vocab": vocabulary, "unk_token": "[UNK]"}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": model}))
    made = StaticModel(at(tmp_path))
    found = made.embed(["the cats zzz", "zzz"])
    wanted = table[[4, 5, 7]].astype(np.float32).mean(0)
    assert np.allclose(found[0], wanted / np.linalg.norm(wanted), atol=1e-6)
    assert not found[1].any()


def test_the_packaged_model_knows_what_is_alike() -> None:
    if not embedders.packaged_folder():
        pytest.skip("the weights are not installed: make semantic")
    model = embedders.load_embedder(SemanticSettings("minilm"))
    eating, bread, drums = model.embed(
        ["A man is eating food.", "A man is eating a piece of bread.", "A monkey is playing drums."]
    )
    # As sentence-transformers has it.
    assert eating @ bread == pytest.approx(0.7553, abs=2e-4)
    assert eating @ drums == pytest.approx(0.0476, abs=5e-4)
    happy, very, dog = model.embed(
        ["That is a happy person", "That is a very happy person", "That is a happy dog"]
    )
    assert happy @ very == pytest.approx(0.9429, abs=2e-4)
    assert happy @ dog == pytest.approx(0.6945, abs=5e-4)


def openai(url: str, key_variable: str = ""):
    chosen = SemanticSettings("openai", url=url, model="m", key_variable=key_variable)
    return remote_models.openai_model(chosen)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(remote_models, "_FIRST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(remote_models, "_TRY_SECONDS", 0.3)
    with embedding_server() as made:
        yield made


def test_an_endpoint_gives_vectors_in_the_order_of_the_texts(server, monkeypatch) -> None:
    monkeypatch.setenv("THE_KEY", "k-1")
    model = openai(server.url, "THE_KEY")
    found = model.embed(["a car", "a dog", "password=hunter2hunter2 AKIAIOSFODNN7EXAMPLE"])
    assert found.shape == (3, 5)
    assert found[0].argmax() == 0
    assert found[1].argmax() == 1
    assert server.headers[0]["Authorization"] == "Bearer k-1"
    assert "AKIAIOSFODNN7EXAMPLE" not in "".join(server.texts)
    assert model.is_remote
    assert len(model.embed(["x"] * 250)) == 250
    assert len(server.headers) == 1 + 3


@pytest.mark.parametrize("faults", [[429, 503], ["hang"], [500, 429, 502]])
def test_a_busy_endpoint_is_asked_again(server, faults) -> None:
    server.faults = [*faults]
    assert openai(server.url).embed(["a car"]).shape == (1, 5)


@pytest.mark.parametrize("fault", [401, 404, 302, 307, 400, "html", "short", "hang", 429])
def test_an_endpoint_that_gives_no_vectors_fails_in_bounded_time(server, fault) -> None:
    server.faults = [fault] * 99
    model = openai(server.url)
    model.patience = 1.0
    with pytest.raises(EmbedderFailed) as raised:
        model.embed(["a car", "a dog"])
    assert raised.value.of_texts is (fault in (400, "html", "short"))
    assert server.texts == []  # of a redirect, too


def test_what_is_no_address_or_has_no_key_is_refused(monkeypatch) -> None:
    for make in (remote_models.openai_model, remote_models.gemini_model):
        with pytest.raises(EmbedderFailed, match="no key"):
            make(SemanticSettings())
    with pytest.raises(EmbedderFailed, match="no http address"):
        openai("file:///etc/passwd")


def test_gemini_is_asked_in_its_own_form(server, monkeypatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "g-1")
    asked = {}

    def post(self, body):
        asked.update(json.loads(body), url=self.url, headers=self._headers)
        return json.dumps({"embeddings": [{"values": [3.0, 4.0]}]}).encode()

    monkeypatch.setattr(remote_models.RemoteModel, "_post", post)
    found = remote_models.gemini_model(SemanticSettings()).embed(["a car"])
    assert found.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]]
    assert asked["url"].endswith("/v1beta/models/gemini-embedding-001:batchEmbedContents")
    assert asked["requests"][0]["content"] == {"parts": [{"text": "a car"}]}
    assert asked["headers"]["x-goog-api-key"] == "g-1"
