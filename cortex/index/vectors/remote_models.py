"""Models behind HTTP: endpoints of OpenAI's form, and Gemini."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPException
from typing import Any

import numpy as np

from cortex.core.redact.secrets import sanitize_text
from cortex.index.vectors.embedder_failed import EmbedderFailed
from cortex.index.vectors.local_models import Floats, unit_rows

_MAX_ANSWER_BYTES = 64 << 20
_MAX_TEXTS = 100  # in one request; Gemini takes no more
_TRY_SECONDS = 30.0  # for one answer
_FIRST_PAUSE_SECONDS = 1.0  # before a second try; each further one waits twice as long
_BUSY_CODES = (408, 429, 500, 502, 503, 504)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Another host would be told the key and the notes."""

    def redirect_request(self, *_args: object) -> None:
        return None


class RemoteModel:
    """A model that is asked over HTTP. `dimension` is 0 until it has answered."""

    is_remote, patience = True, 120.0  # seconds for all tries of one request
    dimension = 0

    def __init__(
        self,
        model: str,
        url: str,
        headers: Mapping[str, str],
        ask: Callable[[Sequence[str]], object],
        read: Callable[[Any], Sequence[Sequence[float]]],
    ) -> None:
        """`ask` makes the body of a request, `read` takes the vectors out of an answer."""
        if not url.startswith(("https://", "http://")):
            raise EmbedderFailed(f"{url[:100]!r} is no http address", "mend [semantic] url")
        self.model, self.url = model, url
        self.headers = {"Content-Type": "application/json", **headers}
        self._ask, self._read = ask, read
        self._opener = urllib.request.build_opener(_NoRedirect)

    def embed(self, texts: Sequence[str]) -> Floats:
        """A row of length 1 for each text. Secrets are taken out before they are sent."""
        vectors: list[Sequence[float]] = []
        for start in range(0, len(texts), _MAX_TEXTS):
            part = [sanitize_text(one) for one in texts[start : start + _MAX_TEXTS]]
            data = self._post(json.dumps(self._ask(part)).encode())
            try:
                found = self._read(json.loads(data))
                assert len(found) == len(part)
                vectors += found
            except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
                message = f"{self.model} did not answer with a vector for each text"
                raise EmbedderFailed(message, of_texts=True) from error
        try:
            made = unit_rows(np.array(vectors, np.float32))
        except (ValueError, TypeError, np.exceptions.AxisError) as error:
            raise EmbedderFailed(f"{self.model}: vectors of unequal length", of_texts=True) from error  # fmt: skip
        self.dimension = made.shape[1]
        return made

    def _post(self, body: bytes) -> bytes:
        """The answer to a request; a busy or broken server is asked again for a while."""
        deadline, pause = time.monotonic() + self.patience, _FIRST_PAUSE_SECONDS
        while True:
            left = max(0.1, deadline - time.monotonic())
            asked = 0.0
            try:
                request = urllib.request.Request(self.url, body, self.headers)  # noqa: S310
                with self._opener.open(request, timeout=min(_TRY_SECONDS, left)) as answer:
                    data: bytes = answer.read(_MAX_ANSWER_BYTES)
                    return data
            except urllib.error.HTTPError as error:
                error.close()
                why = f"HTTP {error.code}"
                if error.code not in _BUSY_CODES:
                    hint = "see the key, the model and the address below [semantic]"
                    of_texts = error.code in (400, 413, 422)
                    raise EmbedderFailed(f"{self.url}: {why}", hint, of_texts=of_texts) from error
                told = error.headers.get("Retry-After", "")
                asked = float(told) if told.isdecimal() and len(told) < 6 else 0.0
            except (OSError, HTTPException) as error:
                why = str(getattr(error, "reason", error)) or type(error).__name__
            wait = max(pause, asked)
            if time.monotonic() + wait >= deadline:
                hint = "run cortex embed again later: what is done stays"
                raise EmbedderFailed(f"{self.url} does not answer: {why}", hint)
            time.sleep(wait)
            pause *= 2


def openai_model(url: str, model: str, key_variable: str) -> RemoteModel:
    """A model behind an endpoint of OpenAI's form, such as those of Ollama and vLLM."""
    base = (url or "https://api.openai.com/v1").rstrip("/")
    name = model or "text-embedding-3-small"
    key = os.environ.get(key_variable or "OPENAI_API_KEY", "")
    if not key and not url:
        raise EmbedderFailed("there is no key for OpenAI", "export OPENAI_API_KEY=…")

    def read(answer: Any) -> list[Sequence[float]]:
        return [one["embedding"] for one in sorted(answer["data"], key=lambda one: one["index"])]

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    address = base if base.endswith("/embeddings") else f"{base}/embeddings"
    return RemoteModel(f"{name} of {base.partition('://')[2]}", address, headers,
                       lambda texts: {"model": name, "input": list(texts)}, read)  # fmt: skip


def gemini_model(url: str, model: str, key_variable: str) -> RemoteModel:
    """An embedding model of Google."""
    base = (url or "https://generativelanguage.googleapis.com/v1beta").rstrip("/")
    name = f"models/{model or 'gemini-embedding-001'}"
    key = os.environ.get(key_variable or "GEMINI_API_KEY", "")
    if not key:
        raise EmbedderFailed("there is no key for Gemini", f"export {key_variable or 'GEMINI_API_KEY'}=…")  # fmt: skip

    def ask(texts: Sequence[str]) -> object:
        about = {"model": name, "taskType": "SEMANTIC_SIMILARITY", "outputDimensionality": 768}
        return {"requests": [{**about, "content": {"parts": [{"text": one}]}} for one in texts]}

    def read(answer: Any) -> list[Sequence[float]]:
        return [one["values"] for one in answer["embeddings"]]

    address = f"{base}/{name}:batchEmbedContents"
    return RemoteModel(name, address, {"x-goog-api-key": key}, ask, read)
