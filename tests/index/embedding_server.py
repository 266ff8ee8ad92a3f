"""An endpoint of OpenAI's form on this machine, that writes down what it is asked."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONCEPTS = (
    ("car", "automobile", "vehicle"),
    ("dog", "hound", "puppy"),
    ("money", "cash", "price"),
    ("ship", "boat", "vessel"),
)


def concept_vector(text: str) -> list[float]:
    """How often a text has a word of each concept, and a little of everything else."""
    words = re.findall(r"[a-z]+", text.lower())
    return [0.1 + sum(word in concept for word in words) for concept in CONCEPTS] + [0.2]


class EmbeddingServer:
    """What it was asked, and how it is to answer: each fault answers one request."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.texts: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.faults: list[object] = []
        self.poison = ""
        self.delay = 0.0
        self.lock = threading.Lock()


@contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with made.lock:
                made.headers.append(dict(self.headers))
                fault = made.faults.pop(0) if made.faults else None
                if fault is None:
                    made.texts += body["input"]
            time.sleep(made.delay)
            vectors = [concept_vector(text) for text in body["input"]]
            if made.poison and any(made.poison in text for text in body["input"]):
                fault = "nan"
            if fault == "hang":
                time.sleep(1)
            if fault == "nan":
                vectors[0][0] = float("nan")
            if fault == "short":
                vectors = vectors[:-1]
            if fault == "wide":
                vectors = [[*one, 1.0] for one in vectors]
            status = fault if isinstance(fault, int) else 200
            self.send_response(status)
            if status in (301, 302, 307):
                self.send_header("Location", made.url)
            if status == 429:
                self.send_header("Retry-After", "0")
            self.end_headers()
            data = [
                {"index": place, "embedding": one} for place, one in [*enumerate(vectors)][::-1]
            ]
            text = "<html>" if fault == "html" else json.dumps({"data": data})
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            pass  # whoever asked was killed

    with Quiet(("127.0.0.1", 0), Handler) as server:
        made = EmbeddingServer(f"http://127.0.0.1:{server.server_port}/v1")
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
