"""Sentences that decide or promise something."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cortex.core.minutes.cues import IMPERATIVES, ORDERS, regex_of, words_of
from cortex.core.minutes.dates import without_due
from cortex.core.minutes.task_parser import NOT_NAMES, NameSet, parse_people
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

_SENTENCE_END_RE = lazy_re(
    r"(?<=[^(][.!?])[\"')\]*_]*[ ]+(?=[^\Wa-z_]|[@\"(\[*`])|(?:(?<![ ])[ ]+)?;[ ]+|<br ?/?>"
    r"|[ ][–-][ ](?=(?:action(?: item)?|AI|todo)\b)"
)
_ABBREVIATION_RE, _DECISION_CUE_RE = regex_of("abbreviation"), regex_of("decision cues")
_UNSETTLED_RE, _NOT_SETTLED_RE = regex_of("unsettled"), regex_of("not settled")
_INFINITIVE_RE = regex_of("infinitives")
_INFINITIVE_CUE_RE, _FUTURE_VERB_RE = regex_of("infinitive cues"), regex_of("future verbs")
_PRESENT_VERB_RE, _PRONOUN_CUE_RE = regex_of("present verbs"), regex_of("pronoun cues")
_REPORTED_PROMISE_RE, _NO_PROMISE_RE = regex_of("reported promises"), regex_of("no promises")
_FIRST_PERSON_CUE_RE, _SURE_CUE_RE = regex_of("first person cues"), regex_of("sure cues")
_OBLIGATION_RE, _NO_OBLIGATION_RE = regex_of("obligations"), regex_of("no obligation")
# Behind a name, a verb of a task, ` schreibt an Ana`; never of English.
TASK_VERB_RE, _DECIDED_THAT_RE = regex_of("task verbs"), regex_of("decided that")
_UNOWNED_RE, _NO_FUTURE_RE = regex_of("unowned"), regex_of("no future")
_GIVEN_BY_RE, _ECHO, _TAKES = regex_of("given by"), words_of("echo"), words_of("takes")
_VERB_RE = lazy_re(r"[*_]{0,3}[ ]([^\W\d_A-Z]{3,})[ ](?=\S+[ ]?\S)")
_REPORTS = words_of("reports")
_PRESENT_ENDINGS = {
    "de": ("t", "en", "ern", "eln"), "fr": ("e", "t", "d", "nt"), "es": ("a", "e", "an", "en"),
}  # fmt: skip
_ASIDE_RE = lazy_re(r"\(([^()]{12,200})\)")
_CONJUNCTION_RE = lazy_re(r",?[ ](?:and|so|und|et|y|e|en)[ ]|,[ ]|[ ](?:-+>|[→–—-])[ ]")
_TOKEN_RE = lazy_re(r"@?[^\W\d_][\w'’.-]*")
FULL_NAME_RE = lazy_re(
    r"[^\W\d_a-z][\w'’.-]+(?:(?:[ ](?:v[ao]n|de[rlns]?|d[aiou]s?|la)){0,2}[ ][^\W\d_a-z][\w'’.-]*){1,3}"
)
_LEAD_RE = lazy_re(r"[\s*_>\"'(\[]{0,6}")
_FIRST_WORD_RE = lazy_re(r"[*_\[\]` ]*+(@?\w*)")
_PAST_RE = lazy_re(r"[ ][a-zé]+(?:ed|te|ten|a|ó|é)[ ]")
_FOREIGN_INFINITIVE_RE = lazy_re(r"[^\W\d_A-Z]{3,}(?:ar|er|ir|re|are|ere|ire)\b")
_GERMAN_INFINITIVE_RE = lazy_re(
    r"[ ][^\W\d_A-Z]{3,}(?:en|ern|eln)[ .!]*(?:\([^()]*\)|[,–—-].{0,30}|bis.{0,30})?$"
)
_QUESTION_RE = lazy_re(r"\?[\s)*_\"']*(?:\([^()]{1,40}\)[ .]*)?$")
_AND_WILL_RE = lazy_re(r"\b(?:and|und|et|y)[ ](?:will|wird|va|va[ ]a)[ ](?!be\b|not\b)")
_GROUP_RE = lazy_re(
    r"(?i)(?:the[ ])?(?:(?:[\w-]+[ ]){0,3}(?:group|team|wg|committee|council|board)|candidates|editors"
    r"|secretary|treasurer|chair(?:person)?|president|facilitator|organi[sz]ers|everyone|everybody)"
    r"(?=[ ]to[ ])"
)
_FOREIGN_GROUP_RE = lazy_re(
    r"(?i)(?:la[ ]commission(?:[ ](?-i:[A-Z])\w+)?|le[ ](?:bureau|conseil|comité|c\.?a\.?)|l['’](?:équipe|association)"
    r"|la[ ](?:junta|comisión)|secretaría|tesorería|presidencia|el[ ](?:comité|equipo)|het[ ]bestuur|de[ ]\w*commissie"
    r"|der[ ](?:vorstand|vorsitzende|kassenwart)|die[ ](?:vorsitzende|kassenwartin))(?=[ ])"
)
_IT_WAS_RE = lazy_re(r"(?i)it[ ](?:was|has)")
_IMPERSONAL_RE = lazy_re(r"(?:il|on|nous|wir|es|hay|tenemos)[ ]")
_WORD_END_RE = lazy_re(r"\w\b(?!(?<=\W\w)['’])\.?")
_MAX_NAME_CHARS = 80
_MAX_LEAD_CHARS = 12  # of an outcome behind an arrow, before what tells that it is one
_MAX_ABBREVIATION = 12  # characters at the end of a sentence, of which the last word is looked at
_MAX_SENTENCE_CHARS = 2000  # of one that is looked through for a second promise


class People(NamedTuple):
    """The people who begin a text, and where the text goes on."""

    names: str
    end: int


class Promise(NamedTuple):
    """What somebody said they would do."""

    text: str
    owner: str


def is_decision(clause: str) -> bool:
    """Whether a clause tells what was decided in the meeting."""
    cue = _DECISION_CUE_RE.search(clause)
    if not cue or is_question(clause) or _NOT_SETTLED_RE.search(clause):
        return False
    before = clause[max(0, cue.start() - 80) : cue.start()]
    before = before.rpartition(", ")[2] if _IT_WAS_RE.match(cue[0]) else before
    return not _UNSETTLED_RE.search(before)


def says_decided(clause: str) -> bool:
    """True of `It was decided that Ana would ...`."""
    return bool(_DECIDED_THAT_RE.search(clause)) and is_decision(clause)


def is_question(text: str) -> bool:
    return bool(_QUESTION_RE.search(text))


def takes_it_on(text: str) -> bool:
    """True of `will do by Friday`, which takes on what was said before it and says no more."""
    words = set(re.findall(r"[^\W\d_]+", without_due(text).casefold()))
    return bool(words & _TAKES) and words <= _ECHO | _TAKES


class Speech:
    """Reads clauses, knowing the names of the attendees."""

    def __init__(self, names: NameSet, language: str) -> None:
        self.names = names
        self._first_words = {_first_word(name).casefold() for name in names}
        self.language = language
        self.is_transcript = False  # many lines of `Ana: what she said`

    def clauses(self, text: str) -> Iterator[str]:
        """Yield the sentences of a text. A sentence with two promises or outcomes is split in two."""
        start = 0
        ends = [*_SENTENCE_END_RE.finditer(text), None]
        for end in ends:
            stop = end.start() if end else len(text)
            if end and _ABBREVIATION_RE.search(text, max(start, stop - _MAX_ABBREVIATION), stop):
                continue
            yield from self._split(text[start:stop].strip())
            start = end.end() if end else stop

    def _split(self, sentence: str) -> Iterator[str]:
        """The parts of a sentence, split at conjunctions behind which a new outcome or promise
        begins; then the tasks in its parentheses."""
        start = 0
        matches = _CONJUNCTION_RE.finditer(sentence) if len(sentence) < _MAX_SENTENCE_CHARS else ()
        for match in matches:
            before = sentence[start : match.start()]
            rest = sentence[match.end() :]
            # `topic -> agreed to try it`, but not the steps of `A -> B`.
            cue = _DECISION_CUE_RE.search(rest[:30]) if match[0].endswith(("> ", "→ ")) else None
            is_outcome = cue is not None and cue.start() < _MAX_LEAD_CHARS and is_decision(rest)
            if is_outcome or self._begins_promise(rest):
                if self.leading_people(before, whole=True):
                    continue  # `Ana and Bob will`: one subject
                yield before
                start = match.end()
        if start < len(sentence):
            yield sentence[start:]
        for aside in _ASIDE_RE.findall(sentence):  # `the survey (Ana will write it)`
            if self.named_task(aside, has_due=False) or self._direct(aside):
                yield aside

    def _begins_promise(self, text: str) -> bool:
        is_told = self.language in ("de", "nl") and self.named_task(text, has_due=False)
        is_owed = _OBLIGATION_RE.match(text) and _IMPERSONAL_RE.match(text)
        return bool(is_told or is_owed or self._direct(text) or _PRONOUN_CUE_RE.match(text))

    def leading_people(
        self, text: str, *, whole: bool = False, strict: bool = True
    ) -> People | None:
        """The people with whose names a text begins, or of which the `whole` of it consists."""
        start = _LEAD_RE.match(text)
        at = start.end() if start else 0
        full = None if strict else FULL_NAME_RE.match(text, at)
        if full and full[0].split()[0].casefold() not in NOT_NAMES:
            return People(full[0], full.end())
        word = _first_word(text, at)
        looks = word[:1] == "@" or (not strict and word[:1].isupper())
        if not looks and word.casefold() not in self._first_words:
            return None
        ends = [word.end() for word in _WORD_END_RE.finditer(text, at, at + _MAX_NAME_CHARS)]
        for end in reversed(ends):
            if whole and text[end:].strip(" *_"):
                break
            if people := parse_people(text[at:end].strip("*_ "), self.names, strict):
                return People(people, end)
        return None

    def promise(self, clause: str, before: str = "") -> Promise | None:
        """What the clause promises, and who; `before` is what was said before, for pronouns."""
        if is_question(clause):
            return None
        if direct := self._direct(clause) or self._reported(clause):
            return direct
        if decided := _DECIDED_THAT_RE.search(clause):
            rest = clause[decided.end() :]
            rest = re.sub(r"^(.{2,60}?)[ ](?:would|should)[ ]", r"\1 will ", rest)
            if promise := self._direct(rest):
                return promise
        pronoun = _PRONOUN_CUE_RE.search(clause)
        head = clause[: pronoun.start()] if pronoun else ""
        if pronoun and (len(head) < 3 or head.rstrip()[-1:] in ",;" or head.endswith("so ")):
            who = self._last_person(f"{before} {head}")
            return Promise(clause[pronoun.end() :], who) if who else None
        return None

    def _reported(self, clause: str) -> Promise | None:
        """A promise that is reported (`Ana said she would ...`), or a task that is given in the
        passive voice."""
        if given := _GIVEN_BY_RE.search(clause):
            who = parse_people(given["owner"], self.names)
            return Promise(clause, who) if who else None
        reported = _REPORTED_PROMISE_RE.search(clause)
        words = _TOKEN_RE.findall(clause[: reported.start()]) if reported else []
        who = parse_people(words[-1], self.names) if words else ""
        return Promise(clause[reported.end() :], who) if reported and who else None

    def _direct(self, clause: str) -> Promise | None:
        """A promise whose subject begins the clause, or is named before a colon."""
        people = self.leading_people(clause)
        group = _GROUP_RE.match(clause)
        if not group and (foreign := _FOREIGN_GROUP_RE.match(clause)):
            people = People(foreign[0], foreign.end())
        lead = people or (People(group[0], group.end()) if group else None)
        lead = lead or self.leading_people(clause, strict=False)
        if not lead:
            return None
        rest = re.sub(r"^(?:[*_]{1,3}|-(?=[ ]))", "", clause[lead.end :])
        if people and (colon := re.match(r"[ ]?[:–—][*_]{0,3}[ ]+|[ ]-[ ]", rest)):
            return self.own_promise(rest[colon.end() :], lead.names)
        return self._promise_of(lead.names, rest, clause, is_known=bool(people))

    def _promise_of(self, owner: str, rest: str, clause: str, *, is_known: bool) -> Promise | None:
        """What the words behind the people who begin a clause promise."""
        cue = _INFINITIVE_CUE_RE.match(rest)
        if cue and cue.end() and not (self.language == "de" and _NO_FUTURE_RE.match(rest)):
            # Who is not among the attendees may be any word that begins a sentence.
            verb = re.match(r"[^\W\d_]+", rest[cue.end() :])
            is_task = is_known or (verb and verb[0] in IMPERATIVES) or _SURE_CUE_RE.match(rest)
            return _promised(rest[cue.end() :], owner, clause) if is_task else None
        more = _AND_WILL_RE.search(rest[:90])
        is_done = more and self.language == "de" and _NO_FUTURE_RE.match(rest, more.start() + 3)
        if more and not is_done and "." not in rest[: more.start()]:
            return Promise(rest[more.end() :], owner)
        if is_known and _FUTURE_VERB_RE.match(rest) and self.language in ("fr", "es", "it", "pt"):
            return Promise(clause, owner)
        return None

    def _last_person(self, text: str) -> str:
        words = (word for word in reversed(_TOKEN_RE.findall(text)) if word[0].isupper())
        people = (parse_people(word, self.names, strict=True) for word in words)
        return next(filter(None, people), "")

    def own_promise(self, clause: str, speaker: str) -> Promise | None:
        """What a speaker promises in a later sentence: `Will do`, `I'll ask`."""
        if not speaker:
            return None
        for start in (0, *(comma.end() for comma in re.finditer(r"[,–-][ ]", clause))):
            if cue := _FIRST_PERSON_CUE_RE.match(clause, start):
                texts = clause[: max(0, start - 2)], clause[cue.end() :]
                return _promised(": ".join(filter(None, texts)), speaker, clause)
        return None

    def named_task(self, clause: str, *, has_due: bool) -> Promise | None:
        """The task of a clause that begins with a person, else None: `Ana: ask the printer`, `Katrin
        erstellt die Liste bis Freitag`."""
        # Where nouns are not capitalized, a capital tells of a name.
        lead = self.leading_people(clause, strict=self.language not in ("es", "fr", "it", "pt"))
        if not lead or clause.rstrip(" )").endswith("?"):
            return None
        rest = clause[lead.end :].lstrip("*_ ")
        if rest.startswith(":") and not self.leading_people(clause):
            return None
        if rest.startswith(":"):
            rest = rest.strip(": *_")
            is_task = not self.is_transcript and self.is_task(rest, has_due=has_due)
            return Promise(rest, lead.names) if is_task else None
        if clause.rstrip().endswith(":"):
            return None
        is_present = (has_due and _PRESENT_VERB_RE.match(clause[lead.end :])) or (
            not self.is_transcript
            and (TASK_VERB_RE.match(clause[lead.end :]) or self._tells_task(clause))
        )
        return Promise(clause, lead.names) if is_present else None

    def _tells_task(self, clause: str) -> bool:
        """True of an attendee and any verb of the present tense but those of a report: `Ana mietet
        den Saal`, and not `Ana berichtet`; never for English, which reports in that tense."""
        lead = self.leading_people(clause)
        verb = _VERB_RE.match(clause, lead.end) if lead and self.language != "en" else None
        ending = _PRESENT_ENDINGS.get(self.language, ())
        return bool(verb and verb[1] not in _REPORTS and verb[1].endswith(ending))

    def is_task(self, text: str, *, has_due: bool) -> bool:
        """True if the text after `Ana:` is a task, and not something that Ana said."""
        if self.is_order(text):
            return True
        if self.language == "en":
            return has_due and not _PAST_RE.search(f" {text} ")
        if self.language in ("de", "nl"):
            return has_due or bool(_GERMAN_INFINITIVE_RE.search(text))
        return has_due or bool(_FOREIGN_INFINITIVE_RE.match(text))

    def is_obligation(self, clause: str) -> bool:
        """True if the clause says what must be done and names nobody: `Need to book a room`."""
        if self.is_transcript or is_question(clause):
            return False
        if self.language == "en":
            verb = _UNOWNED_RE.match(clause)
            return verb is not None and verb["verb"].casefold() in IMPERATIVES
        return bool(_OBLIGATION_RE.search(clause)) and not _NO_OBLIGATION_RE.search(clause)

    def is_infinitive_order(self, text: str) -> bool:
        """Whether three words or more are an order like `den Saal buchen`, not in English."""
        words = re.sub(r"[ ]*[(][^()]*[)]", "", text).strip(" .!").split()
        if self.language == "de" and len(words) > 2:
            return words[-1] in ORDERS and words[-2] != "zu" and _REPORTS.isdisjoint(words)
        is_order = (words[:1] and words[0].casefold() in ORDERS) or _INFINITIVE_RE.match(text)
        return len(words) > 2 and bool(is_order) and self.language not in ("de", "en")

    def is_order(self, text: str) -> bool:
        word = re.match(r"[^\W\d_]+", text)
        return bool(word and word[0].casefold() in IMPERATIVES)


def _first_word(text: str, at: int = 0) -> str:
    found = _FIRST_WORD_RE.match(text, at)
    return found[1] if found else ""


def _promised(text: str, owner: str, whole: str) -> Promise | None:
    if _NO_PROMISE_RE.match(text):
        return None
    says_nothing = len(text.split()) < 2 or text[0] in ",."
    return Promise(whole if says_nothing else text, owner)
