"""Hints as data: what every hint of the program is read as, so that none can name what is not there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from cortex.core.text.strings import cortex_command, option_words
from cortex.interfaces.cli import hint
from cortex.operations import VERBS
from tests.test_house import MODULES, ROOT, parse

# In place of what a hint is filled with: an id, as most are.
FILLED = "use-files-k3f9q2"
COMMAND = re.compile(r"\bcortex (?=[a-z])")


def hints() -> Iterator[tuple[str, str]]:
    """Where each text with a command stands, and the text."""
    for path in MODULES:
        tree = parse(path)
        skipped = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr):
                skipped.add(node.value)  # a docstring
            elif isinstance(node, ast.JoinedStr):
                skipped |= {*node.values}
        for node in ast.walk(tree):
            if node in skipped:
                continue
            if isinstance(node, ast.JoinedStr):
                text = "".join(
                    str(part.value) if isinstance(part, ast.Constant) else FILLED
                    for part in node.values
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            if COMMAND.search(text):
                yield f"{path.relative_to(ROOT)}:{node.lineno}", text


# Words behind `cortex` that are no verb: there it is the program.
PROSE = {
    "on", "from", "is", "and", "did", "writes", "was", "there", "has", "takes", "names", "among", "hook", "help",
    "use", "without",
}  # fmt: skip
# Why a clause has no call: help for a person, another program, a pipe, what a shell alone can do.
NO_CALL = re.compile(r"--help|help --all|\bhook\b|\bgit |\brm |[|<]|export|pipx|^cortex import")


def test_every_hint_names_verbs_and_options_that_there_are():
    seen = 0
    for where, text in hints():
        if text.startswith("usage: "):
            continue
        words = [text[found.end() :].split()[0].strip("`:,.;") for found in COMMAND.finditer(text)]
        calls = [word for word in words if hint.known_verb(word)]
        for word in {*words} - {*calls}:
            assert word.split("-")[0] in PROSE, (where, text)
        said = hint.reword(text, VERBS, lambda call: f"<{call.verb}>", {})
        assert not re.search(rf"cortex ({'|'.join(VERBS)})\b|--[a-z]", said), (where, text)
        if calls and said.count("<") < len(calls):
            assert NO_CALL.search(text) or "--" in text or "cortex" not in said, (where, text, said)
        seen += len(calls)
    assert seen > 200  # or the texts were found wrongly


@pytest.mark.parametrize(("command", "verb", "arguments"), [
    ("cortex restore use-files-k3f9q2", "restore", {"ids": ["use-files-k3f9q2"]}),
    ("cortex restore a-k3f9q2 b-p7m2x4", "restore", {"ids": ["a-k3f9q2", "b-p7m2x4"]}),
    ("cortex revise a-k3f9q2 --status open", "revise", {"id": "a-k3f9q2", "status": "open"}),
    ("cortex update a-k3f9q2 --title 'Ben'\"'\"'s cart'", "revise", {"id": "a-k3f9q2", "title": "Ben's cart"}),
    ("cortex pin a-k3f9q2 --remove", "pin", {"id": "a-k3f9q2", "remove": True}),
    ("cortex relate a-k3f9q2 refines b-p7m2x4 --remove", "relate",
     {"record": "a-k3f9q2", "kind": "refines", "other": "b-p7m2x4", "remove": True}),
    ("cortex supersede a-k3f9q2 --by b-p7m2x4", "supersede", {"old": "a-k3f9q2", "by": "b-p7m2x4"}),
    ("cortex delete a-k3f9q2 --hard --yes", "delete", {"id": "a-k3f9q2", "hard": True, "yes": True}),
    ("cortex project unmerge shop web --yes", "project", {"action": "unmerge", "a": "shop", "b": "web", "yes": True}),
])  # fmt: skip
def test_an_undo_command_is_a_call(command, verb, arguments):
    assert calls_in(command) == [(verb, arguments)]


def test_commands_that_are_joined_are_calls_one_after_the_other():
    pair = hint.read_calls("cortex pin a-k3f9q2 && cortex revise b-p7m2x4 --title 'A && B'")
    assert pair == [("pin", {"id": "a-k3f9q2"}), ("revise", {"id": "b-p7m2x4", "title": "A && B"})]
    assert hint.read_calls("cortex history a --at b | cortex revise a --body -") == []
    # What a title says is no command.
    for title in ("use cortex sync", "`cortex erase b-p7m2x4`", "a | b"):
        (only,) = hint.read_calls(f"cortex revise a-k3f9q2 --title '{title}'")
        assert only == ("revise", {"id": "a-k3f9q2", "title": title})


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("cortex relate a-k3f9q2 refines gone --remove takes it out", ["cortex relate a-k3f9q2 refines gone --remove"]),
        ("take it out, then cortex sync; else: cortex sync --publish 'My keys.md'", ["cortex sync", "cortex sync --publish 'My keys.md'"]),
        ("`cortex doctor --fix` keeps one file", ["cortex doctor --fix"]),
        ("cortex is busy; keep the lines you want", []),
    ],
)  # fmt: skip
def test_commands_are_found_within_the_words_of_a_hint(text, commands):
    assert hint.named_commands(text) == commands


def test_several_commands_and_none_are_no_call():
    for text in (
        "cortex history a --at b | cortex revise a --body -",
        "mend it",
        "cortex is busy",
        "",
    ):
        assert calls_in(text) == []


@given(
    st.text("ab '\"\\$`;,.?-é", min_size=1, max_size=12).filter(
        lambda text: text[-1] not in ".`,;?" and text.strip() and text != "-"
    )
)
def test_a_value_is_what_was_quoted(text):
    command = cortex_command("revise", FILLED, *option_words("title", text))
    assert calls_in(command) == [("revise", {"id": FILLED, "title": text})]


PIECES = st.sampled_from([
    "cortex ", "show ", "revise ", "delete ", "--title", "--json ", "--hard ", "=x", "-", "--help", " ID", " x-k3f9q2",
    "'a b'", '"', "'", "`", "$'", ";", ", ", "? ", " or ", " | ", " && ", "…", " ",
])  # fmt: skip


@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_text_is_a_fault(text):
    said = hint.reword(text, VERBS, lambda call: call.verb, {})
    assert len(said) <= len(text) + len("call ") * text.count("cortex")


def say(call: hint.HintedCall) -> str:
    return f"{call.verb}{sorted(call.given)}"


def calls_in(text: str) -> list[hint.HintedCall]:
    """The calls that a hint is read as."""
    calls: list[hint.HintedCall] = []
    said = hint.reword(text, VERBS, lambda call: calls.append(call) or "it", {})
    return calls if said else []


@pytest.mark.parametrize(("text", "said"), [
    ("cortex show ID", "call show['note']"),
    ("cortex search finds notes by their words", "search[] finds notes by their words"),
    ("mend it, then cortex sync", "mend it"),
    ("cortex sync, then cortex show ID", ""),
    ("git add it, or cortex show ID", "call show['note']"),
    ("git does not have these bytes; cortex show ID", "git does not have these bytes; call show['note']"),
    ("cortex init DIR makes one, which is then searched", ""),
    ("undo: cortex sync", ""),
    (": cortex show ID", ": call show['note']"),
    (": cortex sync", ""),
    ("cortex save or cortex search keeps something", "search[] keeps something"),
    ("cortex search 'a; cortex sync' finds it", "search['query'] finds it"),
    ("cortex --vault /x show ID", ""),
    ("cortex show --help", ""),
    ("cat it | cortex show ID", ""),
    ("undo: cortex show a-k3f9q2 && cortex show b-k3f9q2", "undo: show['note'], then call show['note']"),
    ("give another --topic", "give another topic_key"),
    ("give another --colour; look", "look"),
    ("did you mean gotcha? try without", "did you mean gotcha? try without"),
])  # fmt: skip
def test_what_cannot_be_called_is_left_out_with_its_clause(text, said):
    assert hint.reword(text, {"show", "search"}, say, {"--topic": "topic_key"}) == said
