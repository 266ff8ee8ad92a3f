"""Models behind HTTP: endpoints of OpenAI's form, such as those of Ollama and vLLM, and Gemini."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any

import numpy as np

from cortex.core.redact.secrets import sanitize_text
from cortex.index.vectors.embedders import Embedder, EmbedderFailed
from cortex.index.vectors.local_models import Floats, unit_rows
from cortex.vault.user_settings import SemanticSettings

_MAX_ANSWER_BYTES = 64 << 20
_MAX_TEXTS = 100  # in one request; Gemini takes no more
_TRY_SECONDS = 30.0  # for one answer
_FIRST_PAUSE_SECONDS = 1.0  # before a second try; each further one waits twice as long
_BUSY_CODES = (408, 429, 500, 502, 503, 504)
_OF_TEXTS_CODES = (400, 413, 422)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Another host would be told the key and the notes."""

    def redirect_request(self, *_args: object) -> None:
        return None


class RemoteModel(Embedder):
    """A model that is asked over HTTP, in the form of OpenAI."""

    is_remote = True

    def __init__(self, model: str, url: str, headers: dict[str, str]) -> None:
        if not url.startswith(("https://", "http://")):
            raise EmbedderFailed(f"{url[:100]!r} is no http address", "mend [semantic] url")
        self.model = f"{model} of {url.split('/')[2]}"
        self._name, self.url = model, url
        self._headers = {"Content-Type": "application/json", **headers}
        self._opener = urllib.request.build_opener(_NoRedirect)

    def embed(self, texts: Sequence[str]) -> Floats:
        """A row of length 1 for each text. Secrets are redacted before a text is sent."""
        vectors: list[Sequence[float]] = []
        try:
            for start in range(0, len(texts), _MAX_TEXTS):
                batch = [sanitize_text(text) for text in texts[start : start + _MAX_TEXTS]]
                answer = self._post(json.dumps(self._request_body(batch)).encode())
                answered = self._read(json.loads(answer))
                vectors += [answered[index] for index in range(len(batch))]
            return unit_rows(np.array(vectors, np.float32))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            message = f"{self.model} did not answer with a vector for each text"
            raise EmbedderFailed(message, of_texts=True) from error

    def _request_body(self, texts: list[str]) -> object:
        return {"model": self._name, "input": texts}

    def _read(self, answer: Any) -> list[Sequence[float]]:
        return [one["embedding"] for one in sorted(answer["data"], key=lambda one: one["index"])]

    def _post(self, body: bytes) -> bytes:
        """The answer to a request; a busy or broken server is asked again for a while."""
        deadline, pause = time.monotonic() + self.patience, _FIRST_PAUSE_SECONDS
        while True:
            seconds, retry_after = min(_TRY_SECONDS, max(0.1, deadline - time.monotonic())), 0.0
            request = urllib.request.Request(self.url, body, self._headers)  # noqa: S310
            try:
                with self._opener.open(request, timeout=seconds) as answer:
                    data: bytes = answer.read(_MAX_ANSWER_BYTES)
                    return data
            except urllib.error.HTTPError as error:
                error.close()
                why = f"HTTP {error.code}"
                if error.code not in _BUSY_CODES:
                    hint = "see the key, the model and the address below [semantic]"
                    of_texts = error.code in _OF_TEXTS_CODES
                    raise EmbedderFailed(f"{self.url}: {why}", hint, of_texts=of_texts) from error
                header = error.headers.get("Retry-After", "")
                retry_after = float(header) if header.isdecimal() and len(header) < 6 else 0.0
            except (OSError, HTTPException) as error:
                why = str(getattr(error, "reason", error)) or type(error).__name__
            wait = max(pause, retry_after)
            if time.monotonic() + wait >= deadline:
                hint = "run cortex embed again later: what is done stays"
                raise EmbedderFailed(f"{self.url} does not answer: {why}", hint)
            time.sleep(wait)
            pause *= 2


class _GeminiModel(RemoteModel):
    """The same in the form of Google."""

    def _request_body(self, texts: list[str]) -> object:
        about = {"model": f"models/{self._name}", "taskType": "SEMANTIC_SIMILARITY", "outputDimensionality": 768}  # fmt: skip
        return {"requests": [{**about, "content": {"parts": [{"text": one}]}} for one in texts]}

    def _read(self, answer: Any) -> list[Sequence[float]]:
        return [one["values"] for one in answer["embeddings"]]


def openai_model(chosen: SemanticSettings) -> Embedder:
    """A model behind an endpoint of OpenAI's form; only OpenAI itself needs a key."""
    key = _key(chosen, "OPENAI_API_KEY", is_needed=not chosen.url)
    base = (chosen.url or "https://api.openai.com/v1").rstrip("/").removesuffix("/embeddings")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return RemoteModel(chosen.model or "text-embedding-3-small", f"{base}/embeddings", headers)


def gemini_model(chosen: SemanticSettings) -> Embedder:
    """An embedding model of Google."""
    headers = {"x-goog-api-key": _key(chosen, "GEMINI_API_KEY", is_needed=True)}
    base = (chosen.url or "https://generativelanguage.googleapis.com/v1beta").rstrip("/")
    model = chosen.model or "gemini-embedding-001"
    return _GeminiModel(model, f"{base}/models/{model}:batchEmbedContents", headers)


def _key(chosen: SemanticSettings, default: str, *, is_needed: bool) -> str:
    name = chosen.key_variable or default
    if not (key := os.environ.get(name, "")) and is_needed:
        raise EmbedderFailed("there is no key for the model", f"export {name}=…")
    return key
