"""What came of a meeting: the decisions, actions and open questions that its minutes tell."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from cortex.core.minutes import assigned, cues, sentences
from cortex.core.minutes.blocks import (
    ARROW_RE,
    Block,
    MinutesItem,
    field_of,
    iter_texts,
    nest_fields,
    parse_field,
    units,
)
from cortex.core.minutes.cues import (
    ABSENT,
    ACTION,
    AGENDA,
    ATTENDEES,
    CONTEXT,
    DECISION,
    MIXED,
    QUESTION,
)
from cortex.core.minutes.dates import find_due, first_date
from cortex.core.minutes.task_parser import (
    CHECKBOX_RE,
    NO_TASK_WORDS,
    NameSet,
    parse_people,
    parse_task,
    tidy_task_text,
)
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple


class ActionItem(NamedTuple):
    """A task somebody took on. `due` is "YYYY-MM-DD" or "", `line` counts from 1."""

    text: str
    owner: str
    due: str
    done: bool
    line: int
    day: str = ""  # of the meeting, if it is another one than the first of the file

    @property
    def kind(self) -> str:
        return ACTION


class DecisionItem(NamedTuple):
    """What was agreed, and why if the minutes say so. `line` counts from 1."""

    text: str
    reason: str
    line: int
    day: str = ""

    @property
    def kind(self) -> str:
        return DECISION


class NotedItem(NamedTuple):
    """An open question, a risk or the context of a meeting. `line` counts from 1."""

    text: str
    line: int
    day: str = ""
    kind: str = QUESTION


Outcome = ActionItem | DecisionItem | NotedItem


class Place(NamedTuple):
    """Where a text stands: what its section is about, whose it is, and what is above it."""

    section: str = ""
    owner: str = ""
    topic: str = ""


_REASON_RE, _MOTION_RE = cues.regex_of("reason"), cues.regex_of("motion")
_NAMED_LABEL_RE, _DONE_LABEL_RE = cues.regex_of("named label"), cues.regex_of("done labels")
_NO_DECISION_RE, _DONE_CELL_RE = cues.regex_of("no decision"), cues.regex_of("done cells")
DEICTIC_RE = cues.regex_of("deictic")
_BOLD_LABEL_RE = lazy_re(r"^[*_]{2,3}[^*_\n]{2,40}:?[*_]{2,3}:?[ ]+")
_LEADING_BRACKETS_RE = lazy_re(r"^[*_]{0,2}[(\[]([^()\[\]]{1,40})[)\]][*_]{0,2}[ ]?:?[ \t]+")
_SPEAKER_RE = lazy_re(r"^[*_]{0,3}@?\w[\w .-]{0,30}[*_]{0,3}:[*_]{0,3}[ ]+")
_SECONDED_RE, _MOVER_RE = cues.regex_of("seconded"), cues.regex_of("mover")
_REQUEST_RE, _VAGUE_MOTION_RE = cues.regex_of("request"), cues.regex_of("vague motion")
_LAST_LABEL_RE = cues.regex_of("last label")
_TRAILING_NAME_RE = lazy_re(r"\(([^()]{2,60})\)[ .]*$")
_STRUCK_RE = lazy_re(r"~~(.+?)~~[ .]*")
_LETTERS_RE = lazy_re(r"[^\W\d_]+")
_NUMBER_RE = lazy_re(r"[\W\d_]*")
_NUMBER_HEADER_RE = lazy_re(r"(?i)[\W\d_]*+(?:nr|no|num|id|pos)?[\W\d_]*+")
_FOREVERYONE_RE = lazy_re(rf"(?i)[*_]{{0,3}}({'|'.join(assigned.EVERYONE)})[*_]{{0,3}} ?: +")
_MAX_VOTE_WORDS = 14
_VOTE_WORDS = cues.words_of("vote words")
_MAX_LAST_LABEL, _MAX_OWNER_WORDS = 60, 4
_MAX_SPEECHES = 6  # in minutes that are no transcript


class OutcomeReader:
    """Reads outcomes from blocks. `names` are the attendees', `date` that of the meeting."""

    def __init__(self, names: NameSet, date: str, language: str) -> None:
        self.speech = sentences.Speech(names, language)
        self.names = names
        self._sorted_names = sorted(names)
        self.date = date
        self._sections: list[tuple[int, str, str]] = [(0, "", "")]  # level, kind, heading
        self._owner = ""  # of the items below a heading that is a name
        self._due = ""  # of the tasks below a heading or line that names a day
        self._motion = self._above = ""  # what was put to the vote last; the line above
        self._title = self._intro = ""  # the kind of the list below a line such as `We decided:`

    def read(self, blocks: list[Block]) -> list[Outcome]:
        """The outcomes in their order, each once."""
        self.speech.is_transcript = self._count_speeches(blocks) > _MAX_SPEECHES
        heads = [block.lines[-1][0] for block in blocks if block.level == 1]
        self._title = heads[0] if len(heads) == 1 else ""
        outcomes: dict[tuple[str, str, str], Outcome] = {}
        date = self.date
        for block, after in zip_longest(blocks, blocks[1:]):
            self._is_before_list = bool(after and after.items)
            for outcome in self._of_block(block):
                # The same words about `this` mean something else elsewhere.
                is_vague = DEICTIC_RE.search(outcome.text) or len(outcome.text.split()) < 5
                about = str(outcome.line) if is_vague else ""
                key = outcome.kind, outcome.text.casefold(), about
                day = self.date if self.date != date else ""  # of another meeting in the file
                known = outcomes.setdefault(key, outcome._replace(day=day))
                if isinstance(known, ActionItem) and isinstance(outcome, ActionItem):
                    # Who takes on what was asked for may be said only after it.
                    outcomes[key] = known._replace(owner=known.owner or outcome.owner)
        return list(outcomes.values())

    def _count_speeches(self, blocks: list[Block]) -> int:
        """How many items and lines begin with an attendee and a colon."""
        lines = [line for block in blocks for line, _ in block.lines]
        lines += [text for block in blocks for item in block.items for text in iter_texts(item)]
        speeches = (line.partition(":") for line in lines if ":" in line[:40])
        heads = (who for who, _, said in speeches if not self.speech.is_order(said.strip(" *_")))
        return sum(bool(parse_people(head, self.names, strict=True)) for head in heads)

    def _of_block(self, block: Block) -> Iterator[Outcome]:
        _, kind, topic = self._sections[-1]
        kind = (self._intro if block.items else "") or kind
        last = block.lines[-1][0].rstrip("*_ ") if block.lines and self._is_before_list else ""
        self._intro = DECISION if last.endswith(":") and sentences.is_decision(last) else ""
        if last and len(block.lines) == 1 and cues.section_kind(last):
            block = block._replace(level=block.level or 6)  # `Action items` above a list
        if block.rows:
            yield from self._of_table(block.rows, kind)
        for item in nest_fields(block.items):
            yield from self._of_item(item, Place(kind, self._owner, topic))
        if block.level and not self._is_count(block) and not self._intro:
            self._enter(block)
        plain = [MinutesItem([unit], []) for unit in units(block.lines)]
        for (text, line), fields in ((one.lines[0], one.nested) for one in nest_fields(plain)):
            if not block.level:
                if kind == ACTION and text.rstrip("*_ ").endswith(":"):
                    self._due = find_due(text.replace("*", ""), self.date) or self._due
                yield from self._of_text(text, line, Place(kind, "", topic), fields)
            elif self._label(text)[0] and not cues.section_kind(text):
                yield from self._of_text(text, line, Place())

    def _is_count(self, heading: Block) -> bool:
        """True of `**In favour: 5**` alone on a line, which is no heading."""
        line = heading.lines[-1][0]
        return heading.level == 6 and _is_bare_vote(line) and any(map(str.isdigit, line))

    def _enter(self, heading: Block) -> None:
        """Begin the section of a heading."""
        line = heading.lines[-1][0]
        self._owner = self._heading_owner(line.rstrip(":*_ "))
        self._motion = self._above = ""
        is_below = heading.level == 6 or heading.level > self._sections[-1][0]
        if not (self._owner and is_below and not cues.section_kind(line)):
            while self._sections[-1][0] >= heading.level:
                self._sections.pop()
            above = self._sections[-1][1]
            inherited = "" if above in (ATTENDEES, ABSENT) else above
            kind = cues.section_kind(line) or inherited
            self._sections.append((heading.level, kind, line))
        if heading.level <= 2 and (day := first_date(line)):
            self.date = day  # of the next meeting in the file
        self._due = find_due(line, self.date) if self._sections[-1][1] == ACTION else ""

    def _heading_owner(self, text: str) -> str:
        """The people that a heading names: attendees; of actions also all, and who is called by the
        beginning of an attendee's handle."""
        above, _, last = text.rpartition(" ")
        in_actions = self._sections[-1][1] == ACTION
        is_for_all = cues.section_kind(above) == ACTION if above else in_actions
        if is_for_all and last.casefold() in assigned.EVERYONE:
            return last
        start = text.casefold()
        after = bisect_left(self._sorted_names, start)
        is_short = len(start) > 2 and "".join(self._sorted_names[after : after + 1]).startswith(
            start
        )
        is_roster = bool(parse_people(self._owner.casefold(), self.names, strict=True))
        after_stranger = bool(self._owner) and not is_roster
        strict = not in_actions or not (is_short or after_stranger)
        return parse_people(text, self.names, strict)

    # -- lists

    def _of_item(self, item: MinutesItem, place: Place) -> Iterator[Outcome]:
        """The outcomes of an item and of those nested in it."""
        (text, line), *more = list(units(item.lines)) or [("", 0)]
        lead = _LEADING_BRACKETS_RE.match(CHECKBOX_RE.sub("", text))
        owner = (parse_people(lead[1], self.names, strict=True) if lead else "") or place.owner
        nested, below = item.nested, place._replace(topic=text or place.topic, owner=owner)
        if not text:
            below = place
        elif not more and (heading := self._announced(item, text, place)):
            below = heading
        else:
            found = list(self._of_text(text, line, place, nested, is_item=True))
            yield from found
            for other, at in more:
                yield from self._of_text(other, at, place, is_item=True)
            is_marked = CHECKBOX_RE.match(text) or cues.LABEL_RE.match(text)
            if found and (is_marked or place.section in (ACTION, DECISION)):
                in_action = any(isinstance(one, ActionItem) for one in found)
                nested = [each for each in nested if self._is_own(each, in_action=in_action)]
        for each in nest_fields(nested):
            if not field_of(each):
                yield from self._of_item(each, below)

    def _announced(self, item: MinutesItem, text: str, place: Place) -> Place | None:
        """The place of the nested items where an item is no more than their heading."""
        if not item.nested or CHECKBOX_RE.match(text):
            return None
        label, rest, _ = self._label(text)
        bare = text.rstrip("*_ ")
        if kind := cues.section_kind(text) or (label if rest.rstrip("*_ ").endswith(":") else ""):
            return place._replace(section=kind)
        strict = bool(self.names) or not bare.endswith(":")
        group = parse_people(bare.rstrip(":*_ "), self.names, strict)
        return place._replace(owner=group) if group and place.section == ACTION else None

    def _is_own(self, item: MinutesItem, *, in_action: bool = True) -> bool:
        """True if an item nested in an outcome is one of its own, and no detail."""
        text = item.text()
        if cues.LABEL_RE.match(text):
            return True
        lead = parse_people(text.partition(":")[0], self.names, strict=True) if ":" in text else ""
        is_task = CHECKBOX_RE.match(text) or lead or self.speech.promise(text)
        return in_action and bool(is_task)

    # -- texts

    def _of_text(
        self,
        text: str,
        line: int,
        place: Place,
        nested: Sequence[MinutesItem] = (),
        *,
        is_item: bool = False,
    ) -> Iterator[Outcome]:
        """The outcomes of an item's or a paragraph's own text."""
        box = CHECKBOX_RE.match(text)
        done = bool(box and box[1] != " ")
        text = text[box.end() :] if box else text
        if struck := _STRUCK_RE.fullmatch(text):
            text, done = struck[1], True
        arrow = ARROW_RE.match(text)
        text = text[arrow.end() :] if arrow else text
        if finished := _DONE_LABEL_RE.match(text):
            yield from self._action(text[finished.end() :], line, done=True)
            return
        kind, rest, said = self._label(text)
        given = (
            None
            if kind in (DECISION, QUESTION, CONTEXT)
            else assigned.given_task(rest, self.speech, self.date)
        )
        if box and not kind:
            if not self._is_task(rest, place.section, done):
                return
            kind = ACTION
        elif not kind:
            kind = self._kind_of(rest, place.section, is_item=is_item, is_given=bool(given))
        fields = dict(filter(None, map(field_of, nested)))
        plain = (one for one in nested if not field_of(one) and not self._is_own(one))
        details = [part for one in plain for part in iter_texts(one)]
        due = find_due(fields.get("due", ""), self.date, is_cell=True)
        owner = said or self._people_in_field(fields.get("owner", "")) or place.owner
        if kind == ACTION:
            if given:
                rest, owner, due = given[0], said or given[1], due or given[2]
            rest, later = self._split_promises(rest)
            yield from self._action(rest, line, details, owner=owner, due=due, done=done)
            for clause in later:
                yield from self._action(clause, line, done=done)
        elif kind == DECISION:
            yield from self._decision(rest, line, place.topic, details)
        elif kind in (QUESTION, CONTEXT):
            yield from _noted(rest, line, kind)
        elif arrow and (lead := self.speech.leading_people(rest)):
            after = rest[lead.end :].lstrip("*_")
            task = after.lstrip(" :*_") if after.startswith(":") else rest
            yield from self._promised(task, lead.names, line)
        elif place.section == MIXED and any(parse_task([rest], self.names)[1:]):
            yield from self._action(rest, line, details, owner=owner)
        elif place.section not in (ATTENDEES, ABSENT):
            yield from self._of_sentences(text, line, place.topic, place.owner)
            if not cues.section_kind(parse_field(text)[0]):
                self._above = text

    def _kind_of(self, text: str, section: str, *, is_item: bool, is_given: bool) -> str:
        """What an unmarked text is, where its section or its form tells."""
        if is_item and section in (ACTION, DECISION, QUESTION, CONTEXT):
            return section
        if is_given and section not in (ATTENDEES, ABSENT):
            return ACTION
        in_agenda = section == AGENDA
        is_order = (
            is_item and (in_agenda or not section) and self._is_order(text, in_agenda=in_agenda)
        )
        return ACTION if is_order else ""

    def _is_order(self, text: str, *, in_agenda: bool) -> bool:
        """True of `Enviar un correo`, and of `Send the invites (Ana)`."""
        named = _TRAILING_NAME_RE.search(text)
        is_given = bool(named and parse_people(named[1], self.names, strict=True))
        if self.speech.is_infinitive_order(text):
            return is_given or not in_agenda
        task = text[: named.start()].rstrip() if named else text
        return is_given and self.speech.is_task(task, has_due=False)

    def _split_promises(self, text: str) -> tuple[str, list[str]]:
        """A task, and what other people promise in its later sentences."""
        parts = text.split("; ")  # `book it (Ana); call Ben (Cleo)`
        if all(assigned.take_brackets(part, self.names, "")[1] for part in parts):
            return parts[0], parts[1:]
        clauses = list(self.speech.clauses(text))
        later = [clause for clause in clauses[1:] if self.speech.promise(clause)]
        first = text[: text.find(later[0])].rstrip() if later else ""
        return (first, later) if first.endswith((".", "!", ";")) else (text, [])

    def _label(self, text: str) -> tuple[str, str, str]:
        """The kind that a label announces, the text after it, and the people it names."""
        named = _NAMED_LABEL_RE.match(text)
        if named and (said := parse_people(named["owner"], self.names)):
            return ACTION, text[named.end() :], said
        label = cues.LABEL_RE.match(text)
        if not label:
            return self._key(text)
        kind = next(kind for kind in (ACTION, DECISION, QUESTION, CONTEXT) if label[kind])
        return kind, text[label.end() :], parse_people(label["owner"] or "", self.names)

    def _key(self, text: str) -> tuple[str, str, str]:
        """The same, where the words of a heading stand before a colon: `**Entscheidungen:** ...`"""
        key, rest = parse_field(text)
        kind = cues.section_kind(key) if rest else ""
        is_sentence = any(key.partition(" ")[0] in words for words in cues.STOP_WORDS.values())
        if is_sentence or kind not in (ACTION, DECISION, QUESTION, CONTEXT):
            if not (last := _LAST_LABEL_RE.search(text, max(4, len(text) - _MAX_LAST_LABEL))):
                return "", text, ""
            kind = ACTION if last["action"] else DECISION
            return kind, text[: last.start()] + (last["more"] or ""), last["owner"] or ""
        return kind, rest, ""

    def _is_task(self, text: str, section: str, done: bool) -> bool:
        """Whether what follows a check box is a task, and no topic that was ticked off."""
        if section in (ACTION, MIXED, ATTENDEES, ABSENT):
            return section in (ACTION, MIXED)
        due = find_due(text, self.date)
        if section != AGENDA and not done:
            return bool(due) or not text.rstrip().endswith("?")
        bare = _LEADING_BRACKETS_RE.sub("", text) if section == AGENDA else text
        if section != AGENDA and (due or self.speech.is_order(bare)):
            return True
        return any(parse_task([bare], self.names)[1:]) or bool(due and not done)

    def _action(
        self,
        text: str,
        line: int,
        details: Sequence[str] = (),
        *,
        owner: str = "",
        due: str = "",
        done: bool = False,
    ) -> Iterator[Outcome]:
        """The task in a text. Its owner is `owner` if the text names nobody."""
        if nobody := cues.NOBODY_RE.match(text.strip(" *_(")):
            who, _, text = text.partition(":")  # `Nobody: clean up` is for whoever will
            if not text.strip() or nobody.end() < len(who.strip(" *_(")):
                return
        said = ""
        if everyone := _FOREVERYONE_RE.match(text):
            said, text = everyone[1], text[everyone.end() :]
        elif lead := _LEADING_BRACKETS_RE.match(text):
            said = parse_people(lead[1], self.names)
            text = text[lead.end() :] if said else text
        if text.startswith("@") and (promise := self.speech.promise(text)):
            text, said = promise.text, said or promise.owner
        about, _, last = text.rpartition(": ")  # `Music: Ana`
        is_field = "owner" in cues.column_kinds(about.rpartition(" ")[2].strip("[( :"))
        is_owner = not is_field and parse_people(last, self.names, strict=True)
        if is_owner and not parse_people(about, self.names, strict=True):
            text, said = about, said or last
        text, beside, day = assigned.take_brackets(text, self.names, self.date)
        said, due = said or beside, due or day
        task, named, marked = parse_task([text, *details], self.names)
        dues = (find_due(each, self.date) for each in (text, *details))
        due = due or marked or next(filter(None, dues), "")
        if not named and not said:
            task, named = assigned.trailing_owner(task, self.names, self.date)
        if not named and (promise := self.speech.promise(text)):
            task, named = promise.text, promise.owner
        if not (said or named or owner or task.startswith("`")):
            named = self._subject(task)
        owner = said or named or owner
        if sentences.is_question(task) and not owner:
            yield from _noted(task, line)
        elif any(char.isalnum() for char in task) and not parse_people(task, self.names, True):
            yield ActionItem(tidy_task_text(task), owner, due or self._due, done, line)

    def _subject(self, task: str) -> str:
        """Who begins a task: an attendee, or somebody with two names before a verb."""
        if begins_with := self.speech.leading_people(task):
            return begins_with.names
        stranger = self.speech.leading_people(task, strict=False)
        if not stranger:
            return ""
        rest = task[stranger.end :]
        is_order = " " in stranger.names and self.speech.is_order(rest.lstrip())
        return stranger.names if is_order or sentences.TASK_VERB_RE.match(rest) else ""

    def _decision(
        self, text: str, line: int, topic: str, details: Sequence[str] = ()
    ) -> Iterator[Outcome]:
        whole, reasons = text, list[str]()
        because = _REASON_RE.search(text)
        if because and because.start():
            text, reasons = text[: because.start()], [text[because.end() :]]
        text = tidy_task_text(text)
        if not text:
            for each in details:
                yield from self._decision(each, line, topic)
        if not text or text.casefold() in NO_TASK_WORDS or sentences.is_question(whole):
            return
        if _NO_DECISION_RE.fullmatch(text):
            return
        for each in details:
            because = _REASON_RE.match(each)
            reasons.append(each[because.end() :] if because else each)
        reason = "; ".join(filter(None, map(tidy_task_text, reasons)))
        if _is_bare_vote(text):
            is_told = sentences.is_decision(self._above)  # just before it
            topics = (self._motion, *(() if is_told else (topic, self._above)))
            text = next((_with_topic(text, one) for one in topics if self._is_topic(one)), "")
        if text:
            yield DecisionItem(text, reason, line)
        self._motion = ""
        for clause in self.speech.clauses(whole):
            if promise := self.speech.promise(clause):
                yield from self._promised(*promise, line)

    def _is_topic(self, text: str) -> bool:
        """Whether something can be voted on: no title of the minutes, no `Decisions`, no vote."""
        kind = cues.section_kind(text) or cues.section_kind(parse_field(text)[0])
        is_heading = text in (self._title, "") or bool(kind)
        return not is_heading and not _is_bare_vote(text)

    def _promised(self, text: str, owner: str, line: int, due: str = "") -> Iterator[ActionItem]:
        due = due or find_due(text, self.date)
        is_cut = due and not text.startswith("@")
        task = tidy_task_text(parse_task([text], frozenset())[0] if is_cut else text)
        if task:
            yield ActionItem(task, owner, due, False, line)

    def _of_sentences(self, text: str, line: int, topic: str, who: str) -> Iterator[Outcome]:
        before, speaker, last = "", who, ""
        for clause in self.speech.clauses(text):
            kind, rest, _ = self._label(clause)
            if _MOTION_RE.search(clause) and not _SECONDED_RE.match(clause):
                self._motion = clause
            promise = self.speech.promise(clause, before)
            promise = promise or self.speech.own_promise(clause, speaker)
            lead = self.speech.leading_people(clause)
            said = clause[lead.end :] if lead else clause
            who = lead.names if lead else speaker
            asked, last = last or self._above, clause
            if asked and who and sentences.takes_it_on(said):
                asked = _REQUEST_RE.sub("", _SPEAKER_RE.sub("", asked, count=1)).rstrip(" ?")
                yield from self._promised(asked, who, line, find_due(said, self.date))
            elif rest and kind in (ACTION, DECISION):
                yield from self._of_text(clause, line, Place(topic=topic))
            elif promise and not sentences.says_decided(clause):
                yield from self._promised(*promise, line)
            elif sentences.is_decision(clause) and not (self._intro and clause.endswith(":")):
                plain = _BOLD_LABEL_RE.sub(lambda label: f"{label[0].strip('*_: ')}: ", clause)
                if asked and _VAGUE_MOTION_RE.search(plain):
                    plain = _with_topic(plain, asked)
                yield from self._decision(plain, line, topic)
            elif task := self.speech.named_task(clause, has_due=bool(find_due(clause, self.date))):
                yield from self._promised(*task, line)
            elif self.speech.is_obligation(clause):
                yield from self._action(clause, line)
            if lead and said.lstrip("*_ ").startswith(":"):
                speaker = lead.names
            before = f"{before} {clause}"[-300:]

    def _people_in_field(self, text: str) -> str:
        """Who a cell or field of owners names: people, else what its few words say."""
        said = assigned.LINK_RE.sub(r"\1", text).strip(" *_`")
        plain = said.casefold().replace(".", "")
        is_short = len(said.split()) <= _MAX_OWNER_WORDS and plain not in NO_TASK_WORDS
        is_name = is_short and said[:1].isalpha() and not cues.NOBODY_RE.match(said)
        return parse_people(said, self.names) or (said if is_name else "")

    # -- tables

    def _of_table(self, rows: list[tuple[list[str], int]], section: str) -> Iterator[Outcome]:
        header = rows[0][0]
        columns = cues.table_columns(header)
        if section in (ACTION, DECISION) and not {ACTION, DECISION} & columns.keys():
            unknown = (
                at
                for at, cell in enumerate(header)
                if at not in columns.values() and not _NUMBER_HEADER_RE.fullmatch(cell)
            )
            columns[section] = next(unknown, 0)
        elif section == DECISION and DECISION not in columns:
            columns[DECISION] = columns.pop(ACTION)
        elif section == AGENDA and "owner" not in columns:
            columns.pop(ACTION, None)  # `Inform`, `Discuss`
        for cells, line in rows[1:]:
            row = {kind: cells[at] for kind, at in columns.items() if at < len(cells)}
            kind = cues.section_kind(row.get("kind", ""))
            if kind in (ACTION, DECISION) and not {ACTION, DECISION} & columns.keys():
                text = next((cell for cell in cells if not _NUMBER_RE.fullmatch(cell)), "")
                yield from self._of_text(text, line, Place(kind), is_item=True)
                continue
            if row.get(DECISION):
                about, why = row.get("topic", ""), [row.get("reason", "")]
                yield from self._decision(row[DECISION], line, about, why)
            for text in re.split(r"<br ?/?>", row.get(ACTION, "")):
                yield from self._of_row(text.strip(" -•*"), row, line)
            if not {ACTION, DECISION} & columns.keys() and section not in (ATTENDEES, ABSENT):
                for cell in cells:
                    yield from self._of_sentences(cell, line, "", "")

    def _of_row(self, text: str, row: dict[str, str], line: int) -> Iterator[Outcome]:
        owner = self._people_in_field(row.get("owner", ""))
        due = find_due(row.get("due", ""), self.date, is_cell=True)
        done = bool(_DONE_CELL_RE.match(row.get("status", "")))
        for one in self._action(text, line, owner=owner, due=due, done=done):
            yield one._replace(owner=owner) if owner and isinstance(one, ActionItem) else one


def _noted(text: str, line: int, kind: str = QUESTION) -> Iterator[Outcome]:
    """A question that is open, or what to know."""
    text = tidy_task_text(text)
    if text and text.casefold() not in NO_TASK_WORDS and not cues.NOBODY_RE.match(text):
        yield NotedItem(text, line, kind=kind)


def _is_bare_vote(text: str) -> bool:
    """True of `yes` and `6/0/1 carried`, which say how a vote went and not on what."""
    words = _LETTERS_RE.findall(text.casefold())
    return len(words) <= _MAX_VOTE_WORDS and _VOTE_WORDS.issuperset(words)


def _with_topic(text: str, topic: str) -> str:
    """How a vote went with what it is about before it."""
    topic = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", _LEADING_BRACKETS_RE.sub("", topic))
    topic = re.sub(r"^(?:TOP[ ])?[\d.)]+:?[ ]", "", CHECKBOX_RE.sub("", topic).strip(" :#*_"))
    topic = _MOVER_RE.sub("", re.split(r"(?<=[.?!])[ ]", topic)[0], count=1)
    return f"{tidy_task_text(topic)}: {text}" if topic else text
