"""The overview of a session: its title, what was asked, what came of it, made of all its events.

The same events give the same overview, in whatever order they came. In the session's note it stands
above the events, ended by a mark that holds hashes of it and of the title, which show whether a
person has changed them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cortex.core.extract.candidate import KEYWORD_LAYER
from cortex.core.extract.extraction import becomes_record, find_candidates
from cortex.core.model import turn_summary
from cortex.core.model.distillation import BY_RULES, Distillation, standing_distillations
from cortex.core.model.event import Event, is_headless
from cortex.core.model.generated_text import (
    OVERVIEW_MARK_RE,
    find_marked_text,
    is_untitled,
    untitled_by_what,
)
from cortex.core.model.note_status import OVERVIEW_MARK
from cortex.core.model.session_asks import (
    as_title,
    choose_title,
    find_plans,
    subjects_of,
    with_topics,
)
from cortex.core.model.session_report import (
    is_bookkeeping,
    is_on_the_way,
    is_plan_done,
    left_to_do,
    report_lines,
    says_all_done,
)
from cortex.core.model.speaker import is_person
from cortex.core.model.turn_summary import AGENT, USER, Commit, TurnSummary
from cortex.core.normalize.session_note import (
    END_TYPE,
    NO_GOAL,
    NO_SUMMARY,
    START_TYPE,
    encode_lines,
)
from cortex.core.notes.edit import with_fields
from cortex.core.notes.note import Note
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, short_hash, shorten
from cortex.core.text.value import NamedTuple

MAX_LINKS = 12
_MAX_ASKS, _MAX_FILES, _MAX_STEPS, _MAX_COMMITS, _MAX_EXCERPTS = 5, 12, 10, 8, 5
_MAX_ASK_CHARS, _MAX_OUTCOME_WORDS, _MAX_EXCERPT_CHARS = 200, 120, 240
_MIN_CLOSING_WORDS = 30  # of a report that closes the work though nobody asked for its turn
_MIN_OUTCOME_CHARS = 80  # of a message that tells what came of a session
_MIN_REPORT_WORDS, _MIN_SUBJECT_WORDS = 3, 3  # of a sentence, a commit's subject, that is a title
_MAX_SHORT_WORDS = 8  # of a prompt that names little
_NO_DIGEST = "a" * 10  # of a title that Cortex did not give
_COMMENT_RE = lazy_re(r"<!--")
_SUBJECT_RE = lazy_re(r"(?:\w+(?:\(([^()]{1,30})\))?!?: +)?(.+?)(?: \(#\d+\))?$")
_DECIDED_TYPES = ("decision", "rejection", "preference", "convention", "architecture")
_NOT_DISTILLED = Distillation("", (), "", (), ())


class SessionOverview(NamedTuple):
    """What a session's events tell. `text` is markdown below headings of the second level."""

    title: str
    text: str
    last_event: str  # the greatest id of its events; empty when none of them can be read


class _OverviewTurn(NamedTuple):
    """What was said and done in one event."""

    asked: list[str]  # by a person
    messages: list[str]
    done: TurnSummary


class _Said(NamedTuple):
    """What was said and done in a session, in the order of its events."""

    turns: list[_OverviewTurn]
    title: str  # the host's own
    branch: str
    goal: str  # as `cortex session start` takes it
    summary: str  # as `cortex session end` takes it

    def prompts(self) -> list[str]:
        return [text for turn in self.turns for text in turn.asked]

    def messages(self) -> list[str]:
        return [text for turn in self.turns for text in turn.messages]

    def files(self) -> list[str]:
        return list(dict.fromkeys(name for turn in self.turns for name in turn.done.changed_files))

    def commits(self) -> list[Commit]:
        return [one for turn in self.turns for one in turn.done.commits]


def compose_overview(
    events: Iterable[Event], records: Sequence[tuple[str, str, str]]
) -> SessionOverview:
    """The overview of a session with these events; `records` are ids, titles and types of what they
    made."""
    ordered = sorted(events, key=lambda event: event.id)
    said = later = _gather(ordered)
    distilled = _NOT_DISTILLED
    for _, one in standing_distillations(ordered):
        if one.model == BY_RULES:  # it has records alone
            continue
        distilled, end = one, max(one.covers)
        later = _gather([event for event in ordered if event.id > end])
    came = [*filter(None, (distilled.outcome,)), *_outcome(later)]
    outcome = " ".join(came)
    shown = records[:MAX_LINKS]
    decided = [_link(id_, title) for id_, title, type_ in shown if type_ in _DECIDED_TYPES]
    learned = [_link(id_, title) for id_, title, type_ in shown if type_ not in _DECIDED_TYPES]
    sections = (
        ("Asked", [*(f"- {one}" for one in distilled.asked), *_asked(later)][:_MAX_ASKS]),
        ("Outcome", came),
        ("Decided", decided),
        ("Learned", [*learned, *(one for one in _excerpts(later) if one[2:] not in outcome)]),
        ("Changed", _changed(said)),
        ("Open", [f"- {one}" for one in (*distilled.open, *_open(later))][:_MAX_STEPS]),
    )
    parts = (f"## {heading}\n\n" + "\n".join(lines) for heading, lines in sections if lines)
    text = "\n\n".join(parts)
    if not ordered:
        return SessionOverview("", "", "")
    title = distilled.title.rstrip(" .") or _title(said, ordered[0])
    return SessionOverview(title, _COMMENT_RE.sub("<!- -", text), ordered[-1].id)


def with_overview(note: Note, overview: SessionOverview) -> Note:
    """The note with this overview, title and alias, but for those that a person has changed."""
    if not overview.last_event:
        return note
    lines = note.body.splitlines(keepends=True)
    mark = find_marked_text(lines, OVERVIEW_MARK_RE)
    _, count, digest, title_digest = (one.decode() for one in mark.mark) if mark else [""] * 4
    title, name = note.get("title"), str(note.provenance()[1].get("session"))
    if short_hash(title, 10) == title_digest if mark else is_untitled(title, name):
        title_digest = short_hash(overview.title, 10)
        note = _with_title(note, overview.title, name)
    wanted = [f"# {note.title}", "", *overview.text.splitlines(), ""] if overview.text else []
    start = mark.start if mark else next((n for n, one in enumerate(lines) if one.strip()), 0)
    if mark and not (wanted and mark.is_untouched):
        # What a person has changed stays; so does what was said in events that are gone.
        block, start = [], mark.end
    elif wanted or mark or not is_untitled(overview.title, name):
        block, count, digest = wanted, str(len(wanted)), short_hash("\n".join(wanted), 10)
    else:
        return note
    digests = f"{digest} {title_digest or _NO_DIGEST}"
    block.append(f"{OVERVIEW_MARK}{overview.last_event} {count} {digests} -->")
    lines[start : mark.end + 1 if mark else start] = encode_lines(note, block + [""] * (not mark))
    return note._replace(body=b"".join(lines))


def _with_title(note: Note, title: str, name: str) -> Note:
    """The note with this title, and this alias in the place of the title before."""
    before, held_aliases = note.get("title"), note.get_list("aliases")
    aliases = [title if one == before else one for one in held_aliases]
    if is_untitled(before, name) and title not in aliases:
        aliases.insert(0, title)
    is_alias = not is_untitled(title, name) and not note.is_flat
    once = tuple(one for one in dict.fromkeys(aliases) if one != title or is_alias)
    return with_fields(note, {"title": title, "aliases": once})


def _gather(ordered: Sequence[Event]) -> _Said:
    said = _Said([], "", "", "", "")
    for event in ordered:
        turn = turn_summary.parse_turn_summary(event.text)
        said = said._replace(branch=event.branch or said.branch, title=turn.title or said.title)
        text = event.text.partition(turn_summary.ACTIVITY_MARK)[0]
        if event.type == START_TYPE and not text.startswith(NO_GOAL):
            said = said._replace(goal=said.goal or text)
        elif event.type == END_TYPE and not text.startswith(NO_SUMMARY):
            said = said._replace(summary=max(text, said.summary, key=len))
        elif event.type == "prompt":
            asked = [turn.message] if is_person(turn.message) else []
            said.turns.append(_OverviewTurn(asked, [], turn))
        elif event.type in ("stop", "pre_compact"):
            spoken = turn_summary.utterances(turn.message)
            asked = [
                one.text
                for one in spoken
                if one.role == USER and not one.about and is_person(one.text)
            ]
            followed = zip(spoken, [*spoken[1:], None], strict=False)
            messages = [
                one.text
                for one, after in followed
                if one.role == AGENT and after != turn_summary.PLAN_APPROVAL  # of a plan
            ]
            said.turns.append(_OverviewTurn(asked, messages, turn))
    return said


def _title(said: _Said, first: Event) -> str:
    """Of a conversation that was imported its title there; else the goal, the heading of a plan,
    what was committed, a pull request, the host's title, else what was asked, the last report, the
    branch or a file; with none of these the day."""
    if is_headless(first.session):
        return f"Headless runs of {(first.clock or first.at)[:10]}"
    if first.imported_from and said.title:
        return said.title  # under which people know the conversation
    requests = (one for turn in said.turns for one in turn.done.pull_requests if one.subject)
    done = (
        _plan(said) or _most_telling_subject(said.commits()) or _most_telling_subject([*requests])
    )
    texts = [*said.prompts(), *said.messages()]
    title = as_title(said.goal) or with_topics(as_title(done or said.title), texts)
    title = title or choose_title(said.prompts(), [*said.messages(), " ".join(said.files())])
    if not title:
        sentences = subjects_of(_last_report(said.messages()) or said.summary, _MIN_REPORT_WORDS)
        title = as_title(next((one for one in sentences if not is_on_the_way(one)), ""))
    if not title:
        what = said.branch or next(iter(said.files()), "")
        title = untitled_by_what(first.session, what, (first.clock or first.at)[:10])
    return title


def _plan(said: _Said) -> str:
    """The title of the last plan that was approved or given."""
    spoken = (turn_summary.utterances(turn.done.message) for turn in said.turns)
    plans = [plan.title for some in spoken for plan in find_plans(some)]
    return plans[-1] if plans else ""


def _most_telling_subject(commits: Sequence[Commit]) -> str:
    """The subject of the commit, or the pull request, that says most, its kind behind it."""
    some = [one for one in commits if not is_bookkeeping(one.subject)]
    best = max(some, key=lambda one: len(one.body), default=None)
    found = _SUBJECT_RE.match(best.subject) if best else None
    if not found or len(found[2].split()) < _MIN_SUBJECT_WORDS:
        return ""
    return f"{found[2]} ({found[1]})" if found[1] and found[1] not in found[2] else found[2]


def _asked(said: _Said) -> list[str]:
    prompts = [*filter(None, (said.goal,)), *said.prompts()]
    subjects = (next(iter(subjects_of(prompt)), "") for prompt in prompts)
    lines = dict.fromkeys(shorten(one, _MAX_ASK_CHARS) for one in subjects if one)
    short = (one_line(one) for one in prompts if 1 < len(one.split()) <= _MAX_SHORT_WORDS)
    lines = lines or dict.fromkeys(short)  # what was wanted is told, though it names little
    return [f"- {line[:1].upper()}{line[1:]}" for line in lines][:_MAX_ASKS]


def _last_report(messages: Sequence[str]) -> str:
    """The last message that tells what came of it, not what comes next."""
    telling = [one for one in messages if len(one) >= _MIN_OUTCOME_CHARS]
    reports = [
        one
        for one in telling
        if not one.rstrip(" *_`").endswith(("?", ":")) and not is_on_the_way(one)
    ]
    last = [one for one in messages[-1:] if not is_on_the_way(one)]
    return next(iter((reports or last or telling or list(messages))[-1:]), "")


def _is_closing(report: str) -> bool:
    """Whether a report of a turn that nobody asked for, as after a compaction, closes the work."""
    words = sum(len(line.split()) for line in report_lines(report, _MAX_OUTCOME_WORDS))
    is_over = not report.rstrip(" *_`").endswith(("?", ":")) and not is_on_the_way(report)
    return is_over and words >= _MIN_CLOSING_WORDS


def _reports(said: _Said) -> list[str]:
    """What was reported, the most telling first: of the last turn that a person asked for and that
    changed files, of those before it, of others that a person asked for, of any."""
    turns = [turn for turn in reversed(said.turns) if turn.messages]
    reports = {id(turn): _last_report(turn.messages) for turn in turns}
    asked = [turn for turn in turns if turn.asked]
    changed = [
        turn
        for turn in turns
        if (turn.done.changed_files and turn.asked)
        or ((turn.done.changed_files or turn.done.commits) and _is_closing(reports[id(turn)]))
    ]
    telling = [turn for turn in asked if len(reports[id(turn)]) >= _MIN_OUTCOME_CHARS]
    return list(dict.fromkeys(reports[id(one)] for one in (*changed, *telling, *asked, *turns)))


def _outcome(said: _Said) -> list[str]:
    """What came of a session, in about `_MAX_OUTCOME_WORDS` words: of its last turn the report,
    without courtesies and bookkeeping; where that says little, what was committed."""
    reports = _reports(said)
    lines = report_lines("".join(reports[:1]), _MAX_OUTCOME_WORDS)
    left = _MAX_OUTCOME_WORDS - sum(len(line.split()) for line in lines)
    for commit in reversed(said.commits()):
        if left < _MAX_OUTCOME_WORDS // 2 or is_bookkeeping(commit.subject):
            continue
        body = " ".join(report_lines(commit.body, left // 2))
        line = f"{commit.subject}: {body}" if body else commit.subject
        left -= len(line.split())
        lines += ["", line] if lines else [line]
    told = (report_lines(one, _MAX_OUTCOME_WORDS) for one in reports)
    return lines or next(filter(None, told), [])


def _excerpts(said: _Said) -> list[str]:
    """Sentences of the agent that tell something, since the last change: what was found before may
    be mended."""
    found: dict[str, None] = {}
    for turn in reversed(said.turns):
        text = "\n\n".join(turn.messages)
        for one in find_candidates(text):
            if one.layer == KEYWORD_LAYER and not one.is_marked and becomes_record(one):
                found[f"- {shorten(one.text, _MAX_EXCERPT_CHARS)}"] = None
        if turn.done.changed_files or turn.done.commits:
            break
    return list(found)[:_MAX_EXCERPTS]


def _open(said: _Said) -> list[str]:
    """The steps of the plan that are not done, and what the last report says is left."""
    report = _last_report(said.turns[-1].messages) if said.turns else ""
    last = next((turn.done for turn in reversed(said.turns) if turn.done.plan), TurnSummary(""))
    is_done = says_all_done(report) or is_plan_done(last)
    left = [] if is_done else [step.text for step in last.plan if not step.done]
    return list(dict.fromkeys((*left, *left_to_do(report))))


def _link(id_: str, title: str) -> str:
    return f"- [[{id_}|{one_line(title).replace('|', '-').replace('[', '(').replace(']', ')')}]]"


def _changed(said: _Said) -> list[str]:
    files, commits = said.files(), said.commits()
    names = (name.replace("`", "'") for name in files[:_MAX_FILES])
    more = [f"- and {len(files) - _MAX_FILES} more"] if len(files) > _MAX_FILES else []
    # One that was amended has its subject still.
    made = {one.subject: f"- {one.ref} {one.subject}" for one in commits[-_MAX_COMMITS:]}
    requests = (one.ref for turn in said.turns for one in turn.done.pull_requests)
    return [
        *(f"- `{name}`" for name in names),
        *more,
        *made.values(),
        *map("- {}".format, dict.fromkeys(requests)),
    ]
