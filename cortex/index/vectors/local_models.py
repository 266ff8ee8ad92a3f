"""Models that lie on this machine: MiniLM and others of its kind, run with NumPy alone; and tables
of static embeddings. Their weights are mapped into memory, not read."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cortex.index.vectors.embedder_failed import EmbedderFailed
from cortex.index.vectors.word_pieces import WordPieces

Floats = NDArray[np.float32]
_MAX_PIECES = 256  # of a text, the marks of its beginning and end included
_BATCH_PIECES = 1024  # that are worked on at once: what they need stays in the processor's cache
_MAX_HEADER_BYTES = 8 << 20
_TYPES = {"F32": np.float32, "F16": np.float16}


def unit_rows(vectors: Floats) -> Floats:
    """The rows, each with length 1."""
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return scaled


def map_tensors(path: str) -> tuple[dict[str, Floats], str]:
    """The tensors of a safetensors file by name, and a digest by which it is told from others."""
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r")
        end = 8 + int(data[:8].view("<u8")[0])
        if not 8 < end <= min(data.size, _MAX_HEADER_BYTES):
            raise ValueError("it has no header")
        header: dict[str, Any] = json.loads(data[8:end].tobytes())
        header.pop("__metadata__", None)
        tensors = {}
        for name, about in header.items():
            if (kind := _TYPES.get(about["dtype"])) is not None:
                first, last = about["data_offsets"]
                tensor = data[end + first : end + last].view(kind).reshape(about["shape"])
                tensors[name] = tensor.astype(np.float32, copy=False)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbedderFailed(f"{path} cannot be read: {error}") from error
    part = data[:: max(1, data.size // 65_536)].tobytes() + data[:end].tobytes()
    return tensors, hashlib.blake2b(part, digest_size=4).hexdigest()


def _read_json(folder: str, name: str) -> dict[str, Any]:
    """A file of a model; empty when there is none."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            table: dict[str, Any] = json.load(file)
            return table
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise EmbedderFailed(f"{name} of {folder} cannot be read: {error}") from error


class LocalModel:
    """An uncased BERT that gives a vector for a text, such as all-MiniLM-L6-v2."""

    is_remote, patience = False, 0.0

    def __init__(self, folder: str, name: str) -> None:
        weights, digest = map_tensors(os.path.join(folder, "model.safetensors"))
        self._weights = {key.removeprefix("bert."): one for key, one in weights.items()}
        config, tokens = (_read_json(folder, f"{one}config.json") for one in ("", "tokenizer_"))
        if not tokens.get("do_lower_case", True) or config.get("hidden_act", "gelu") != "gelu":
            raise EmbedderFailed(f"{folder} is no uncased BERT with GELU")
        try:
            with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as file:
                self._words = WordPieces(file.read().split("\n"))
            self._begin, self._end = (self._words.numbers[one] for one in ("[CLS]", "[SEP]"))
            table, places = (self._weights[f"embeddings.{one}_embeddings.weight"] for one in ("word", "position"))  # fmt: skip
            self._heads, self._epsilon = int(config["num_attention_heads"]), float(config["layer_norm_eps"])  # fmt: skip
        except (OSError, ValueError, KeyError) as error:
            raise EmbedderFailed(f"{folder} is no BERT that Cortex can read: {error}") from error
        self.dimension, self.model = table.shape[1], f"{name}@{digest}"
        self._max_pieces = min(_MAX_PIECES, len(places))
        self._takes_first = _read_json(folder, "1_Pooling/config.json").get("pooling_mode_cls_token") is True  # fmt: skip
        # GELU of every 16-bit number: its error is below that of the vectors as they are kept.
        halves = np.arange(65_536, dtype=np.uint16).view(np.float16).astype(np.float32)
        halves[~np.isfinite(halves)] = 0
        erf = np.fromiter(map(math.erf, (halves / math.sqrt(2)).tolist()), np.float32, len(halves))
        self._gelu = (halves * (1 + erf) / 2).astype(np.float32)

    def embed(self, texts: Sequence[str]) -> Floats:
        """A row of length 1 for each text."""
        most = self._max_pieces - 2
        pieces = [[self._begin, *self._words.split(text, most), self._end] for text in texts]
        found = np.empty((len(texts), self.dimension), np.float32)
        batches = list(_batches_of_like_length([len(one) for one in pieces]))

        def run(batch: list[int]) -> None:
            longest = max(len(pieces[one]) for one in batch)
            numbers = np.zeros((len(batch), longest), np.int64)
            is_piece = np.zeros((len(batch), longest), np.float32)
            for row, one in enumerate(batch):
                numbers[row, : len(pieces[one])] = pieces[one]
                is_piece[row, : len(pieces[one])] = 1
            found[batch] = self._pool(self._run(numbers, is_piece), is_piece)

        with ThreadPoolExecutor(os.cpu_count()) as threads:
            deque(threads.map(run, batches), maxlen=0)
        return unit_rows(found)

    def _pool(self, states: Floats, is_piece: Floats) -> Floats:
        if self._takes_first:
            return states[:, 0]
        mean: Floats = (states * is_piece[..., None]).sum(1) / is_piece.sum(1, keepdims=True)
        return mean

    def _run(self, numbers: NDArray[np.int64], is_piece: Floats) -> Floats:
        """The last hidden states of texts of equal length."""
        texts, length = numbers.shape
        table = self._weights
        states = table["embeddings.word_embeddings.weight"][numbers]
        states += table["embeddings.position_embeddings.weight"][:length]
        states += table["embeddings.token_type_embeddings.weight"][0]
        states = self._normalized(states.reshape(-1, self.dimension), "embeddings.LayerNorm")
        hidden_from = ((1 - is_piece) * np.float32(-1e9))[:, None, None, :]
        layer = 0
        while (at := f"encoder.layer.{layer}.") + "output.dense.weight" in table:
            attended = self._attend(states, at, (texts, length), hidden_from)
            states += self._dense(attended, at + "attention.output.dense")
            states = self._normalized(states, at + "attention.output.LayerNorm")
            inner = self._dense(states, at + "intermediate.dense")
            inner = np.take(self._gelu, inner.astype(np.float16).view(np.uint16))
            states += self._dense(inner, at + "output.dense")
            states = self._normalized(states, at + "output.LayerNorm")
            layer += 1
        return states.reshape(texts, length, -1)

    def _attend(self, states: Floats, at: str, shape: tuple[int, int], hidden_from: Floats) -> Floats:  # fmt: skip
        query, key, value = (
            self._dense(states, f"{at}attention.self.{name}")
            .reshape(*shape, self._heads, -1)
            .transpose(0, 2, 1, 3)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2)
        scores *= np.float32(1 / math.sqrt(query.shape[-1]))
        scores += hidden_from
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
        states /= np.sqrt(spread + np.float32(self._epsilon))
        states *= self._weights[name + ".weight"]
        states += self._weights[name + ".bias"]
        return states


class StaticModel:
    """A table of a vector for each word piece, as model2vec makes it; a text is their mean."""

    is_remote, patience = False, 0.0

    def __init__(self, folder: str) -> None:
        weights, digest = map_tensors(os.path.join(folder, "model.safetensors"))
        model = _read_json(folder, "tokenizer.json").get("model", {})
        if model.get("type") != "WordPiece" or "embeddings" not in weights or "mapping" in weights:
            raise EmbedderFailed(f"{folder} is no table of static embeddings of word pieces")
        self._table, self._weights = weights["embeddings"], weights.get("weights")
        vocabulary = model["vocab"]
        pieces = sorted(vocabulary, key=vocabulary.__getitem__)
        self._words = WordPieces(pieces, model.get("unk_token", "[UNK]"))
        self.dimension = self._table.shape[1]
        self.model = f"{os.path.basename(os.path.realpath(folder))}@{digest}"

    def embed(self, texts: Sequence[str]) -> Floats:
        """A row of length 1 for each text; of a text without known words one of zeros."""
        found = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            pieces = [one for one in self._words.split(text, 512) if one != self._words.unknown]
            if pieces and self._weights is None:
                found[row] = self._table[pieces].mean(0)
            elif pieces and self._weights is not None:
                found[row] = (self._table[pieces] * self._weights[pieces, None]).mean(0)
        return unit_rows(found)


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
