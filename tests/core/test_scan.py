"""The scanner finds what stands in a note, and where CommonMark decides, it agrees with a CommonMark parser."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from hypothesis import given, settings, strategies as st
from markdown_it import MarkdownIt

from cortex.core.markdown.blocks import Heading, Task
from cortex.core.markdown.scan import MarkdownScan, conflict_marker_line, scan, title_of
from tests.conftest import LARGE, SOAK, cpu_limit

if TYPE_CHECKING:
    from markdown_it.token import Token

NOTES = sorted((Path(__file__).parent.parent / "notes").glob("*.md"))
NOTHING = MarkdownScan((), (), (), ())


def links(body: str) -> list[tuple[str, str]]:
    return [(link.kind, link.target) for link in scan(body).links]


def targets(body: str) -> list[str]:
    return [link.target for link in scan(body).links]


def tags(body: str) -> list[str]:
    return list(scan(body).tags)


# Headings


@pytest.mark.parametrize(("body", "headings"), [
    ("# One", [(1, "One", 1)]),
    ("\n   ###### Six ##", [(6, "Six", 2)]),
    ("#\tTab", [(1, "Tab", 1)]),
    ("# C# #", [(1, "C#", 1)]),
    ("# #", [(1, "", 1)]),
    ("text\n# Right below", [(1, "Right below", 2)]),
    ("> # In a quote", [(1, "In a quote", 1)]),
    ("- a\n  ## In an item", [(2, "In an item", 2)]),
    ("Under\n===", [(1, "Under", 1)]),
    ("Two\nlines\n---", [(2, "Two lines", 1)]),
    ("a\n*\n===", [(1, "a *", 1)]),
    ("| a |\n- |\n  ===", [(1, "|", 2)]),
    ("#tag", []),
    ("####### seven", []),
    ("    # code", []),
    ("\\# escaped", []),
    ("---\n---", []),
    ("> quoted\n---", []),
    ("> ***\n    > # code", []),
    ("[a]: b.md\n===", []),
])  # fmt: skip
def test_headings(body: str, headings: list[tuple[int, str, int]]) -> None:
    assert scan(body).headings == tuple(Heading(*heading) for heading in headings)


def test_lines_are_lines_of_the_file() -> None:
    found = scan("# A\n\ntwo\nlines [[b]] #c ^d\n- [ ] e\n\n> [!f]\n> g", first_line=8)
    assert (found.headings[0].line, found.links[0].line, found.tasks[0].line) == (8, 11, 12)


def test_lines_below_definitions_and_in_tables() -> None:
    found = scan("[a]: b\n[c]\n\n[c]: d\n  'title'\n[[e]]\n\nabove\n| [[f]] |\n|---|\n| [[g]] |")
    assert [(link.target, link.line) for link in found.links] == [
        ("d", 2),
        ("e", 6),
        ("f", 9),
        ("g", 11),
    ]


def test_title_is_the_first_top_heading_else_the_name_of_the_file() -> None:
    assert title_of(scan("## Not this\n# This\n# Nor this"), "notes/file.md") == "This"
    assert title_of(scan("## Not this\n#\n"), "notes/2026.11 plan.md") == "2026.11 plan"
    assert title_of(NOTHING, "README") == "README"


# Links


@pytest.mark.parametrize(("body", "link"), [
    ("[[Note]]", ("wikilink", "Note")),
    ("[[dir/Note.md]]", ("wikilink", "dir/Note.md")),
    ("[[ Note # Heading | the alias ]]", ("wikilink", "Note")),
    ("[[N#H#Sub]]", ("wikilink", "N")),
    ("[[N#^block]]", ("wikilink", "N")),
    ("[[a [b]|see [1]]]", ("wikilink", "a [b]")),
    ("a![[x.png|300]]", ("embed", "x.png")),
    ("![[N#H]]", ("embed", "N")),
    ("[t](a%20b.md#H%C3%A9)", ("markdown", "a b.md")),
    ("[t](#H)", ("markdown", "")),
    ("[t](<a b.md> 'title')", ("markdown", "a b.md")),
    ("[t](a_(b).md)", ("markdown", "a_(b).md")),
    ("[t](((b)(c(d))))", ("markdown", "((b)(c(d)))")),
    ("[t](a\\_b.md)", ("markdown", "a_b.md")),
    ("[t](100%.md)", ("markdown", "100%.md")),
    ("[t](%E9.md)", ("markdown", "%E9.md")),
    ("[t](https://e.example/a%20b?c&amp;d#f)", ("markdown", "https://e.example/a%20b?c&d#f")),
    ("[two\nlines](\nx.md\n)", ("markdown", "x.md")),
    ("![alt](i.png)", ("image", "i.png")),
    ("<https://e.example/#f>", ("markdown", "https://e.example/#f")),
    ("<a.b@e.example>", ("markdown", "mailto:a.b@e.example")),
    ("[t][r]\n\n[R]: <x y.md#h> (T)", ("markdown", "x y.md")),
    ("[r][]\n\n[r]:\n  x.md\n  'T'", ("markdown", "x.md")),
    ("![r]\n\n> [r]: x.png", ("image", "x.png")),
    ("[[1]](https://e.example)", ("markdown", "https://e.example")),
    ("[[Note]](a remark)", ("wikilink", "Note")),
    ("\\![t](x)", ("markdown", "x")),
    ("[`]`](x)", ("markdown", "x")),
])  # fmt: skip
def test_one_link(body: str, link: tuple[str, str]) -> None:
    assert links(body) == [link]


@pytest.mark.parametrize("body", [
    *["\\[[N]]", "[[]]", "[[ ]]", "[[#H]]", "[[|a]]", "[[a\nb]]", "[[a", "[a]]", "`[[N]]`", "``a ` [[N]]``", "`[[N]]\n`"],
    *["[t] (x)", "[t](x y)", "[t](x", "[t](<x\ny>)", "\\[t](x)", "[t\\](x)", "[t][r]", "[t]", "[ ]"],
    *["[^1]", "[^1]\n\n[^1]: x.md", "<a b='[t](x)'>", "<notaurl>", "https://e.example", "a < b > c"],
    *["<!-- [[N]] -->", "a <!-- [t](x)\nb --> c", "<!--\n\n[[N]]\n\n", "%%[[N]]%%", "a %%b [[N]]%% c"],
    *["%%\n[[N]]\n\n[[N]]\n%%", "%% [[N]]\n", "> %%\n> [[N]]", "<div>\n[[N]]\n</div>", "<pre>\n\n[[N]]\n</pre>"],
])  # fmt: skip
def test_no_link(body: str) -> None:
    assert links(body) == []


@pytest.mark.parametrize(("body", "found"), [
    ("[[a]][[b]] [c](c)[d](d)", ["a", "b", "c", "d"]),
    ("[a [b](b) c](c)", ["b"]),
    ("[![i](i.png)](c)", ["i.png", "c"]),
    ("![a [b](b)](c)", ["b", "c"]),
    ("[[[a]]]", ["a"]),
    ("`` [[a]] ` [[b]] ``` [[c]]", ["a", "b", "c"]),
    ("\\`[[a]]` [[b]]`", ["a"]),
    ("%% %% [[a]] %%", ["a"]),
    ("50 %% of [[a]]", ["a"]),
    ("a %% [[b]]\n%%c%%", ["b"]),
    ("%%\n[[a]]\n%% [[b]]", ["b"]),
    ("> %%\n> [[a]]\n\n[[b]]", ["b"]),
    ("<!-- a --> b\n[[c]]", ["c"]),
    ("<div>\n\n[[a]]\n</div>", ["a"]),
    ("text\n<b>\n[[a]]", ["a"]),
    ("[[a]]\n| x | y |\n|---|---|\n| [[b]] |", ["a", "b"]),
    ("[a]: x.md\n[b]: y.md\nthen [a] and [b]", ["x.md", "y.md"]),
    ("text\n[a]: x.md\n\n[a]", []),
    ("[a]\n\n[a]: x.md\n[a]: y.md", ["x.md"]),
    ("a\n\n[^1]: see [[b]]", ["b"]),
])  # fmt: skip
def test_several_links(body: str, found: list[str]) -> None:
    assert targets(body) == found


TABLE = "| a | b |\n|---|:-:|\n"


@pytest.mark.parametrize(("row", "found"), [
    (r"| [[N\|alias]] | x |", [("wikilink", "N")]),
    ("| [[N|alias]] | x |", [("wikilink", "N")]),
    ("| ![[i.png|cap|300]] | x |", [("embed", "i.png")]),
    ("| [a | b](c) |", []),
    ("| ` | [[N]] | ` |", [("wikilink", "N")]),
    (r"| `a\|b` | [t](u) |", [("markdown", "u")]),
    ("| a | b | [[third]] |", []),
])  # fmt: skip
def test_links_in_a_table(row: str, found: list[tuple[str, str]]) -> None:
    assert links(TABLE + row) == found


def test_a_table_needs_its_rule() -> None:
    assert links("a | b\n---|---|---\n[a | b](c)") == [("markdown", "c")]


# Code


@pytest.mark.parametrize(("body", "found"), [
    ("```\n[[a]]\n```\n[[b]]", ["b"]),
    ("~~~ md `x`\n[[a]]\n```\n~~~\n[[b]]", ["b"]),
    ("````\n```\n[[a]]\n````  \n[[b]]", ["b"]),
    ("   ```\n[[a]]\n  `````\n[[b]]", ["b"]),
    ("```\n[[a]]\n``` no end\n    ```\n[[b]]", []),
    ("``` a`b\n[[a]]", ["a"]),
    ("``\n[[a]]\n``\n[[b]]", ["b"]),
    ("text\n```\n[[a]]\n```", []),
    ("> ```\n> [[a]]\n> ```\n> [[b]]", ["b"]),
    ("> ```\n> [[a]]\n\n[[b]]", ["b"]),
    ("- ```\n  [[a]]\n\n  [[a]]\n  ```\n  [[b]]", ["b"]),
    ("- ```\n  [[a]]\n- [[b]]", ["b"]),
    ("1. a\n\n   > ~~~\n   > [[a]]\n\n   [[b]]", ["b"]),
    ("    [[a]]\n\n\t[[a]]\n\n[[b]]", ["b"]),
    ("text\n    [[b]]", ["b"]),
    ("- a\n\n      [[a]]\n\n    [[b]]", ["b"]),
    ("-\n\n  [[b]]", ["b"]),
    ("-\n  \n    [[a]]", []),
    ("-     [[a]]", []),
])  # fmt: skip
def test_code_holds_no_links(body: str, found: list[str]) -> None:
    assert targets(body) == found


# Tags


@pytest.mark.parametrize(("body", "found"), [
    ("#a and (#b), #c.", ["a", "b", "c"]),
    ("#Nested/Tag-with_all4", ["Nested/Tag-with_all4"]),
    ("#y1984 #1984 #1990s #2026/11", ["y1984", "1990s", "2026/11"]),
    ("#café #日本語 #ภาษาไทย #✅done", ["café", "日本語", "ภาษาไทย", "✅done"]),
    ("#Same #same #SAME", ["Same"]),
    ("#a/ #/", ["a"]),
    ("## heading #a ##", ["a"]),
    ("- #a\n> #b\n\n" + TABLE + "| #c | x |", ["a", "b", "c"]),
    ("a#b [#c] '#d' ##e #", []),
    ("\\#a `#b` <!-- #c --> %%#d%% [[#e]] [#f](g) [h #i](j)", []),
    ("https://e.example/#a https://e.example/(#b) <span title=' #c'>", []),
])  # fmt: skip
def test_tags(body: str, found: list[str]) -> None:
    assert tags(body) == found


# Tasks


@pytest.mark.parametrize(("body", "tasks"), [
    ("- [ ] open", [(" ", "open", 1)]),
    ("* [x] a\n+ [X] b ^id\n1. [-] c", [("x", "a", 1), ("X", "b ^id", 2), ("-", "c", 3)]),
    ("- a\n    - [/] nested", [("/", "nested", 2)]),
    ("> - [ ] quoted", [(" ", "quoted", 1)]),
    ("- > [ ] a quote in an item", []),
    ("- [ ]", [(" ", "", 1)]),
    ("- [ ](x)\n- [xy] a\n- []\n- a [ ] b\n[ ] c\n- [x]d", []),
    ("text\n2. [ ] a", []),
    ("```\n- [ ] a\n```", []),
])  # fmt: skip
def test_tasks(body: str, tasks: list[tuple[str, str, int]]) -> None:
    assert scan(body).tasks == tuple(Task(*task) for task in tasks)


def test_a_cross_is_done() -> None:
    assert [task.done for task in scan("- [x] a\n- [X] b\n- [ ] c\n- [-] d").tasks] == [
        True, True, False, False,
    ]  # fmt: skip


def test_what_stands_in_a_task_is_read() -> None:
    found = scan("- [ ] ask [[Ines]] #soon [due:: 2026-11-20]")
    assert (found.links[0].target, found.tags) == ("Ines", ("soon",))


# Conflicts

CONFLICT = "<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n"


@pytest.mark.parametrize(("text", "line"), [
    (CONFLICT, 1),
    ("---\ntitle: a\n---\n\r\n" + CONFLICT.replace("\n", "\r\n"), 5),
    ("```\ncode\n```\n" + CONFLICT, 4),
    ("- item\n  ```\n" + CONFLICT, 3),
    ("<<<<<<< HEAD\n```\nours\n=======\n~~~\ntheirs\n>>>>>>> branch", 1),
    ("```\n" + CONFLICT + "```\n", None),
    ("~~~ text\n" + CONFLICT, None),
    ("    " + CONFLICT, None),
    ("<<<<<<<HEAD\n=======\n>>>>>>> b", None),
    ("<<<<<<< HEAD\n>>>>>>> b\n=======", None),
    ("=======\n<<<<<<< HEAD\n>>>>>>> b", None),
    ("a\n=======\nb", None),
])  # fmt: skip
def test_conflict_line(text: str, line: int | None) -> None:
    assert conflict_marker_line(text) == line


# Laws

PIECES = [
    *["# ", "a", " ", "\n", "\n\n", "- ", "1. ", "> ", "    ", "\t", "```", "~~~", "---", "|", "|-|-|", "===", "[[", "]]"],
    *["[", "](", ")", "(", "!", "#t", "^b", "`", "%%", "<!--", "-->", "<div>", "k:: v", "[ ] ", "[!n] ", "\\", "é", "\0"],
]  # fmt: skip
SOUP = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)


@given(SOUP | st.text(), st.integers(0, 5))
def test_blank_lines_above_only_shift_lines(body: str, shift: int) -> None:
    assert scan("\n" * shift + body) == scan(body, first_line=1 + shift)


@given(SOUP | st.text())
def test_every_line_is_a_line_of_the_body(body: str) -> None:
    last = body.count("\n") + body.count("\r") + 1
    found = scan(body)
    some = (*found.headings, *found.links, *found.tasks)
    assert all(1 <= value.line <= last for value in some)


@given(SOUP)
def test_line_ends_do_not_matter(body: str) -> None:
    assert scan(body.replace("\n", "\r\n")) == scan(body)


@given(SOUP.map(lambda body: body.replace("~", "")), st.sampled_from(["", "> ", "- ", "1. > "]))
def test_a_fence_hides_whatever_it_holds(body: str, first: str) -> None:
    rest = first.replace("-", " ").replace("1.", "  ")
    lines = ["~~~", *body.split("\n"), "~~~"]
    assert scan("\n".join([first + lines[0], *(rest + line for line in lines[1:])])) == NOTHING


# The parser as oracle

PARSER = MarkdownIt("commonmark").enable("table")
Outline = tuple[list[tuple[int, str, int]], Counter[str], Counter[str]]


def parsed(body: str) -> Outline:
    """Headings, link targets and image targets as the parser sees them."""
    tokens = PARSER.parse(body)
    headings = [
        (int(token.tag[1]), " ".join(text.content.split()), (token.map or [0])[0] + 1)
        for token, text in pairwise(tokens)
        if token.type == "heading_open"
    ]
    inline = [leaf for token in tokens for leaf in leaves(token)]
    hrefs = (str(leaf.attrs["href"]) for leaf in inline if leaf.type == "link_open")
    sources = (str(leaf.attrs["src"]) for leaf in inline if leaf.type == "image")
    return headings, Counter(map(without_anchor, hrefs)), Counter(map(without_anchor, sources))


def without_anchor(href: str) -> str:
    is_url = re.match(r"[A-Za-z][A-Za-z0-9+.-]+:|//", href)
    return unquote(href if is_url else href.partition("#")[0])


def leaves(token: Token) -> list[Token]:
    return [token, *(leaf for child in token.children or [] for leaf in leaves(child))]


def scanned(body: str) -> Outline:
    """The same as the scanner sees it. An Obsidian embed is no image to the parser: it passes for a wikilink here."""
    found = scan(re.sub(r"!(?=\[\[[^\[\]]+\]\](?!\())", "", body))
    headings = [(level, " ".join(text.split()), line) for level, text, line in found.headings]
    whole = [(link.kind, unquote(link.target)) for link in found.links]
    return (
        headings,
        Counter(target for kind, target in whole if kind == "markdown"),
        Counter(target for kind, target in whole if kind == "image"),
    )


@pytest.mark.parametrize("path", NOTES, ids=lambda path: path.stem)
def test_real_notes_read_as_the_parser_reads_them(path: Path) -> None:
    body = path.read_text(encoding="utf-8")
    assert scanned(body) == parsed(body)


WORDS = st.sampled_from(
    [
        "plain", "two words", "*emphasis*", "**bold**", "end.", "a_b", "5 < 6", "C#", "x!", "&amp;",
        "(so)",
    ]
)  # fmt: skip
PLACES = st.sampled_from(
    [
        "a.md", "dir/b%20c.md", "a.md#h", "#top", "<with space.md>", "e_(f).md",
        "https://e.example/?q=1&r=2#s",
    ]
)  # fmt: skip
TITLES = st.sampled_from(["", "", "", ' "a title"', " 'it (too)'", " (so)"])
LABELS = st.sampled_from(
    ["label", "two\nlines", "with `]` code", "![i](i.png)", "*x*", "a \\] b", "[inner]", ""]
)
SPANS = st.one_of(
    WORDS,
    WORDS,
    st.builds("[{}]({}{})".format, LABELS, PLACES, TITLES),
    st.builds("![{}]({}{})".format, LABELS, PLACES, TITLES),
    st.sampled_from(
        [
            "[full][ref]",
            "[ref][]",
            "[Ref]",
            "![ref]",
            "[no ref][none]",
            "[outer [inner](in.md) text](out.md)",
        ]
    ),
    st.sampled_from(
        [
            "`[code](c.md)`", "``a ` [b](c.md)``", "` lone", "\\[escaped](e.md)",
            "\\`[live](l.md)`", "[half](<x", "]",
        ]
    ),
    st.sampled_from(
        [
            "<https://auto.example/#x>",
            "<me@e.example>",
            "<b title='[t](t.md)'>",
            "<!-- [c](c.md) -->",
            "<no",
        ]
    ),
)  # fmt: skip
LINES = st.lists(SPANS, min_size=1, max_size=5).map(" ".join)
TEXTS = st.lists(LINES.map(lambda line: "w " + line), min_size=1, max_size=3).map("\n".join)
FENCES = st.builds(
    "{0} {1}\n{2}\n{0}".format,
    st.sampled_from(["```", "~~~", "`````", "~~~~"]),
    st.sampled_from(["", "py", "md title"]),
    st.sampled_from(["# no\n[no](no.md)", "\n    x\n\n> # no", "- ``\n~~", "<!-- [no](no.md)"]),
)
LEAVES = st.one_of(
    TEXTS,
    st.builds(
        "{} {}".format,
        st.sampled_from(["#", "##", "######", " ###"]),
        LINES.map(lambda line: line.replace("\n", " ")),
    ),
    st.builds("{}\n{}".format, TEXTS, st.sampled_from(["===", "---", " --", "="])),
    FENCES,
    FENCES.map(lambda fence: fence.rsplit("\n", 1)[0]),
    st.sampled_from(
        [
            "***",
            "- - -",
            "    [indented](code.md)",
            "<div>\n[raw](html.md)\n</div>",
            "<!--\n\n[c](c.md)\n-->",
        ]
    ),
    st.builds(
        "| a | b |\n|---|---|\n| {} | {} |\n| {}".format,
        *[SPANS.map(lambda span: span.replace("\n", " "))] * 3,
    ),
)


def inside(first: str, rest: str, block: str) -> str:
    lines = block.split("\n")
    return "\n".join(
        [first + lines[0], *(rest + line if line else rest.rstrip() for line in lines[1:])]
    )


def nest(blocks: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.builds(
        lambda parts, gap: gap.join(parts),
        st.lists(blocks, min_size=1, max_size=3),
        st.sampled_from(["\n\n", "\n"]),
    )
    markers = st.sampled_from(
        [
            ("> ", "> "), (">", ">"), ("- ", "  "), ("* ", "  "), ("1. ", "   "), ("10) ", "    "),
            ("- ", ""),
        ]
    )  # fmt: skip
    return st.builds(lambda marker, block: inside(*marker, block), markers, several)


BLOCKS = st.recursive(LEAVES, nest, max_leaves=6)
DOCUMENTS = st.lists(BLOCKS, max_size=6).map(
    lambda blocks: "\n\n".join([*blocks, "[ref]: the%20ref.md 'title'"])
)


@settings(max_examples=3_000 if SOAK else 100)
@given(DOCUMENTS)
def test_generated_notes_read_as_the_parser_reads_them(body: str) -> None:
    assert scanned(body) == parsed(body)


# Time

LIMIT = LARGE / 50_000  # seconds of CPU
NESTED = [
    ("[", "]"), ("![", "](a)"), ("[", "](a)"), ("[a:: ", "]"), ("(a:: ", ")"), ("[", "[a](b)"),
    ("[a]: b\n\n[", "]"), ("a [\n", "a ]\n"), ("[[a|", "]]"),
]  # fmt: skip


@pytest.mark.parametrize("piece", ["<<<<<<< a\n", "=======\n", "> ", "```\n<<<<<<< a\n```\n"])
def test_a_long_text_without_a_conflict_is_read_in_linear_time(piece: str) -> None:
    with cpu_limit(LIMIT):
        assert (
            conflict_marker_line(
                "<<<<<<< a\n" + piece * (LARGE // len(piece)) + "\n=======\n    >>>>>>>"
            )
            is None
        )


@pytest.mark.parametrize(("opening", "closing"), NESTED)
def test_a_text_nested_deeply_is_read_in_linear_time(opening: str, closing: str) -> None:
    times = LARGE // len(opening + closing)
    with cpu_limit(LIMIT):
        scan(opening * times + closing * times)


@pytest.mark.parametrize("body", [
    " ".join("`" * length for length in range(1, 1400)),
    "[r]: x\n\n" + "[" * (LARGE // 2) + "]" * (LARGE // 2),
    "".join("  " * (line % 20) + "- a\n" for line in range(LARGE // 24)),
    "|a" * (LARGE // 4) + "\n" + "|-" * (LARGE // 4),
    "a" + " " * LARGE + ":: b",
    "# a" + " #" * (LARGE // 2),
    "".join(f"[{number}]: b\n" for number in range(50_000)) + "\n" + "".join(f"[{number}] " for number in range(50_000)),
], ids=["backtick runs", "brackets", "deep lists", "wide table", "long key", "long heading", "definitions"])  # fmt: skip
def test_a_hostile_note_is_read_in_linear_time(body: str) -> None:
    with cpu_limit(5):
        scan(body)
