"""No text takes more than its time: every pattern and every reader of texts is given units that repeat.

CPU time is measured, so that other processes do not matter. Only where a text takes longer than what is linear ever does, it is
compared with an eighth of it: linear is 8 times as long, quadratic 64.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import random
import re
import re._constants as code  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import cortex
from cortex.core.briefing import excerpt, pages
from cortex.core.distill.judge import judge_session
from cortex.core.extract import claims
from cortex.core.extract.code_units import LANGUAGE_OF_ENDING, code_notes
from cortex.core.extract.extraction import find_candidates
from cortex.core.extract.learnings import find_learnings
from cortex.core.extract.named_entities import find_entities
from cortex.core.markdown.passages import passages
from cortex.core.markdown.scan import scan
from cortex.core.markdown.snippet import best_excerpt, looked_for
from cortex.core.merge.merge_record import merge_record
from cortex.core.model import topics
from cortex.core.model.event import Event
from cortex.core.model.problem import CortexError
from cortex.core.model.speaker import is_person, own_words
from cortex.core.normalize.changes import ExistingRecords
from cortex.core.normalize.handlers import changes_for_event
from cortex.core.normalize.session_overview import compose_overview
from cortex.core.notes.note import read as read_note
from cortex.core.notes.relations import edges_of
from cortex.core.ranking import query
from cortex.core.ranking.relevance import prompt_terms
from cortex.core.redact import person_words
from cortex.core.redact.secrets import redact
from cortex.core.text import context_markers
from cortex.core.text.agent_escape import escape_for_agent
from cortex.core.text.lazy_re import LazyPattern
from cortex.core.text.tables import parse_toml
from cortex.core.text.tokenizer import tokenize_query
from cortex.hosts import HOST_NAMES, has_transcripts, jsonc, new_reader
from cortex.hosts.commits import read_commits, read_pull_request
from cortex.index.note_summary import summarize_note
from cortex.interfaces.escape_terminal import escape
from tests.conftest import NOW, SOAK

SIZE, SHARE = 8_000, 8
LEAST_SECONDS = 0.06  # a text of that size takes less of what is linear, mostly
MOST_TIMES = 24  # as long may it take as an eighth of it

Call = Callable[[str], object]


def seconds(call: Call, text: str) -> float:
    started = time.process_time()
    with suppress(CortexError, ValueError):
        call(text)
    return time.process_time() - started


def growth(call: Call, unit: str, end: str = "") -> float:
    """How many times as long a text takes as an eighth of it; 0 where it takes little time. Texts grow, since a pattern of
    cubic time would take for ever."""
    for size in (SIZE // SHARE**2, SIZE // SHARE, SIZE):
        text, short = ((unit * (n // len(unit) + 1))[:n] + end for n in (size, size // SHARE))
        if seconds(call, text) > LEAST_SECONDS:
            taken = min(seconds(call, text) for _ in range(2))
            before = min(seconds(call, short) for _ in range(3))
            if taken > LEAST_SECONDS and taken > MOST_TIMES * before:
                return taken / max(before, 1e-6)
    return 0.0


# Patterns: those of all modules. What is compiled on demand, the readers below use.

# What is compiled where it is used, to be held against one place of a text; and what a text of a few hundred characters is given.
ELSEWHERE = {
    "core.extract.code_units._BEGINS": "match",
    "core.notes.yaml_subset._DOUBLE_QUOTED_PATTERN": "match",
    "core.redact.secrets._LINE_END_PATTERN": "match",
    "core.redact.secrets._KEY_LINE_PATTERN": "match",
    "core.text.agent_escape._TAG_END_PATTERN": "match",
}


def patterns_in(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, LazyPattern):
        yield value.compiled()
    elif isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict) and depth < 4:
        yield from patterns_in([*value, *value.values()], depth + 1)
    elif isinstance(value, list | tuple | set | frozenset) and depth < 4:
        for one in value:
            yield from patterns_in(one, depth + 1)


@cache
def all_patterns() -> dict[str, tuple[re.Pattern[Any], set[str]]]:
    """Every pattern by its name, and the methods by which it is used."""
    found: dict[str, tuple[re.Pattern[Any], set[str]]] = {}
    for one in pkgutil.walk_packages(cortex.__path__, "cortex."):
        if one.name.endswith("__main__"):
            continue
        module = importlib.import_module(one.name)
        source = Path(module.__file__ or "").read_text()
        for name, value in vars(module).items():
            some = list(patterns_in(value))
            if isinstance(value, str) and name.endswith("_PATTERN"):
                some.append(re.compile(value))
            if not some:
                continue
            place = f"{one.name.removeprefix('cortex.')}.{name}"
            ways = {
                *re.findall(rf"\b{name}\.(\w+)\b", source),
                *re.findall(rf"\bre\.(\w+)\({name}\b", source),
            }
            ways = {ELSEWHERE[place]} if place in ELSEWHERE else ways - {"compile", "pattern"}
            found |= {f"{place}.{number}": (pattern, ways) for number, pattern in enumerate(some)}
    return found


def sample_of(tree: Iterable[Any], chance: random.Random) -> str:
    """A text about as the tree of a pattern says."""
    return "".join(sample_of_node(op, value, chance) for op, value in tree)


def sample_of_node(op: object, value: Any, chance: random.Random) -> str:
    if op in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
        times = max(value[0], min(value[1], chance.choice((0, 1, 2))))
        return "".join(sample_of(value[2], chance) for _ in range(min(times, 50)))
    kinds: dict[object, Call] = {
        code.LITERAL: lambda _: chr(value),
        code.IN: lambda _: sample_of_class(value, chance),
        code.ANY: lambda some: chance.choice(some),
        code.NOT_LITERAL: lambda some: chance.choice(some),
        code.SUBPATTERN: lambda _: sample_of(value[3], chance),
        code.ATOMIC_GROUP: lambda _: sample_of(value, chance),
        code.BRANCH: lambda _: sample_of(chance.choice(value[1]), chance),
    }
    return str(kinds[op]("aA .")) if op in kinds else ""


def sample_of_class(items: list[Any], chance: random.Random) -> str:
    letters = {code.CATEGORY_DIGIT: "1", code.CATEGORY_SPACE: " \t\n", code.CATEGORY_WORD: "aA_"}
    some = "".join(
        chr(value)
        if op is code.LITERAL
        else chr(value[0])
        if op is code.RANGE
        else letters.get(value, ".-")
        for op, value in items
        if op is not code.NEGATE
    )
    if items[0][0] is code.NEGATE:
        some = "".join(set("aA1 .-:") - set(some)) or "~"
    return chance.choice(some)


def repeated_in(tree: Iterable[Any], chance: random.Random) -> Iterator[str]:
    """What a pattern repeats without end."""
    for op, value in tree:
        if op in (code.MAX_REPEAT, code.MIN_REPEAT, code.POSSESSIVE_REPEAT):
            if value[1] > 20:
                yield sample_of(value[2], chance)
            yield from repeated_in(value[2], chance)
        elif op in (code.SUBPATTERN, code.ATOMIC_GROUP, code.ASSERT, code.ASSERT_NOT):
            inner = (
                value
                if op is code.ATOMIC_GROUP
                else value[3]
                if op is code.SUBPATTERN
                else value[1]
            )
            yield from repeated_in(inner, chance)
        elif op is code.BRANCH:
            for branch in value[1]:
                yield from repeated_in(branch, chance)


PLAIN_UNITS = ("a", " ", "\t", "\n", "-", "=", "_", "#", "`", '"\\', "[", "<", "|", ".", ": ", "A. ", "a b", "# ", "> ", "1:", "@", "%%")  # fmt: skip


def units_of(pattern: re.Pattern[Any], chance: random.Random) -> list[str]:
    source = (
        pattern.pattern.decode("latin-1") if isinstance(pattern.pattern, bytes) else pattern.pattern
    )
    tree = parser.parse(source, pattern.flags)
    repeated = sorted({*repeated_in(tree, chance), *repeated_in(tree, chance)})[:8]
    whole = [sample_of(tree, chance) for _ in range(3)]
    begun = [one[:end] for one in whole for end in (2, 5)]
    return [one for one in dict.fromkeys([*PLAIN_UNITS, *repeated, *whole, *begun]) if one]


def calls_of(pattern: re.Pattern[Any], ways: set[str]) -> Iterator[Call]:
    """What a pattern does with a text: by the methods `ways`, all of which but two look for it everywhere."""
    is_text = isinstance(pattern.pattern, str)
    if "match" in ways:
        yield lambda text: pattern.match(text if is_text else text.encode())
    if "fullmatch" in ways:
        yield lambda text: pattern.fullmatch(text if is_text else text.encode())
    if ways - {"match", "fullmatch", ""} or not ways:
        yield lambda text: sum(1 for _ in pattern.finditer(text if is_text else text.encode()))


@pytest.mark.parametrize("part", range(8))
def test_a_pattern_takes_linear_time(part: int) -> None:
    chance = random.Random(part)
    slow = {}
    for name, (pattern, ways) in list(all_patterns().items())[part::8]:
        units = units_of(pattern, chance)
        for call in calls_of(pattern, ways):
            # What the text ends with: by turns, in a soak with each unit both.
            ends = [("\n!", "x") if SOAK else (("\n!", "x")[n % 2],) for n in range(len(units))]
            pairs = [(unit, end) for unit, each in zip(units, ends, strict=True) for end in each]
            times, unit = max((growth(call, unit, end), unit) for unit, end in pairs)
            if times:
                slow[name] = unit, round(times), pattern.pattern[:80]
    assert not slow


# Readers

EVENT_ID = "20261120t164512z-aaaaaaaaaa"
RECORD = """---
id: a-aaaaaa
type: {}
title: a
status: open
provenance: {{events: [20261120t164512z-bbbbbbbbbb]}}
---
# a

"""
TURN = "> [!user]\n> {}\n\n> [!answer]\n> yes\n\n{}"
UNITS = (
    "A. |Mr. |1. |a! |a? |# |# a\n|- |- a\n|  - a\n|- [ ] a\n|> |> a\n|> > |[[|[[a]] |[|](|[a](b) |![|**|*|_|``|`a` |<|<a |<a>|</a>|"
    "<!--|<p>|<td>|://|https://a.b/c |@a |a@|=|=> | -> | - |a-|a.b|a/b.py |1:|1-2-|a |a\n|\n|\t| |\\|\"|'|: |a: |a: b\n|{|{{|(|(a) |#a |"
    "a, |Ana, |Ana will a. |Decision: a\n|[memory:decision] a b |because |we use a |Why: a\n|## Key Learnings\n\n1. a\n|```\n|%%|"
    '<<<<<<< a\n|=======\n|- Owner: a\n|by Friday |password=|Bearer |<system>|\r\n|é|\u4e00|\u200b|2026-11-20 |- a: "|---\n'
)


def event(type_: str, text: str) -> object:
    one = Event(EVENT_ID, type_, NOW, text, session="s", project="p", title=text[:200])
    return changes_for_event(one, ExistingRecords())


def of_session(text: str) -> list[Event]:
    """A turn in which all is said that a session's judgement and overview read."""
    turn = f"{TURN.format(text.replace(chr(10), chr(10) + '> '), text)}\n\n<!-- cortex: what was done -->\n\nCommits:\n\n- abc1234 {text}"
    return [Event(EVENT_ID, "stop", NOW, turn, session="s", project="p")]


def transcript(host: str, text: str) -> None:
    said = {
        "type": "user",
        "message": {"role": "user", "content": text},
        "uuid": "a",
        "timestamp": NOW,
        "sessionId": "s",
    }
    tool = {"type": "tool_use", "id": "x", "name": "Bash", "input": {"command": text}}
    did = said | {
        "type": "assistant",
        "message": {"role": "assistant", "content": [{"type": "text", "text": text}, tool]},
    }
    codex = {
        "type": "event_msg",
        "timestamp": NOW,
        "payload": {"type": "user_message", "message": text},
    }
    lines = (said, did, codex)
    new_reader(host).parse([json.dumps(one).encode() for one in lines]).turn_summary(
        "/", "important"
    )


def merged(text: str) -> None:
    head = RECORD.format("decision")
    base, ours, theirs = (
        one.encode() for one in (f"{head}{text}\n", f"{head}a\n{text}\n", f"{head}{text}\nb\n")
    )
    merge_record(base, ours, theirs)


def record(type_: str, text: str) -> object:
    return summarize_note("records/a/a.md", (RECORD.format(type_) + text).encode(), 0)


# Units that one reader alone takes for something of its own.
UNITS_OF = dict.fromkeys(
    [f"code: {one}" for one in {*LANGUAGE_OF_ENDING.values()}],
    "class a {\n¦class a {\n}\n¦  class a {\n¦function a(\n¦def a(b):\n    return 1\n¦/* a\n¦// a\nclass a {¦# a\ndef a\n¦func a(",
) | {
    "redaction": (
        "eyJ¦eyJa.¦-----BEGIN ¦-----BEGIN PRIVATE KEY-----¦-----BEGIN PRIVATE KEY-----\n¦-----END PRIVATE KEY-----¦<private>¦</private>¦"
        "<private ¦a:¦://a:¦://a:1/¦://a:b/c¦password=\"¦password='\\¦password=a1,¦password=a&¦password: str = ¦token=f(¦password=xxxx1¦"
        'password=https://¦Authorization: Bearer ¦bearer a¦ghs_.¦[REDACTED:jwt]¦password=\u200b¦secret access key [¦ -p¦ -p a¦ -p "¦'
        "curl -u a:b ¦curl -u a:¦mysql ¦ login \\\n¦--password ¦--password a1¦--a-b-c-password¦cookie: ¦sid=¦cookie: sid=a ¦machine a ¦"
        "machine a login b ¦okta¦okta: a.¦&lt;private ¦password=abcdefgh ¦password: 'ab cd ef' ¦MTIz¦MTIzNDU2Nzg5MDEyMzQ1Njc4.¦12345678:AA¦"
        "AAAA:¦:APA91b¦sl.a¦dp.pt.a¦hvs.¦.atlasv1.¦cioa¦pata¦fm2_a,¦v1.0-0f1e¦;base64,AAAA¦;base64,EAAAa1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2¦"
        "<password>¦<password ¦<password>a¦<password><![CDATA[¦<a.b.password>x</a.b.pass¦&lt;password&gt;¦\\u003cpassword\\u003e¦"
        'name="password" ¦name="password" value=" value=¦name="password">a¦password is ¦password for a ¦password is a1( ¦password is `a ¦'
        "password is « a¦password is \n\n¦pw is a1b2c3d ¦mot de passe de ¦abandon ¦abandon zoo ¦1. abandon ¦abandon,\n¦abandon,¦1 ¦abcd ¦"
        "abandon                 ¦curl -u 'a ¦curl -u \"a:¦curl -ssssu¦curl --user\\\n ¦curl login curl- ¦mysql-mysql-¦\"-p\", "
    ),
    "what was decided": (
        "chose ¦we chose over over over ¦[memory:¦[memory: [a][b]¦[memory: a]¦Decision: x y z\n¦decisions\n- a b c\n¦    we decided to use x\n¦"
        "and we decided to\n¦we rejected ¦we prefer prefer ¦fixed the the ¦root cause of of ¦## decision\n\n¦**decision**\nso we¦let's use ¦"
        "so i'll use it for ¦we'll stick with ¦i'll use the read ¦we decided to leave the old ¦[MEMORY ¦[MEMORY a, ¦important: never ¦TIL TIL ¦"
        "so until i'll use ¦i went with the one as ¦i'll use a small small script instead of over ¦İ¦- [x] a\n"
    ),
    "an event: meeting": (
        "- [ ] x @a\n¦- [ ] due 2026-13-45 ¦- [ ] owner: ¦# Actions\n- (Anna)¦# Actions\n- ( )¦# Agreed\n- because ¦TODO: ¦TODO: x\n¦Date: ¦"
        "Attendees: a, ¦  - b\n¦a:\n"
    ),
    "names": "/a.b¦.1¦--a-¦Error¦https://¦github.com/¦@a/¦func (¦type A¦`a.b!` ¦`pub fn`¦import a,¦`pip install a a a` ¦\n```",
    "claims": "~~¦use ¦use a ¦not use ¦a instead of ¦src/a.py ¦x://¦[a](b.md",
    "words": "aB¦A¦a_¦a'¦a::¦a1¦AAs¦全¦全a¦\u0301¦_¦e\u0301/¦9¦ｶﾞ",
    "links and tags": (
        "%%\n¦[[¦]¦![[¦(#a¦^a ¦[a](¦[a](b(¦[a](b \"¦[a](<¦[a][¦[a](b)¦[]¦[[a [¦[a]: b\n¦[a]: b '\n¦- a\n  ¦<a b=\"¦<a b='¦<?¦<![CDATA[¦<!A¦"
        "<a@¦<ab:¦:: ¦a:: ¦[a:: ¦(a:: ¦(a:: b(¦a|b\n¦a|b\n|-|-|\n¦[[a|¦\\`¦` `` ¦~~~\n¦<div>\n¦a\n===\n¦https://a("
    ),
}  # fmt: skip
EVENTS = (
    "manual", "meeting", "observation", "passive", "prompt", "stop", "subagent_stop", "session_start",
)  # fmt: skip
READERS: dict[str, Call] = {
    "a person's note": lambda text: summarize_note("a.md", text.encode(), 0),
    "frontmatter": lambda text: summarize_note("a.md", f"---\ntags: {text}\n---\n".encode(), 0),
    **{f"a record: {type_}": partial(record, type_) for type_ in ("decision", "plan", "session", "meeting")},
    **{f"an event: {type_}": partial(event, type_) for type_ in EVENTS},
    "a turn": lambda text: event("stop", TURN.format(text.replace("\n", "\n> "), text)),
    **{f"a transcript: {host}": partial(transcript, host) for host in HOST_NAMES if has_transcripts(host)},
    "a judgement": lambda text: judge_session(of_session(text)),
    "an overview": lambda text: compose_overview(of_session(text), ()),
    "who speaks": lambda text: (is_person(text), own_words(text)),
    "a commit": lambda text: (read_commits(f"git commit -m {text}", text, failed=False), read_pull_request(f"gh pr create --title {text}", "https://a.b/c/d/pull/1")),
    "passages": passages,
    "an excerpt": lambda text: best_excerpt(text, looked_for({"a": 1.0, "decis": 1.0}, ("a b",))),
    "claims": lambda text: claims.extract_claims("a-aaaaaa", "a", text, "2026-11-20"),
    "redaction": redact,
    "escapes": lambda text: (escape(text), escape_for_agent(text)),
    "context": lambda text: context_markers.strip_injected(f"<cortex-memory>\n{text}"),
    "a prompt": lambda text: (person_words.keep_of_prompt(text, "important"), person_words.keep_of_reply(text, "")),
    "a briefing": lambda text: (excerpt.body_excerpt("a", text), excerpt.session_excerpt(text, ()), excerpt.plan_steps(text)),
    "a line": lambda text: (excerpt.reason_line("a", text), pages.parse_page(text)),
    "a query": lambda text: query.parse(text, NOW),
    "settings": lambda text: parse_toml(f"a = 1\n{text}"),
    "settings of hosts": lambda text: jsonc.parse(f'{{"a": "{text}'),
    "a merge": merged,
    "what was decided": lambda text: find_candidates(text, (("decision", ("a", "- ")),)),
    "learnings": lambda text: find_learnings(f"## Learnings\n{text}"),
    "names": lambda text: find_entities(text, scan("")),
    "a prompt that reminds": lambda text: prompt_terms(text, str),
    "a topic": lambda text: (topics.suggest("", text, text), topics.normalize_topic(f"x{text}")),
    "words": lambda text: tokenize_query(text, str),
    "links and tags": scan,
    **{f"code: {one}": lambda text, one=one: code_notes("a", text, one) for one in sorted({*LANGUAGE_OF_ENDING.values()})},
    "links of a property": lambda text: edges_of(read_note(b"---\nup: x\n---\n")._replace(fields={"up": text}), scan("")),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", READERS)
def test_a_text_is_read_in_linear_time(name: str) -> None:
    read = READERS[name]
    seconds(read, "A first text: patterns are compiled.\n")
    units = [*UNITS.split("|"), *UNITS_OF.get(name, "").split("¦")]
    slow = {unit: times for unit in units if unit and (times := round(growth(read, unit, "x")))}
    assert not slow
