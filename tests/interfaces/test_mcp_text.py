"""What a model reads: few tokens, names that the next call takes, hints that its tools can follow."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.problem import CortexError
from cortex.interfaces.mcp.call import call_tool
from cortex.interfaces.mcp.resources import fill_prompt, read_prompts, read_resource
from cortex.interfaces.mcp.text import FRAME_COMMAND_RE, reword, say_commands
from cortex.interfaces.mcp.tools import known_tools, select_tools
from tests.interfaces.test_mcp_tools import request_in

SUBJECTS = (
    "the merge driver", "the search index", "the session hook", "the importer", "the web page", "the cart", "the queue",
    "the billing job", "the login form", "the nightly backup", "the release script", "the error log", "the cache",
)  # fmt: skip
CLAIMS = (
    "keeps its state outside the repository", "reads a file once and never twice", "answers within a second",
    "stops at the first broken line", "is written in one step so that nobody sees half of it", "asks before it deletes",
    "retries three times and then gives up", "is measured on a quiet machine", "has one owner and one lock",
)  # fmt: skip
REASONS = (
    "because two people edited the same page and one of them lost an hour of work, which nobody noticed for a week",
    "since the cloud folder renames what it does not understand, and a name with a colon is such a thing",
    "after the outage in spring, when every worker waited for a lock that a dead process still held",
    "so that a new colleague can read it without a tool, in any editor, on the day that we are gone",
)


def write_notes(root: str, number: int) -> list[str]:
    """So many records of a project, as people write them, and their ids."""
    chance, ids = random.Random(4), []
    for at in range(number):
        title = f"{chance.choice(SUBJECTS)} {chance.choice(CLAIMS)}".capitalize()
        hash_ = "".join(chance.choices("abcdefgh234567", k=5)) + "2"
        ids.append(f"{title.lower().replace(' ', '-')[:44].strip('-')}-{hash_}")
        type_ = chance.choice(("decision", "gotcha", "pattern", "learning"))
        fields = f"id: {ids[-1]}\ntype: {type_}\nproject: shop\ncreated: 2026-11-{1 + at % 20:02}T08:00:00Z\n"
        if at % 9 == 8:
            fields += f'refines: ["[[{ids[-2]}]]"]\n'
        body = "\n\n".join(
            f"**{label}.** {title}, {chance.choice(REASONS)}. Later {chance.choice(REASONS)}."
            for label in ("What", "Why", "Rejected")
        )
        file = Path(root, "records", type_, f"{ids[-1]}.md")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\n{fields}---\n\n# {title}\n\n{body}\n")
    return ids


@pytest.fixture
def ask(vault) -> Callable[..., str]:
    """The text of a call, as a model with these profiles reads it; an error's too."""
    Path(vault.root, ".cortex-project").write_text("shop\n")
    tools = select_tools(["default", "agent", "admin"])

    def run(name: str, /, **arguments: object) -> str:
        try:
            text = call_tool(name, tools[name], arguments, request_in(vault), tools).text
        except CortexError as error:
            text = f"{error.message}\n{error.hint}"
        assert vault.root not in text, name  # no path of this machine
        assert not re.search(r"\bcortex [a-z]+\b", text), (name, text)  # nor a command
        return text

    return run


def tokens(text: str) -> int:
    return len(text) // 4


def test_answers_over_400_notes_cost_few_tokens(vault, ask):
    ids = write_notes(vault.root, 400)
    for session in range(4):
        ask("mem_session_start", id=f"s{session}", goal=f"Make {SUBJECTS[session]} quicker")
        ask(
            "mem_save_prompt", content=f"Why is {SUBJECTS[session]} slow?", session_id=f"s{session}"
        )
        summary = f"## Goal\nQuicker\n\n## Accomplished\n{REASONS[session]}, {REASONS[0]}"
        ask("mem_session_summary", session_id=f"s{session}", content=summary)
    question = "why does the search index stop"
    for most, name, arguments in (
        (900, "search", {"query": question, "limit": 10}),
        (900, "mem_search", {"query": question, "limit": 10}),
        (700, "recall", {"query": question}),
        (700, "recall", {}),
        (700, "mem_context", {}),
        (400, "mem_timeline", {"id": ids[200]}),
    ):
        text = ask(name, **arguments)
        assert 100 < tokens(text) <= most, (name, text)


# A naive agent's calls; `{a}` and `{b}` are the names that its first two saves gave.
SESSION = """
recall query=why do we keep files
search query=search index, limit=5
mem_session_start id=s1, goal=Make the search quicker
capture content=Decision: plain files over SQLite since git merges them
capture content=Learned: the index is rebuilt in a minute
mem_save title=Cache the word forms, type=decision, content=**Why**: they never change
mem_save title=Words are folded once, type=pattern, content=**Why**: twice is slow
mem_suggest_topic_key title=Cache the word forms, type=decision
show id={a}
mem_update id={a}, title=Cache the forms of words
mem_relate from_id={a}, to_id={b}, relation_type=refines
mem_graph id={a}
mem_timeline id={a}, limit=3
search query=forms of words, limit=3
recall query=forms of words, limit=3
show id={b}
capture content=Gotcha: the cache is emptied by a clock that jumps
mem_save_prompt content=Why is the search slow?, session_id=s1
mem_capture_passive content=## Key Learnings\\n1. A word that is folded twice is found twice
mem_get_observation id={a}
supersede record_id={b}, replacement={a}, reason=one cache
recall query=folded words, limit=2
status
mem_update id={a}, content=**What**: cache them. **Why**: they never change
mem_relate from_id={a}, to_id={b}, relation_type=contradicts
search query=type:decision cache, limit=2
mem_archive id={b}
mem_delete id={b}
show id={a}
mem_context limit=5
mem_session_summary session_id=s1, content=## Goal\\nQuicker search\\n\\n## Accomplished\\nWord forms are cached
mem_session_end id=s1
status
"""


def test_a_session_of_thirty_three_calls_costs_few_tokens(vault, ask):
    write_notes(vault.root, 400)
    names: list[str] = []
    total = calls = 0
    for line in SESSION.strip().splitlines():
        name, _, rest = line.partition(" ")
        said = rest.format(**dict(zip("ab", names, strict=False)))
        given: dict[str, object] = {}
        for part in re.split(r", (?=\w+=)", said) if said else ():
            key, _, value = part.partition("=")
            given[key] = int(value) if value.isdecimal() else value.replace("\\n", "\n")
        text = ask(name, **given)
        if name == "mem_save":
            names.append(re.fullmatch(r"created (\S+)", text.splitlines()[0])[1])
        total, calls = total + tokens(text), calls + 1
    assert calls == 33
    assert total <= 2500, total


def test_the_first_word_of_a_hit_is_what_show_takes(vault, ask, vault_from):
    write_notes(vault.root, 100)
    vault_from("=== notes/The cart.md\n# The cart of 2026\n\nthe cart is measured\n")
    text = ask("search", query='"the cart"', limit=6)
    names = re.findall(r'(?m)^("[^"\n]+"|\S+)(?= )(?!.*cursor)', text)
    assert len(names) == 6, text
    assert '"notes/The cart.md"' in names
    for name in names:
        assert "# The cart" in ask("show", id=name)


def test_every_answer_names_a_note_so_that_the_next_call_finds_it(vault, ask):
    """Also one whose hash has no digit, which is told with the words before it."""
    for at in range(12):
        ask("mem_session_start", id=f"s{at}")
        text = ask("mem_session_summary", session_id=f"s{at}", content=f"## Goal\nCarts {at}")
        for name in re.findall(r"(?m)^\w+: s\d+  (\S+)", text):
            assert f"Carts {at}" in ask("show", id=name), (text, name)
        shorter = ask("mem_session_summary", session_id=f"s{at}", content=str(at))
        [kept] = re.findall(r'this one is kept: call show\(id="(.+)"\)', shorter)
        assert str(at) in ask("show", id=kept)
        captured = ask("capture", content=f"Decision: the door of shop {at} is green").splitlines()
        name = captured[1].split()[2].rstrip(";")
        found = ask("search", query=f'"the door of shop {at}"', type="decision")
        assert found.startswith(f"{name} "), (captured, found)


def test_what_can_be_undone_says_how_in_words_of_the_tools(vault, ask):
    name = ask("mem_save", title="Use pears", type="decision", content="**Why**: sweet").split()[1]
    undo = ask("mem_update", id=name, title="Use plums").splitlines()[-1].strip()
    assert undo == f'undo: call revise(id="{name}", title="Use pears")'
    ask("mem_update", id=name, title="Use pears")
    assert "# Use pears" in ask("show", id=name)
    answer = ask("mem_update", id=name, content="**Why**: pears are cheap; use them")
    [event] = re.findall(r'show\(id="(.+?)"\) has the text before', answer)
    assert "**Why**: sweet" in ask("show", id=event)


def calls_of(text: str) -> list[tuple[str, dict[str, object]]]:
    """The calls that an undo names, in order."""
    said = next(line for line in text.splitlines() if line.strip().startswith("undo: "))
    return [
        (name, {key: json.loads(value) for key, value in re.findall(r'(\w+)=("[^"]*"|\w+)', given)})
        for name, given in re.findall(r"(\w+)\(([^)]*)\)", said)
    ]


def test_every_undo_can_be_called_and_leaves_nothing_behind(vault, ask):
    a, b = (
        ask("mem_save", title=title, type="decision", content="**Why**: sweet").split()[1]
        for title in ("Use pears", "Use plums")
    )
    ask("relate", record=a, kind="refines", other=b)
    ask("relate", record=a, kind="contradicts", other=b)
    related = ask("show", id=a)
    undo = calls_of(ask("relate", record=a, kind="any", other=b, remove=True))
    assert [name for name, _ in undo] == ["relate", "relate"]
    for name, arguments in undo:
        ask(name, **arguments)
    assert {*ask("show", id=a).splitlines()} >= {
        line for line in related.splitlines() if not line.startswith(("updated", "relations"))
    }
    [(name, arguments)] = calls_of(ask("supersede", record_id=a, replacement=b))
    assert (name, arguments) == ("revise", {"id": a, "status": "active"})
    ask(name, **arguments)
    assert "superseded" not in ask("show", id=a)
    assert "supersedes" not in ask("show", id=b)


@pytest.mark.parametrize(("hint", "profile", "said"), [
    ("cortex show ID", ["default"], "call show(id=ID)"),
    ("cortex show ID", ["agent"], "call mem_get_observation(id=ID)"),
    ("cortex show ID", ["status"], ""),
    ("undo: cortex revise use-files-k3f7q2 --status open", ["agent"], 'undo: call mem_update(id="k3f7q2", status="open")'),
    ("undo: cortex restore use-files-k3f7q2", ["restore", "agent"], 'undo: call restore(ids=["k3f7q2"])'),
    ("undo: cortex restore use-files-k3f7q2", ["agent"], 'undo: call mem_update(id="k3f7q2", status="active")'),
    ("undo: cortex restore a-k3f7q2 b-p7m2x4", ["agent"], ""),
    ("cortex done use-files-k3f7q2", ["agent"], 'call mem_update(id="k3f7q2", status="done")'),
    ("cortex delete use-files-k3f7q2 --hard --yes", ["admin"], 'call mem_delete(id="k3f7q2", hard_delete=true)'),
    ("cortex session end NAME", ["agent"], "call mem_session_end(id=NAME)"),
    ("cortex search --type decision,gotcha pear", ["default"], 'call search(query="pear", type=["decision", "gotcha"])'),
    ("name it: cortex session list shows all", ["agent"], ""),
    ("1 left out: cortex search --all pear jam", ["default"], '1 left out: call search(query="status:superseded,pruned,deleted pear jam")'),
])  # fmt: skip
def test_a_hint_is_a_call_of_a_tool_that_the_profile_has(hint, profile, said):
    assert reword(hint, known_tools()["status"], select_tools(profile)) == said


def prompt(name: str, profile: str) -> str:
    filled = fill_prompt(name, {"words": "the pears"}, select_tools([profile]))
    return filled["messages"][0]["content"]["text"]


def test_a_prompt_names_calls_of_the_tools_that_the_client_has():
    assert prompt("forget", "default").startswith("Set aside")  # no note on a missing shell
    assert "cortex" not in prompt("forget", "default").replace("project's", "")
    assert 'revise(id=ID, status="archived")' in prompt("forget", "default")
    assert 'mem_update(id=ID, status="archived")' in prompt("forget", "agent")
    assert 'begin with `recall(scope="project")`' in prompt("recall", "default")
    assert "\nshow(id=ID)\n" in prompt("recall", "default")


def test_a_command_that_no_tool_can_do_stays_in_a_prompt_with_a_note():
    text = prompt("recall", "default")
    assert "\ncortex timeline ID\n" in text
    assert text.startswith("Where there is no shell")
    for name, *_ in read_prompts():
        assert "\ncortex show ID" not in prompt(name, "default"), name


def test_a_briefing_names_calls_and_leaves_what_notes_say(vault):
    Path(vault.root, ".cortex-project").write_text("shop\n")
    write_notes(vault.root, 200)
    uri = "cortex://briefing/shop/main"
    text = read_resource(uri, request_in(vault), select_tools(["default"]))["text"]
    assert "`show(id=HANDLE)`" in text
    assert re.search(r"^- \d+ more: search\(query=.*\)$", text, re.MULTILINE)
    assert "cortex show HANDLE" not in text
    with_none = read_resource(uri, request_in(vault), select_tools(["status"]))["text"]
    assert "`cortex show HANDLE`" in with_none
    of_a_note = "- Ask `cortex show ID`, or for 2 more: cortex show ID [k3f7q2]"
    assert say_commands(FRAME_COMMAND_RE, of_a_note, select_tools(["default"])) == of_a_note


def test_a_search_for_what_is_superseded_leads_to_it(vault, ask):
    note = Path(vault.root, "records", "decision", "use-quinces-k3f7q2.md")
    note.parent.mkdir(parents=True)
    note.write_text(
        "---\nid: use-quinces-k3f7q2\ntype: decision\nstatus: superseded\n---\n\n# Use quinces\n"
    )
    hint = 'search(query="status:superseded,pruned,deleted quinces")'
    assert hint in ask("search", query="quinces")
    assert "Use quinces" in ask("search", query="status:superseded,pruned,deleted quinces")


def test_a_problem_of_another_note_is_said_once(vault):
    write_notes(vault.root, 12)
    broken = Path(vault.root, "records", "decision", "torn-k3f7q2.md")
    broken.write_text("---\nid: [torn\n---\n\n# Torn\n")
    tools, told = select_tools(["default"]), set()

    def find(query: str) -> str:
        return call_tool(
            "search", tools["search"], {"query": query}, request_in(vault), tools, told=told
        ).text

    assert "frontmatter cannot be read" in find("queue")
    assert "frontmatter cannot be read" not in find("queue")
    assert "no filter" in find("colour:red queue")
    assert "no filter" in find("colour:red queue")  # of the query, not of a note
