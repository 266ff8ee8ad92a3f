"""What came of a meeting: the decisions, actions and open questions that its minutes tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from cortex.core.minutes import sentences
from cortex.core.minutes.blocks import Block, MinutesItem, NumberedLines
from cortex.core.minutes.cues import (
    ABSENT,
    ACTION,
    AGENDA,
    ATTENDEES,
    DECISION,
    DONE_CELL_RE,
    IMPERATIVES,
    MIXED,
    NOBODY_RE,
    QUESTION,
    section_kind,
    table_columns,
)
from cortex.core.minutes.dates import find_due, first_date, is_date_only
from cortex.core.minutes.sentences import Speech
from cortex.core.minutes.task_parser import (
    CHECKBOX_RE,
    LABEL_RE,
    NAMED_LABEL_RE,
    NO_TASK_WORDS,
    NameSet,
    parse_people,
    parse_task,
    tidy_task_text,
)


class ActionItem(NamedTuple):
    """A task somebody took on. `due` is "YYYY-MM-DD" or "", `line` counts from 1."""

    text: str
    owner: str
    due: str
    done: bool
    line: int


class DecisionItem(NamedTuple):
    """What was agreed, and why if the minutes say so. `line` counts from 1."""

    text: str
    reason: str
    line: int


class QuestionItem(NamedTuple):
    """A question that stayed open. `line` counts from 1."""

    text: str
    line: int


Outcome = ActionItem | DecisionItem | QuestionItem

_REASON_RE = re.compile(
    r"(?i)(?:[,;]?[ ]|[ ][(–—-][ ]?)(?:because(?: of)?|weil|parce que|porque|since(?! (?:\d"
    r"|then\b|last\b)))[ ]"
    r"|(?:^|[ (])[*_]{0,3}(?:reason|rationale|grund|raison|motivo)[*_]{0,3}[ ]?:[*_]{0,3}[ ]"
)
_ARROW_RE = re.compile(r"(?:\U0001f449|➡\ufe0f?|[-=]?[→⇒►▶]|[-=]>)[ ]{0,3}")
_LINK_ONLY_RE = re.compile(r"[\W_]*(?:\[[^\[\]]*\]\([^()]*\)|https?://\S+)[\W_]*$")
_BOLD_LABEL_RE = re.compile(r"[*_]{2,3}[^*_\n]{2,40}:?[*_]{2,3}:?[ ]+")
_LEADING_BRACKETS_RE = re.compile(r"[*_]{0,2}[(\[]([^()\[\]]{1,40})[)\]][*_]{0,2}[ ]?:?[ ]+")
_TRAILING_OWNER_RE = re.compile(r"(?:[ ](?:[–—-]|->)|[ ]?[→:])[ ]?([^–—:→\n]{1,60}?)[ .]*$")
_FULL_NAME_RE = re.compile(
    r"[^\W\d_a-z][\w'’.-]+(?:[ ](?:[^\W\d_a-z][\w'’.-]*|v[ao]n|de[rlns]?|d[aiou]s?|la)){1,3}"
)
_CONTINUES_RE = re.compile(
    r"(?:and|or|und|oder|et|ou|y|o|e|en|with|mit|for|für|because|weil|since|to)\b"
)
_BEGINS_RE = re.compile(
    rf"{_ARROW_RE.pattern}|\[[ xX-]\][ ]|@?\w[\w.-]*(?:[ ]\w+)?:[ ]|@\w|[?!+][ ]"
)
_MIN_WRAPPED_CHARS = 55  # of a line that goes on in the next
_MAX_TOPIC_CHARS = 120
_MAX_SPEECHES = 6  # in minutes that are no transcript
_DEICTIC_RE = re.compile(
    r"(?i)\b(?:this|that|it|these|them|dies\w*|das|es|cela|ça|esto|questo|isso|dit|dat)\b"
)
_DONE_LABEL_RE = re.compile(
    r"(?i)[*_]{0,2}(?:done|erledigt|fait|hecho|fatto|feito|gedaan)[*_]{0,2}:[*_]{0,2}[ ]+"
)
_POLAR_RE = re.compile(
    r"(?i)(?:yes|no|ok(?:ay)?|approved|agreed|accepted|adopted|rejected|passed|carried|unanimous(?:ly)?|ja|nein|angenommen"
    r"|abgelehnt|einstimmig|oui|non|adoptée?|approuvée?|sí|aprobad[oa]|sì|approvat[oa]|sim|aprovad[oa]|akkoord)\b[\w ]{0,12}$"
)


class OutcomeReader:
    """Reads outcomes from blocks. `names` are the attendees', `date` that of the meeting."""

    def __init__(self, names: NameSet, date: str, language: str) -> None:
        self.speech = Speech(names, language)
        self.names = names
        self.date = date
        self._sections: list[tuple[int, str, str]] = [(0, "", "")]  # level, kind, heading
        self._owner = ""  # of the items below a heading that is a name
        self._is_transcript = False  # many lines of `Ana: what she said`

    def read(self, blocks: list[Block]) -> list[Outcome]:
        """The outcomes in their order, each once."""
        self._is_transcript = self._count_speeches(blocks) > _MAX_SPEECHES
        outcomes: dict[tuple[str, str, str], Outcome] = {}
        for block in blocks:
            for outcome in self._of_block(block):
                # The same words about `this` mean something else elsewhere.
                about = str(outcome.line) if _DEICTIC_RE.search(outcome.text) else ""
                key = type(outcome).__name__, outcome.text.casefold(), about
                if key not in outcomes:
                    outcomes[key] = outcome
        return list(outcomes.values())

    def _count_speeches(self, blocks: list[Block]) -> int:
        """How many items and lines begin with an attendee and a colon."""
        lines = [line for block in blocks for line, _ in block.lines]
        waiting = [item for block in blocks for item in block.items]
        while waiting:
            item = waiting.pop()
            lines += [line for line, _ in item.lines]
            waiting += item.nested
        heads = (line.partition(":")[0] for line in lines if ":" in line[:40])
        return sum(bool(parse_people(head, self.names, strict=True)) for head in heads)

    def _of_block(self, block: Block) -> Iterator[Outcome]:
        kind, topic = self._sections[-1][1:]
        if block.rows:
            yield from self._of_table(block.rows, kind)
        for item in block.items:
            yield from self._of_item(item, kind, self._owner, topic)
        if block.level:
            yield from self._of_heading(block)
        elif block.lines:
            for text, line in self._units(block.lines):
                yield from self._of_text(text, line, kind, topic, is_item=False)

    def _of_heading(self, block: Block) -> Iterator[Outcome]:
        line = block.lines[-1][0]
        self._owner = parse_people(line.rstrip(":*_ "), self.names, strict=True)
        level = self._sections[-1][0]
        if not (self._owner and (block.level == 6 or block.level > level)):
            while self._sections[-1][0] >= block.level:
                self._sections.pop()
            kind = section_kind(line) or self._sections[-1][1]
            if kind in (ATTENDEES, ABSENT) and not section_kind(line):
                kind = ""
            self._sections.append((block.level, kind, line))
        if block.level <= 2 and (day := first_date(line)):
            self.date = day  # of the next meeting in the file
        for text, number in self._units(block.lines):
            if LABEL_RE.match(text) or NAMED_LABEL_RE.match(text):
                yield from self._of_text(text, number, "", "", is_item=False)

    def _units(self, lines: NumberedLines) -> Iterator[tuple[str, int]]:
        """The lines of a paragraph, each with the lines in which it goes on."""
        at = 0
        while at < len(lines):
            text, line = lines[at][0].strip(), lines[at][1]
            last = text
            at += 1
            while at < len(lines):
                more = lines[at][0]
                begins = _BEGINS_RE.match(more) or LABEL_RE.match(more.strip())
                indented = more[:1] in (" ", "\t") or _CONTINUES_RE.match(more)
                wrapped = len(last) >= _MIN_WRAPPED_CHARS and (
                    more[:1].islower() or last[-1:] not in ".!?:;"
                )
                if begins or not (indented or wrapped):
                    break
                last = more.strip()
                text = f"{text} {last}"
                at += 1
            yield text, line

    # -- lists

    def _of_item(
        self, item: MinutesItem, section: str, owner: str, topic: str
    ) -> Iterator[Outcome]:
        """The outcomes of an item and of those nested in it."""
        units = list(self._units(item.lines))
        first = units[0] if units else ("", 0)
        text = first[0]
        nested = item.nested
        bare = text.rstrip("*_ ")
        if not text:
            for each in nested:
                yield from self._of_item(each, section, owner, topic)
            return
        if nested and not CHECKBOX_RE.match(text):
            label = self._label(text)
            kind = section_kind(text) or (label[0] if label[1].rstrip("*_ ").endswith(":") else "")
            if kind and len(units) <= 1:
                for each in nested:
                    yield from self._of_item(each, kind, owner, topic)
                return
            strict = bool(self.names) or not bare.endswith(":")
            if section == ACTION and (
                group := parse_people(bare.rstrip(":*_ "), self.names, strict)
            ):
                for each in nested:
                    yield from self._of_item(each, section, group, topic)
                return
        found = list(
            self._of_text(text, first[1], section, topic, is_item=True, owner=owner, nested=nested)
        )
        yield from found
        for more, line in units[1:]:
            yield from self._of_text(more, line, section, topic, is_item=True, owner=owner)
        kept = {ACTION: False, DECISION: False}
        for outcome in found:
            kept[ACTION] |= isinstance(outcome, ActionItem)
            kept[DECISION] |= isinstance(outcome, DecisionItem)
        holds_details = found and (section in (ACTION, DECISION) or self._is_marked(text))
        for each in nested:
            if holds_details and not self._is_own(each, kept[ACTION]):
                continue
            yield from self._of_item(each, section, owner, text or topic)

    def _is_marked(self, text: str) -> bool:
        return bool(CHECKBOX_RE.match(text) or LABEL_RE.match(text))

    def _is_own(self, item: MinutesItem, in_action: bool) -> bool:
        """True if an item nested in an outcome is one of its own, and no detail."""
        text = item.text()
        if LABEL_RE.match(text) or (in_action and CHECKBOX_RE.match(text)):
            return True
        lead = parse_people(text.partition(":")[0], self.names, strict=True) if ":" in text else ""
        return in_action and bool(lead or self.speech.promise(text) or self._trailing_people(text))

    def _trailing_people(self, text: str) -> str:
        last = re.search(r"\(([^()]{1,40})\)[ .]*$", text)
        return parse_people(last[1], self.names, strict=True) if last else ""

    # -- texts

    def _of_text(
        self,
        text: str,
        line: int,
        section: str,
        topic: str,
        *,
        is_item: bool,
        owner: str = "",
        nested: list[MinutesItem] | None = None,
    ) -> Iterator[Outcome]:
        """The outcomes of an item's or a paragraph's own text."""
        box = CHECKBOX_RE.match(text)
        done = bool(box and box[1] != " ")
        text = text[box.end() :] if box else text
        arrow = _ARROW_RE.match(text)
        text = text[arrow.end() :] if arrow else text
        if finished := _DONE_LABEL_RE.match(text):
            yield from self._action(text[finished.end() :], [], owner, True, line)
            return
        kind, rest, said = self._label(text)
        owner = said or owner
        if not kind and not box and is_item:
            kind = section if section in (ACTION, DECISION, QUESTION) else ""
        details = [each for each in nested or [] if not self._is_own(each, True)]
        below = [part for each in details for part in _iter_texts(each)]
        if box and not kind:
            kind = ACTION if self._is_task(rest, section, done) else ""
            if not kind:
                return
        if kind == ACTION:
            yield from self._action(rest, below, owner, done, line)
        elif kind == DECISION:
            below = [part for each in nested or [] for part in _iter_texts(each)]
            yield from self._decision(rest, below, topic, line)
        elif kind == QUESTION:
            yield from _question(rest, line)
        elif arrow and (lead := self.speech.leading_people(rest)):
            task = rest[lead.end :].lstrip(" :*_")
            is_finite = rest[lead.end :].lstrip("*_")[:1] != ":"
            yield from self._made(rest if is_finite else task, lead.names, line)
        elif section == MIXED and any(parse_task([rest], self.names)[1:]):
            yield from self._action(rest, below, owner, done, line)
        else:
            yield from self._of_sentences(text, line, topic, section)

    def _label(self, text: str) -> tuple[str, str, str]:
        """The kind that a label announces, the text after it, and the people it names."""
        named = NAMED_LABEL_RE.match(text)
        if named and (said := parse_people(named["owner"], self.names)):
            return ACTION, text[named.end() :], said
        label = LABEL_RE.match(text)
        if not label:
            return "", text, ""
        kind = ACTION if label["action"] else DECISION if label["decision"] else QUESTION
        return kind, text[label.end() :], parse_people(label["owner"] or "", self.names)

    def _is_task(self, text: str, section: str, done: bool) -> bool:
        """Whether what follows a check box is a task, and no topic that was ticked off."""
        if section in (ACTION, MIXED):
            return True
        if _LINK_ONLY_RE.match(text):
            return False
        bare = _LEADING_BRACKETS_RE.sub("", text) if section == AGENDA else text
        due = find_due(text, self.date)
        words = re.findall(r"[^\W\d_]+", bare)
        orders = bool(words) and words[0].casefold() in IMPERATIVES
        if section == AGENDA or done:
            _, owner, marked = parse_task([bare], self.names)
            is_due = due and not (done and section == AGENDA)
            return bool(is_due or marked or owner or (orders and section != AGENDA))
        return not text.rstrip().endswith("?") or bool(due)

    def _action(
        self, text: str, below: list[str], owner: str, done: bool, line: int
    ) -> Iterator[Outcome]:
        if NOBODY_RE.match(text.strip(" *_(")):
            return
        said = ""
        if lead := _LEADING_BRACKETS_RE.match(text):
            said = parse_people(lead[1], self.names)
            text = text[lead.end() :] if said else text
        whole = text
        task, found, due = parse_task([text, *below], self.names)
        due = (
            due
            or find_due(text, self.date)
            or next(filter(None, (find_due(each, self.date) for each in below)), "")
        )
        if not found and not said:
            task, found = self._trailing_owner(task)
        if not found and (promise := self.speech.promise(whole)):
            task, found = promise.text, promise.owner
        if sentences.is_question(task) and not (found or said or owner):
            yield from _question(task, line)
        elif any(char.isalnum() for char in task):
            yield ActionItem(tidy_task_text(task), said or found or owner, due, done, line)

    def _trailing_owner(self, text: str) -> tuple[str, str]:
        """The people who end a task: `book the room – Ana`, `book it: Ana, Friday`."""
        rest, due_part = text, ""
        for _ in range(2):
            match = _TRAILING_OWNER_RE.search(rest)
            if not match or not match.start():
                break
            people, _, more = match[1].partition(",")
            who = parse_people(match[1], self.names, strict=bool(self.names)) or (
                parse_people(people, self.names, strict=bool(self.names))
                if is_date_only(more, self.date or "2000-01-01")
                else ""
            )
            if who:
                return f"{rest[: match.start()]}{due_part}", who
            if not is_date_only(match[1], self.date or "2000-01-01"):
                break
            rest, due_part = rest[: match.start()], rest[match.start() :]
        return text, ""

    def _decision(self, text: str, below: list[str], topic: str, line: int) -> Iterator[Outcome]:
        reasons = []
        said = text
        because = _REASON_RE.search(text)
        if because and because.start():
            text, reasons = text[: because.start()], [text[because.end() :]]
        if not tidy_task_text(text) and below:
            for each in below:
                yield from self._decision(each, [], topic, line)
            return
        for each in below:
            because = _REASON_RE.match(each)
            reasons.append(each[because.end() :] if because else each)
        text = tidy_task_text(text)
        if not text or text.casefold() in NO_TASK_WORDS or sentences.is_question(said):
            return
        if re.fullmatch(r"(?i)\W*no objections\W*", text) or (
            NOBODY_RE.match(text) and len(text.split()) <= 4
        ):
            return
        reason = "; ".join(filter(None, map(tidy_task_text, reasons)))
        yield DecisionItem(_with_topic(text, topic), reason, line)
        if promise := self.speech.promise(said):
            yield from self._made(promise.text, promise.owner, line)

    def _made(self, text: str, owner: str, line: int) -> Iterator[ActionItem]:
        due = find_due(text, self.date)
        task = tidy_task_text(parse_task([text], frozenset())[0] if due else text)
        if task:
            yield ActionItem(task, owner, due, False, line)

    def _of_sentences(self, text: str, line: int, topic: str, section: str) -> Iterator[Outcome]:
        if section in (ATTENDEES, ABSENT):
            return
        before = speaker = ""
        for clause in self.speech.clauses(text):
            label = LABEL_RE.match(clause)
            if label and label.end() < len(clause) and (label["action"] or label["decision"]):
                yield from self._of_text(clause, line, "", topic, is_item=False)
            elif promise := (
                self.speech.promise(clause, before) or self.speech.own_promise(clause, speaker)
            ):
                yield from self._made(promise.text, promise.owner, line)
            elif sentences.decides(clause):
                yield from self._decision(_BOLD_LABEL_RE.sub("", clause, count=1), [], topic, line)
            elif task := self._told_task(clause):
                yield task._replace(line=line)
            lead = self.speech.leading_people(clause)
            if lead and clause[lead.end :].lstrip("*_ ")[:1] == ":":
                speaker = lead.names
            before = f"{before} {clause}"[-300:]

    def _told_task(self, clause: str) -> ActionItem | None:
        """`Ana: ask the printer`, `Katrin erstellt die Liste bis Freitag`: a person and a task."""
        lead = self.speech.leading_people(clause)
        if not lead or clause.rstrip(" )").endswith("?"):
            return None
        rest = clause[lead.end :].lstrip("*_ ")
        due = find_due(rest, self.date)
        if rest.startswith(":"):
            rest = rest.strip(": *_")
            if not self._is_transcript and self.speech.is_order(rest, bool(due)):
                task, _, marked = parse_task([rest], self.names)
                return ActionItem(tidy_task_text(task), lead.names, marked or due, False, 0)
        elif due and self.speech.is_present(clause[lead.end :]):
            return ActionItem(tidy_task_text(clause), lead.names, due, False, 0)
        return None

    # -- tables

    def _of_table(self, rows: list[tuple[list[str], int]], section: str) -> Iterator[Outcome]:
        columns = table_columns(rows[0][0])
        task, decision = columns.get(ACTION), columns.get(DECISION)
        if task is None and section == ACTION:
            task = next((at for at in range(len(rows[0][0])) if at not in columns.values()), 0)
        if task is not None and decision is None and section == DECISION:
            task, decision = None, task
        for cells, line in rows[1:]:
            row = {kind: cells[at] for kind, at in columns.items() if at < len(cells)}
            if decision is not None and decision < len(cells) and cells[decision]:
                yield from self._decision(cells[decision], [row.get("reason", "")], "", line)
            if task is not None and task < len(cells):
                for text in re.split(r"<br ?/?>", cells[task]):
                    yield from self._row_action(text.strip(" -•*"), row, line)
            elif task is None and decision is None and section not in (ATTENDEES, ABSENT):
                for cell in cells:
                    yield from self._of_sentences(cell, line, "", section)

    def _row_action(self, text: str, row: dict[str, str], line: int) -> Iterator[Outcome]:
        is_done = bool(DONE_CELL_RE.match(row.get("status", "")))
        said = row.get("owner", "").strip(" *_")
        owner = parse_people(said, self.names)
        if not owner and _FULL_NAME_RE.fullmatch(said) and not NOBODY_RE.match(said):
            owner = said
        day = find_due(row.get("due", ""), self.date, is_cell=True)
        for outcome in self._action(text, [], owner, is_done, line):
            if day and isinstance(outcome, ActionItem):
                yield outcome._replace(due=day)
            else:
                yield outcome


def _iter_texts(item: MinutesItem) -> Iterator[str]:
    yield CHECKBOX_RE.sub("", item.text(), count=1)
    for each in item.nested:
        yield from _iter_texts(each)


def _question(text: str, line: int) -> Iterator[QuestionItem]:
    text = tidy_task_text(text)
    if text and text.casefold() not in NO_TASK_WORDS and not NOBODY_RE.match(text):
        yield QuestionItem(text, line)


def _with_topic(text: str, topic: str) -> str:
    """A decision of one or two words, such as `yes`, with what it is about before it."""
    if not topic or not _POLAR_RE.match(text) or section_kind(topic):
        return text
    topic = _LEADING_BRACKETS_RE.sub("", topic)
    topic = re.sub(r"!?\[([^\[\]]*)\]\([^()]*\)", r"\1", topic)
    topic = CHECKBOX_RE.sub("", topic).strip(" :#*_")
    topic = re.split(r"(?<=[.?!])[ ]", topic)[0]
    if len(topic) > _MAX_TOPIC_CHARS:
        topic = topic[:_MAX_TOPIC_CHARS].rpartition(" ")[0]
    return f"{tidy_task_text(topic)}: {text}" if topic else text
