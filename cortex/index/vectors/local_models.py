"""Models that lie on this machine: MiniLM and others of its kind, run with NumPy alone; tables of
static embeddings; what sentence-transformers runs. Weights are mapped into memory, not read."""

from __future__ import annotations

import json
import math
import os
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cortex.core.text.strings import blake2b_digest
from cortex.index.vectors.embedders import Embedder, EmbedderFailed, packaged_folder
from cortex.vault.extra import SEMANTIC, install_command
from cortex.vault.user_settings import SemanticSettings

Floats = NDArray[np.float32]
_MAX_PIECES = 256  # of a text, the marks of its beginning and end included
_BATCH_PIECES = 1024  # that are worked on at once: what they need stays in the processor's cache
_TYPES = {"F32": np.float32, "F16": np.float16}
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)

_MAX_WORD_CHARS = 100  # a longer word is unknown
_MAX_KNOWN_WORDS = 200_000  # whose pieces are remembered
_CJK = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2CEAF), (0x2F800, 0x2FA1F))  # fmt: skip


def unit_rows(vectors: Floats) -> Floats:
    """The rows, each with length 1."""
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return scaled


def map_tensors(path: str) -> tuple[dict[str, Floats], str]:
    """The tensors of a safetensors file by name, and a digest by which it is told from others."""
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r")
        end = 8 + int(data[:8].view("<u8")[0])
        header: dict[str, Any] = json.loads(data[8:end].tobytes())
        tensors = {}
        for name, about in header.items():
            if (kind := _TYPES.get(about.get("dtype"))) is not None:
                first, last = about["data_offsets"]
                tensor = data[end + first : end + last].view(kind).reshape(about["shape"])
                tensors[name] = tensor.astype(np.float32, copy=False)
    except (*_UNREADABLE, OverflowError) as error:
        raise EmbedderFailed(f"{path} cannot be read: {error}") from error
    some = data[:: 1 + data.size // 256].tobytes() + data[:end].tobytes()
    return tensors, blake2b_digest(some, 4).hex()


def _read_json(folder: str, name: str) -> dict[str, Any]:
    """A file of a model; empty when there is none."""
    path = os.path.join(folder, name)
    if not os.path.lexists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        table: dict[str, Any] = json.load(file)
        return table


class _CharTable(dict[int, str]):
    """What becomes of each character, for `str.translate`; filled as characters come."""

    def __missing__(self, code: int) -> str:
        char, kind = chr(code), unicodedata.category(chr(code))
        made = char.lower()
        if char in "\t\n\r" or kind.startswith("Z"):
            made = " "
        elif char == "\ufffd" or kind.startswith("C") or kind == "Mn":
            made = ""
        elif (
            (char.isascii() and not char.isalnum())
            or kind.startswith("P")
            or any(low <= code <= high for low, high in _CJK)
        ):
            made = f" {char} "
        self[code] = made
        return made


class WordPieces:
    """The word pieces of a text, as an uncased BERT has them: words without case and accents, each
    cut into the longest pieces of a vocabulary, in which those that go on a word begin with `##`."""

    def __init__(self, pieces: Sequence[str], unknown: str = "[UNK]") -> None:
        self.numbers = {piece: number for number, piece in enumerate(pieces)}
        self.unknown = self.numbers[unknown]
        self._chars = _CharTable()
        self._known_words: dict[str, list[int]] = {}

    def split(self, text: str, most: int) -> list[int]:
        """The numbers of at most `most` pieces, without marks of beginning and end."""
        found: list[int] = []
        if len(self._known_words) > _MAX_KNOWN_WORDS:
            self._known_words = {}
        for word in unicodedata.normalize("NFD", text).translate(self._chars).split():
            if (pieces := self._known_words.get(word)) is None:
                pieces = self._known_words[word] = self._split_word(word)
            found += pieces
            if len(found) >= most:
                break
        return found[:most]

    def _split_word(self, word: str) -> list[int]:
        found, start, mark = list[int](), 0, ""
        while start < len(word):
            ends = range(len(word), start, -1) if len(word) <= _MAX_WORD_CHARS else ()
            end = next((one for one in ends if mark + word[start:one] in self.numbers), 0)
            if not end:
                return [self.unknown]
            found.append(self.numbers[mark + word[start:end]])
            start, mark = end, "##"
        return found


def packaged_model(chosen: SemanticSettings) -> Embedder:
    """all-MiniLM-L6-v2 as a package has it."""
    if not (folder := packaged_folder()):
        raise EmbedderFailed("all-MiniLM-L6-v2 is not installed", install_command(SEMANTIC))
    return LocalModel(chosen._replace(folder=folder, model="all-minilm-l6-v2"))


class LocalModel(Embedder):
    """An uncased BERT that gives a vector for a text, such as all-MiniLM-L6-v2."""

    def __init__(self, chosen: SemanticSettings) -> None:
        folder = chosen.folder
        weights, digest = map_tensors(os.path.join(folder, "model.safetensors"))
        self._weights = {key.removeprefix("bert."): one for key, one in weights.items()}
        try:
            config = _read_json(folder, "config.json")
            is_cased = not _read_json(folder, "tokenizer_config.json").get("do_lower_case", True)
            if is_cased or config.get("hidden_act", "gelu") != "gelu":
                raise ValueError("it is cased, or without GELU")
            with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as file:
                self._tokenizer = WordPieces(file.read().split("\n"))
            self._begin, self._end = (self._tokenizer.numbers[one] for one in ("[CLS]", "[SEP]"))
            self.dimension = self._weights["embeddings.word_embeddings.weight"].shape[1]
            places = len(self._weights["embeddings.position_embeddings.weight"])
            self._heads = int(config["num_attention_heads"])
            self._epsilon = np.float32(config["layer_norm_eps"])
            pooling = _read_json(folder, "1_Pooling/config.json")
        except _UNREADABLE as error:
            raise EmbedderFailed(f"{folder} is no BERT that Cortex can read: {error}") from error
        self.model = f"{chosen.model or os.path.basename(os.path.realpath(folder))}@{digest}"
        self._max_pieces = min(_MAX_PIECES, places)
        self._uses_cls_token = pooling.get("pooling_mode_cls_token") is True
        # GELU of every 16-bit number: its error is below that of the vectors as they are kept.
        halves = np.arange(65_536, dtype=np.uint16).view(np.float16).astype(np.float32)
        halves[~np.isfinite(halves)] = 0
        erf = np.fromiter(map(math.erf, (halves / math.sqrt(2)).tolist()), np.float32, len(halves))
        self._gelu = (halves * (1 + erf) / 2).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> Floats:
        most = self._max_pieces - 2
        pieces = [[self._begin, *self._tokenizer.split(text, most), self._end] for text in texts]
        vectors = np.empty((len(texts), self.dimension), np.float32)

        def embed_batch(batch: list[int]) -> None:
            """Store the vectors of the texts with these indexes."""
            longest = max(len(pieces[index]) for index in batch)
            token_ids = np.zeros((len(batch), longest), np.int64)
            mask = np.zeros((len(batch), longest, 1), np.float32)
            for row, index in enumerate(batch):
                token_ids[row, : len(pieces[index])] = pieces[index]
                mask[row, : len(pieces[index])] = 1
            # The padding behind a shorter text gets next to no attention.
            padding = (1 - mask[:, None, None, :, 0]) * np.float32(-1e9)
            states = self._run(token_ids, padding)
            mean = (states * mask).sum(1) / mask.sum(1)
            vectors[batch] = states[:, 0] if self._uses_cls_token else mean

        with ThreadPoolExecutor(os.cpu_count()) as threads:
            list(threads.map(embed_batch, _batches_of_like_length([len(one) for one in pieces])))
        return unit_rows(vectors)

    def _run(self, numbers: NDArray[np.int64], padding: Floats) -> Floats:
        """The last hidden states of texts of one length; `padding` is added where none is."""
        texts, length = numbers.shape
        table = self._weights
        states = table["embeddings.word_embeddings.weight"][numbers]
        states += table["embeddings.position_embeddings.weight"][:length]
        states += table["embeddings.token_type_embeddings.weight"][0]
        states = self._normalized(states.reshape(-1, self.dimension), "embeddings.LayerNorm")
        layer = 0
        while (at := f"encoder.layer.{layer}.") + "output.dense.weight" in table:
            attended = self._attend(states, at, texts, padding)
            states += self._dense(attended, at + "attention.output.dense")
            states = self._normalized(states, at + "attention.output.LayerNorm")
            inner = self._dense(states, at + "intermediate.dense")
            inner = np.take(self._gelu, inner.astype(np.float16).view(np.uint16))
            states += self._dense(inner, at + "output.dense")
            states = self._normalized(states, at + "output.LayerNorm")
            layer += 1
        return states.reshape(texts, length, -1)

    def _attend(self, states: Floats, at: str, texts: int, padding: Floats) -> Floats:
        size = self.dimension // self._heads
        query, key, value = (
            self._dense(states, f"{at}attention.self.{name}")
            .reshape(texts, -1, self._heads, size)
            .transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2)
        scores *= np.float32(1 / math.sqrt(size))
        scores += padding
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        mixed: Floats = np.matmul(scores, value)
        return mixed.transpose(0, 2, 1, 3).reshape(states.shape)

    def _dense(self, states: Floats, name: str) -> Floats:
        made: Floats = states @ self._weights[name + ".weight"].T
        made += self._weights[name + ".bias"]
        return made

    def _normalized(self, states: Floats, name: str) -> Floats:
        states -= states.mean(-1, keepdims=True)
        spread: Floats = np.einsum("ij,ij->i", states, states)[:, None] / states.shape[1]
        states /= np.sqrt(spread + self._epsilon)
        states *= self._weights[name + ".weight"]
        states += self._weights[name + ".bias"]
        return states


class StaticModel(Embedder):
    """A vector for each word piece, as model2vec makes them. The mean of a text's is its vector;
    of one without known words it is zero."""

    def __init__(self, settings: SemanticSettings) -> None:
        tensors, digest = map_tensors(os.path.join(settings.folder, "model.safetensors"))
        try:
            model = _read_json(settings.folder, "tokenizer.json")["model"]
            if model["type"] != "WordPiece" or "mapping" in tensors:
                raise ValueError("its tokenizer is not WordPiece, or it has a token mapping")
            pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
            self._tokenizer = WordPieces(pieces, model["unk_token"])
            self._table = tensors["embeddings"] * tensors.get("weights", np.ones(1))[:, None]
        except _UNREADABLE as error:
            message = f"{settings.folder} is not a table of static embeddings: {error}"
            raise EmbedderFailed(message) from error
        self.dimension = self._table.shape[1]
        self.model = f"{os.path.basename(os.path.realpath(settings.folder))}@{digest}"

    def embed(self, texts: Sequence[str]) -> Floats:
        found = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            pieces = self._tokenizer.split(text, 512)
            pieces = [piece for piece in pieces if piece != self._tokenizer.unknown]
            found[row] = self._table[pieces].mean(0) if pieces else 0
        return unit_rows(found)


class TorchModel(Embedder):
    """A model that sentence-transformers runs, and that lies on this machine already."""

    def __init__(self, chosen: SemanticSettings) -> None:
        name = chosen.folder or chosen.model or "sentence-transformers/all-MiniLM-L6-v2"
        self.model = f"{name} by sentence-transformers"
        try:
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415

            self._model = SentenceTransformer(name, local_files_only=True)
        except (ImportError, OSError, ValueError) as error:
            hint = f"pip install sentence-transformers, and fetch {name} once with it"
            raise EmbedderFailed(f"sentence-transformers has no {name}: {error}", hint) from error

    def embed(self, texts: Sequence[str]) -> Floats:
        return unit_rows(np.asarray(self._model.encode(list(texts)), np.float32))


def _batches_of_like_length(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of texts, in batches of few pieces."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda one: (lengths[one], one)):
        if batch and (len(batch) + 1) * lengths[place] > _BATCH_PIECES:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
