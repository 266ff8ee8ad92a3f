"""What a text claims of files, packages and branches: what is said plainly, and nothing that is not."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.extract.claims import MAX_FILES, MAX_PACKAGES, extract_claims


def files(text: str) -> list[str]:
    return list(extract_claims("x", "", text, "").files)


def packages(text: str) -> list[str]:
    return list(extract_claims("x", "", text, "").packages)


@pytest.mark.parametrize(("text", "expected"), [
    ("It is in `src/app.py`.", ["src/app.py"]),
    ("It is in src/app.py, and (docs/guide.md); see **tests/test_a.py**.", ["src/app.py", "docs/guide.md", "tests/test_a.py"]),
    ("`./src/app.py:12` and src/b.ts#L3-L9 and `tests/a.py::test_x`", ["src/app.py", "src/b.ts", "tests/a.py"]),
    ("src/app.py's loop, in `src/b.py:run` and not in app/[slug]/page.tsx", ["src/app.py", "src/b.py"]),
    ("`pyproject.toml`, setup.cfg and package.json", ["pyproject.toml", "setup.cfg", "package.json"]),
    ("The `Makefile` builds it, with setup.py.", ["setup.py", "Makefile"]),
    (".github/workflows/ci.yml runs them", [".github/workflows/ci.yml"]),
    ("Ändern in `src/größe.py`.", ["src/größe.py"]),
    ("Twice: a/b.py and a/b.py.", ["a/b.py"]),
    ("[the loop](../elsewhere/loop.md) in a/b.py, [[notes/x.md]]", ["a/b.py"]),
    # near misses
    ("/etc/hosts.py, ~/x/a.py, ../x/a.py, a/../b.py, C:\\\\x\\\\a.py, $HOME/a.py", []),
    ("*.py, src/**/a.py, src/{a,b}.py, src/<name>.py, src/a?.py, %s/a.py", []),
    ("https://example.org/src/a.py and github.com/a/b.py and www.example.org/x.html", []),
    ("e.g. this, i.e. that, v1.2.3, 3.11, 2026-11-20, node.js, Vue.js, os.path, a.b", []),
    ("and/or, client/server, text/html, feature/x, origin/main, I/O, 1/2", []),
    ("the makefile of the project", []),
    ("We removed src/app.py.", []),
    ("src/app.py was renamed to src/b.py", []),
    ("Moved src/app.py into src/core/app.py. The rest is in src/c.py.", ["src/c.py"]),
    ("src/app.py no longer exists; the old src/b.py neither", []),
    ("For example `src/app.py`.", []),
    ("We could put it into src/app.py", []),
    ("## Rejected\n\nA cache in src/cache.py.\n\n- or src/b.py\n\n## Where\n\nsrc/c.py", ["src/c.py"]),
    ("**Rejected.** A cache in src/cache.py.\n\nIn src/c.py.", ["src/c.py"]),
    ("```\nsrc/app.py\n```\n~~~text\nsrc/b.py\n~~~\nsrc/c.py", ["src/c.py"]),
    ("~~src/app.py~~", []),
    (".git/config.py", []),
    # folders
    ("All UI under web/, in `src/app/` and (docs/api/).", ["web/", "src/app/", "docs/api/"]),
    ("~/x/ and ../x/ and / and https://x.org/y/ and .git/", []),
    ("web/ was removed", []),
])  # fmt: skip
def test_files(text: str, expected: list[str]) -> None:
    assert files(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("We use redis.", ["redis"]),
    ("we use `redis` for sessions", ["redis"]),
    ("The API depends on fastapi and more.", ["fastapi"]),
    ("Uses the `@tanstack/react-query` package", ["@tanstack/react-query"]),
    ("Built on `github.com/gorilla/mux`.", ["github.com/gorilla/mux"]),
    ("pinned to django 4", ["django"]),
    ("Pinned `django==4.2.*`", ["django"]),
    ("requires `celery[redis] >= 5`", ["celery"]),
    ("Added tenacity to retry.", ["tenacity"]),
    ("Notes are read with python-frontmatter.", ["python-frontmatter"]),
    ("The index is Whoosh 2.7.4, behind one module", ["Whoosh"]),
    ("switched from requests to httpx", ["httpx"]),
    ("Migrated from `moment` to `date-fns@3`.", ["date-fns"]),
    ("We chose httpx over requests because it is async", ["httpx"]),
    ("Use httpx rather than requests.", ["httpx"]),
    ("Use httpx instead of requests, as it is async", ["httpx"]),
    ("We use the package requests for networks", ["requests"]),
    # near misses
    ("Do not use requests.", []),
    ("We don't use celery any more", []),
    ("Dropped redis. celery was removed in May.", []),
    ("We use rich snippets and black magic.", []),
    ("We use the cache for it. It uses a server.", []),
    ("Users agree with Redis. Add pages to it.", []),
    ("When using `ghost` the button is hidden.", []),
    ("We would use redis if it were faster.", []),
    ("Should we use redis?", []),
    ("We have not used redis", []),
    ("Rejected: redis, celery", []),
    ("Alternatives considered: use redis.", []),
    ("We use it for all of them", []),
    ("This uses the same cache", []),
    ("```\npip install redis\n```", []),
])  # fmt: skip
def test_packages(text: str, expected: list[str]) -> None:
    assert packages(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("Work on branch feat/x until March.", ("feat/x",)),
    ("It is on the branch `feat/x`, and on branch fix-1.", ("feat/x", "fix-1")),
    ("Deleted branch feat/x. It was on branch y. On branch, main.", ()),
    ("Work on feat/x. Branching feat/x.", ()),
])  # fmt: skip
def test_branches(text: str, expected: tuple[str, ...]) -> None:
    assert extract_claims("x", "", text, "").branches == expected


def test_the_title_claims_like_the_text_and_the_rest_is_kept() -> None:
    claim = extract_claims("x", "Use redis for sessions", "In `src/a.py`.", "2026-11-20T16:45:12Z")
    assert claim == ("x", "2026-11-20T16:45:12Z", ("src/a.py",), ("redis",), ())


def test_no_more_than_so_many_of_one_record() -> None:
    text = " ".join(f"In src/a{number}.py. We use lib{number}." for number in range(50))
    claim = extract_claims("x", "", text, "")
    assert (len(claim.files), len(claim.packages)) == (MAX_FILES, MAX_PACKAGES)


WORDS = st.sampled_from(
    [
        *"`*_[](){}<>/\\.:;,-#~|@=\n\t ",
        "use",
        "not",
        "from",
        "to",
        "instead of",
        "removed",
        "was",
        "with",
        "is 2",
        "src/a.py",
        "redis",
        "```",
        "](",
        "[[",
    ]
)


@given(
    st.one_of(
        st.text(),
        st.lists(WORDS, max_size=60).map(" ".join),
        st.lists(WORDS, max_size=60).map("".join),
    )
)
def test_any_text_is_read_and_no_path_leaves_the_project(text: str) -> None:
    claim = extract_claims(text, text, text, text)
    for path in claim.files:
        assert not path.startswith(("/", "~", "\\"))
        assert not {"", ".", ".."} & set(path.split("/"))
        assert not set(path) & set("*?<>|\n\t \\`$")
    assert all(map(str.strip, claim.packages))
