"""Programs that find notes by their words, each by its command line: how to build its index, ask it, and read its answer.

Each works in a home of its own. What a program needs beyond its words (an index, a configuration) lies below that home.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from typing import NamedTuple

_HERE = os.path.dirname(os.path.abspath(__file__))
_TICKS = os.sysconf("SC_CLK_TCK")
FIRST = "10"  # hits of an answer


class PeerError(Exception):
    """A program failed, or took too long."""


class Run(NamedTuple):
    """What one process, with its children, took and said."""

    cpu: float  # seconds
    wall: float
    said: str


class Peer:
    """A program that finds notes below `root`. The class of each says what differs."""

    name = ""
    program = ""  # on PATH; empty for what Python itself brings
    max_notes = 0  # that it is given; 0 for as many as the others get
    max_queries = 0  # of each set; 0 for as many as the others get
    again = "nothing"  # what makes its next answer right after a change
    asks = "some of the words, best first"  # how it is asked
    answers_as = ""  # the key of another program that gives the same answers
    ranks = True

    def __init__(self, root: str, home: str, limit: float) -> None:
        self.root, self.home, self.limit = root, home, limit
        os.makedirs(os.path.join(home, "tmp"), exist_ok=True)
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "TMPDIR": os.path.join(home, "tmp"),
            "LANG": "C.UTF-8",
            "NO_COLOR": "1",
        }

    def run(self, *command: str, fine: tuple[int, ...] = (0,)) -> Run:
        """Run one command to its end. Raises `PeerError` for another exit code, or past the limit."""
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with subprocess.Popen(
            command, cwd=self.root, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        ) as process:  # fmt: skip
            try:
                said, complaint = process.communicate(timeout=self.limit)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise PeerError(f"not done after {self.limit:.0f} s") from None
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if process.returncode not in fine:
            lines = (complaint or said).decode("utf-8", "replace").strip().splitlines()
            raise PeerError(f"exit {process.returncode}: {lines[-1][:160] if lines else ''}")
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Run(cpu, wall, said.decode("utf-8", "replace"))

    def is_installed(self) -> bool:
        return not self.program or shutil.which(self.program) is not None

    def version(self) -> str:
        found = re.search(r"\d+(?:\.\d+)+", self.run(self.program, "--version").said)
        return found[0] if found else "?"

    def build(self) -> list[Run]:
        """Index the notes below `root` for the first time."""
        return []

    def search(self, query: str) -> Run:
        """Ask in a process of its own."""
        raise NotImplementedError

    def paths(self, said: str) -> list[str]:
        """The paths of an answer, best first, relative to `root`; by default one a line."""
        return [os.path.relpath(line, self.root) for line in said.splitlines() if line]

    def helper_cpu(self) -> float:
        """CPU seconds of a process that answers in the background, since it was started."""
        return 0.0

    def close(self) -> None:
        """End what was started."""


def _words(query: str) -> list[str]:
    return re.findall(r"\w+", query)


class Cortex(Peer):
    """The `cortex` of the Python that runs this."""

    name = "cortex"
    command = (sys.executable, os.path.join(os.path.dirname(sys.executable), "cortex"))

    def version(self) -> str:
        return self.run(*self.command, "--version").said.split()[-1]

    def build(self) -> list[Run]:
        return [self.run(*self.command, "rebuild", "--cores", "1")]

    def search(self, query: str) -> Run:
        return self.run(*self.command, "search", "-n", FIRST, "--", query, fine=(0, 1))

    def paths(self, said: str) -> list[str]:
        return re.findall(r"^  \S.*  (\S+\.md):\d+$", said, re.MULTILINE)


class CortexWatched(Cortex):
    """The same, answered by the watcher."""

    name = "cortex, watcher running"
    answers_as = "cortex"
    watcher: subprocess.Popen[bytes] | None = None

    def build(self) -> list[Run]:
        done = super().build()
        self.watcher = subprocess.Popen(
            [*self.command, "watch", "--quiet", "600"], cwd=self.root, env=self.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        until = time.monotonic() + min(60.0, self.limit)
        while "running since" not in self.run(*self.command, "watch", "--status", fine=(0, 1)).said:
            if time.monotonic() > until:
                raise PeerError("the watcher does not start")
            time.sleep(0.2)
        spent = -1.0
        while spent < (spent := self.helper_cpu()) and time.monotonic() < until:
            time.sleep(2)  # its first pass
        return done

    def helper_cpu(self) -> float:
        assert self.watcher
        with open(f"/proc/{self.watcher.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICKS

    def close(self) -> None:
        if self.watcher:
            self.watcher.terminate()
            self.watcher.wait()


class Ripgrep(Peer):
    """Reads every note for every search. Its lines with any of the words are counted."""

    name = "ripgrep"
    program = "rg"
    asks = "lines with any of the words, most first"

    def search(self, query: str) -> Run:
        words = [part for word in _words(query) for part in ("-e", word)]
        return self.run("rg", "-ciFw", "-g", "*.md", *words, ".", fine=(0, 1))

    def paths(self, said: str) -> list[str]:
        counted = [line.rpartition(":") for line in said.splitlines()]
        counted.sort(key=lambda line: (-int(line[2]), line[0]))
        return [os.path.normpath(path) for path, _, _ in counted[: int(FIRST)]]


class Fts5Fresh(Peer):
    """`benchmarks/fts5.py`, which looks at the stamps of all notes before it answers."""

    name = "SQLite FTS5, stat scan first"
    script = (sys.executable, os.path.join(_HERE, "fts5.py"))

    def version(self) -> str:
        code = "import sqlite3; print(sqlite3.sqlite_version)"
        return self.run(sys.executable, "-c", code).said.strip()

    def build(self) -> list[Run]:
        return [self.run(*self.script, os.path.join(self.home, "fts"), self.root)]

    def search(self, query: str) -> Run:
        return self.run(*self.script, os.path.join(self.home, "fts"), self.root, query)


class Fts5(Fts5Fresh):
    """The same script, without the look."""

    name = "SQLite FTS5 alone"
    again = "its script, run again"
    answers_as = "fts5-fresh"

    def search(self, query: str) -> Run:
        return self.run(*self.script, os.path.join(self.home, "fts"), "--kept", query)


_TANTIVY = """
import os, re, sys, tantivy
root, folder, *words = sys.argv[1:]
schema = tantivy.SchemaBuilder().add_text_field("path", stored=True, tokenizer_name="raw")
schema = schema.add_text_field("body", tokenizer_name="en_stem").build()
index = tantivy.Index(schema, path=folder)
if not words:
    writer = index.writer()
    for place, _, names in os.walk(root):
        for name in names:
            if name.endswith(".md"):
                path = os.path.join(place, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    writer.add_document(tantivy.Document(path=path, body=file.read()))
    writer.commit()
    sys.exit()
searcher = index.searcher()
query = index.parse_query(" ".join(re.findall(r"\\w+", words[0])).lower(), ["body"])
for _, place in searcher.search(query, 10).hits:
    print(searcher.doc(place)["path"][0])
"""


class Tantivy(Peer):
    """A script over its Python package, of the first Python on PATH that has it."""

    name = "tantivy"
    again = "its script, run again"
    _python = ""

    def is_installed(self) -> bool:
        folders = os.environ["PATH"].split(os.pathsep)
        for python in (sys.executable, *(os.path.join(folder, "python3") for folder in folders)):
            if os.access(python, os.X_OK):
                try:
                    self.run(python, "-c", "import tantivy")
                except PeerError:
                    continue
                self._python = python
                return True
        return False

    def version(self) -> str:
        code = "import importlib.metadata as m; print(m.version('tantivy'))"
        return self.run(self._python, "-c", code).said.strip()

    def _folder(self) -> str:
        folder = os.path.join(self.home, "tantivy")
        os.makedirs(folder, exist_ok=True)
        return folder

    def build(self) -> list[Run]:
        return [self.run(self._python, "-c", _TANTIVY, self.root, self._folder())]

    def search(self, query: str) -> Run:
        return self.run(self._python, "-c", _TANTIVY, self.root, self._folder(), query)


class Recoll(Peer):
    """Told that a note is plain text; asked for any of the words."""

    name = "recoll"
    program = "recollq"
    again = "`recollindex`"

    def version(self) -> str:
        process = subprocess.run(
            ["recollq", "version"],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        found = re.search(r"Recoll (\S+)", process.stdout + process.stderr)
        return found[1] if found else "?"

    def build(self) -> list[Run]:
        folder = os.path.join(self.home, "recoll")
        os.makedirs(folder, exist_ok=True)
        settings = f"topdirs = {self.root}\nidxstemminglanguages = english\nloglevel = 1\n"
        for name, text in (("recoll.conf", settings), ("mimemap", ".md = text/plain\n")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        return [self.run("recollindex", "-c", folder)]

    def search(self, query: str) -> Run:
        folder = os.path.join(self.home, "recoll")
        words = " ".join(_words(query))
        return self.run("recollq", "-c", folder, "-b", "-n", FIRST, "-o", words, fine=(0, 1))

    def paths(self, said: str) -> list[str]:
        return super().paths(said.replace("file://", ""))


class Notmuch(Peer):
    """Indexes mail: a copy of the notes as mails, which no later change of a note reaches."""

    name = "notmuch"
    program = "notmuch"
    again = "copy the notes again, `notmuch new`"
    asks = "any of the words, newest first"
    ranks = False

    def build(self) -> list[Run]:
        mail = os.path.join(self.home, "mail")
        for folder, _, names in os.walk(self.root):
            for name in names:
                if name.endswith(".md"):
                    path = os.path.relpath(os.path.join(folder, name), self.root)
                    copy = os.path.join(mail, path)
                    os.makedirs(os.path.dirname(copy), exist_ok=True)
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        text = file.read()
                    with open(copy, "w", encoding="utf-8") as file:
                        file.write(
                            f"From: a@example.org\nSubject: {name}\nMessage-ID: <{path}>\n\n{text}"
                        )
        settings = os.path.join(self.home, "notmuch")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(f"[database]\npath={mail}\n[user]\nprimary_email=a@example.org\n")
        self.environment["NOTMUCH_CONFIG"] = settings
        return [self.run("notmuch", "new", "--quiet")]

    def search(self, query: str) -> Run:
        words = " or ".join(_words(query))
        return self.run("notmuch", "search", "--output=files", f"--limit={FIRST}", words)

    def paths(self, said: str) -> list[str]:
        mail = os.path.join(self.home, "mail")
        return [os.path.relpath(line, mail) for line in said.splitlines()]


class Qmd(Peer):
    """Its keyword search, which needs no model; a note has to hold all of the words."""

    name = "qmd"
    program = "qmd"
    again = "`qmd update`"
    asks = "all of the words, best first"

    def build(self) -> list[Run]:
        return [self.run("qmd", "collection", "add", self.root, "--name", "notes")]

    def search(self, query: str) -> Run:
        return self.run("qmd", "search", query, "-n", FIRST, "--files")

    def paths(self, said: str) -> list[str]:
        return re.findall(r"qmd://notes/(.*?\.md)", said)


class Nb(Peer):
    """The vault as a local notebook. Written from its manual."""

    name = "nb"
    program = "nb"
    max_notes = 1_000
    asks = "any of the words, in no order"

    def build(self) -> list[Run]:
        return [self.run("nb", "notebooks", "init", self.root)]

    def search(self, query: str) -> Run:
        first, *others = _words(query)
        more = [part for word in others for part in ("--or", word)]
        return self.run("nb", "search", first, *more, "--list", "--path", fine=(0, 1))

    def paths(self, said: str) -> list[str]:
        return super().paths("\n".join(re.findall(r"/\S.*\.md$", said, re.MULTILINE)))


class Memsearch(Peer):
    """Vectors of a local model beside words; the model has to be there or to be had."""

    name = "memsearch"
    program = "memsearch"
    max_notes = 1_000
    again = "`memsearch index`, or its watcher"
    asks = "the whole question, by meaning and words"

    def build(self) -> list[Run]:
        return [self.run("memsearch", "index", "-p", "onnx", self.root)]

    def search(self, query: str) -> Run:
        return self.run("memsearch", "search", "-p", "onnx", "-k", FIRST, "-j", query)

    def paths(self, said: str) -> list[str]:
        hits = json.loads(said[said.index("[") :])
        return list(dict.fromkeys(os.path.relpath(hit["source"], self.root) for hit in hits))


class BasicMemory(Peer):
    """Its search tool from the command line, without vectors unless a model is there."""

    name = "basic-memory"
    program = "basic-memory"
    max_notes = 500
    max_queries = 50
    again = "`basic-memory reindex`, or its server"
    asks = "the whole question, as it reads it"

    def build(self) -> list[Run]:
        self.environment["BASIC_MEMORY_NO_PROMOS"] = "1"
        return [self.run("basic-memory", "project", "add", "notes", self.root, "--default")]

    def search(self, query: str) -> Run:
        options = ("--project", "notes", "--page-size", FIRST, "--json")
        return self.run("basic-memory", "tool", "search-notes", query, *options)

    def paths(self, said: str) -> list[str]:
        hits = json.loads(said[said.index("{") :])["results"]
        return list(dict.fromkeys(hit["file_path"] for hit in hits))


PEERS: dict[str, type[Peer]] = {
    "cortex": Cortex,
    "cortex-watched": CortexWatched,
    "ripgrep": Ripgrep,
    "fts5": Fts5,
    "fts5-fresh": Fts5Fresh,
    "tantivy": Tantivy,
    "recoll": Recoll,
    "notmuch": Notmuch,
    "qmd": Qmd,
    "nb": Nb,
    "memsearch": Memsearch,
    "basic-memory": BasicMemory,
}
