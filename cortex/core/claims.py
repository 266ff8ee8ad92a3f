"""What a record claims that files and git can contradict: that a file, folder or branch is there, that a package is used or is not.

A claim that is missed costs a mark; a claim that nobody made costs trust in all marks. So whatever is said in doubt
(an example, a rejected way, something that was moved or taken away) claims nothing. Words are compared one by one:
a pattern for each way to say it would take longer to compile than the records to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cortex.core.text.value import NamedTuple

MOST_FILES, MOST_PACKAGES, MOST_BRANCHES = 12, 8, 4  # of one record
_LONGEST_TEXT = 24_000  # characters of a record that are looked through
_LONGEST_WORD = 200


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Endings that make a bare name a file; with a folder in front any short ending does.
_ENDINGS = _set(
    "py pyi ipynb js jsx mjs cjs ts tsx mts cts vue svelte go rs java kt rb php swift cpp hpp cs scala ex exs sh bash ps1 sql html css scss less"
    " toml yaml yml json jsonc jsonl md mdx rst txt cfg ini conf xml proto graphql prisma tf nix lock csv gradle cmake"
)
_NAMED = frozenset(
    [
        "dockerfile",
        "makefile",
        "justfile",
        "gemfile",
        "rakefile",
        "procfile",
        "jenkinsfile",
        "codeowners",
    ]
)
_LIBRARIES = _set(
    "node next vue nuxt d3 three express react chart ember backbone moment p5 discord alpine require knockout paper matter"
)
_DOMAINS = _set("com org net io dev ai app co gg me xyz page edu gov eu uk de")
_SEGMENT = r"(?:[\w.+@-]{1,100}|\([\w.-]{1,60}\)|\[{1,2}[\w.-]{1,60}\]{1,2})"
_PATH = re.compile(
    rf"(?:\./)?((?:{_SEGMENT}/){{0,20}}[\w.+@-]{{1,120}})(?::\d[\d:,-]{{0,20}}|#L?\d[\dL-]{{0,20}}|::[\w.:-]{{1,120}})?(?:['’]s)?"
)
_PACKAGE = re.compile(
    r"((?:@[\w.-]{1,60}/)?[A-Za-z](?:[\w./-]{0,80}\w)?)(?:\[[\w,-]{1,60}\])?(?:[@=<>!~^ ]{1,4}v?\d[\w.*,<>= -]{0,30})?"
)
# Wikilinks, targets of links, addresses and what is struck through.
_LEADING = r"\[\[[^\[\]]{0,300}\]\]|\]\([^()\s]{0,500}\)|~~[^~]{1,300}~~"
_ELSEWHERE = re.compile(rf"{_LEADING}|\w{{2,10}}://[^\s`]{{1,500}}")
_LED = re.compile(
    _LEADING
)  # the same where no address is; without `\w` in front it passes over text ten times as fast
_SENTENCE = re.compile(r"[.!?;](?=[*_]{0,3}\s)")
_INNER_DOT = re.compile(r"\.\w")
# How else people say what something is made with: a name in backticks, with a capital or a hyphen; or one with its version.
_WITH = re.compile(r"\b(?:with|via|through)\s(?:`|[A-Z]|[a-z]{1,30}-)")
_VERSION = re.compile(
    r"is(?<=\bis)\s`?[\w.-]{2,60}`?\sv?\d"
)  # begun by letters, which a search finds ten times as fast as `\b`
_BULLET = re.compile(r"[-*+>\d.)#\s]{1,20}\s")
_MARKS = "`'\"*_,;:!?”“’‘()[]<>"

# A paragraph, or a part under a heading, that begins so tells of what is not (any more, or yet).
_ASIDES = _set(
    "rejected alternative alternatives considered option options before formerly previously history was old deprecated example examples superseded"
    " todo plan planned idea ideas later next"
)
# Of a file in a sentence with such a word nobody says that it is there.
_UNDONE = _set(
    "move moved moves moving split merged folded extracted instead longer anymore formerly previously gone old legacy until would could might should"
    " will if unless e.g example instance such imagine say todo planned missing without"
)
_UNDONE_STEMS = (
    "remov",
    "delet",
    "drop",
    "renam",
    "replac",
    "deprecat",
    "obsolet",
    "reject",
    "eliminat",
    "supersed",
    "retir",
)
# A sentence with such a word says of no package that it is used, other than by "X instead of Y".
_UNSURE = _set(
    "not never longer anymore considered would could might may if unless alternative alternatives rejected tried formerly previously until imagine"
    " say suppose e.g example todo neither nor without whether why cannot no"
)

# Of a branch in a sentence with such a word nobody says that it is there.
_PAST = _set(
    "gone old legacy former formerly previously was were no not never longer e.g example instance imagine suppose would could might"
)
_PAST_STEMS = (*_UNDONE_STEMS, "merg", "squash", "rebas", "abandon", "clos", "land")

_USE = _set("use uses used using")
_TAKE = _USE | _set(
    "require requires added adopt adopts adopted chose chosen choose picked prefer preferred pin pins pinned took"
)
_TAKE_WITH = {
    "depends": "on", "depend": "on", "relies": "on", "rely": "on", "built": "on with", "moved": "to", "migrated": "to", "switched": "to", "switch": "to",
    "pinned": "to", "pin": "to", "settled": "on", "standardized": "on", "standardised": "on", "runs": "on", "based": "on", "standardize": "on", "standardise": "on", "migrate": "to", "go": "with", "going": "with", "went": "with", "powered": "by",
    "store": "in", "stored": "in", "kept": "in", "cache": "in with", "cached": "in with",
}  # fmt: skip
_CHANGE = _set("switch switched switches migrate migrated migrates move moved moves changed went")
_REPLACE = _set("replace replaced replaces replacing")
_OVER = _set("chose chosen choose picked prefer preferred took use uses used")
_LEAVE = _set("remove removed removes drop dropped drops reject rejected uninstalled retired")
_LEFT = _set("removed dropped rejected uninstalled retired gone")
_DENY = _set("not don't don’t never longer stop stopped avoid mustn't shouldn't")
_DENIED = _set("use using add adding import")
_BE = _set("was were is are been")
_MEANS = _set("with via through")
_DOING = _set(
    "test tests tested lint lints format formats build builds built bundle bundles check checks validate validates parse parses mock mocks deploy deploys"
    " render renders compile compiles log logs style styles benchmark benchmarks serve serves package type-check typecheck"
)
_FILLERS = _set("the our only just now still always plain library package pypi npm crate module")
_ARTICLES = frozenset(["the", "our"])
_CALLED = _set("library libraries package packages module crate client sdk framework")
# What is of a package, or of anything else: "the `data` property" speaks of no package.
_PARTS = _set(
    "property properties function functions option options prop props component components mode method methods attribute attributes variable variables"
    " field fields flag flags key keys helper hook hooks command commands directive type types class classes file files folder directory parameter argument"
    " setting settings value values tag tags element keyword interface event object array endpoint page route branch table column header label prefix"
    " folder style syntax format statement operator decorator constant name names id route driver loader highlighter adapter plugin"
)
_MADE = _set("built written made read run kept sent drawn done")
# What may follow a package that stands in plain words: in "we use rich snippets" nobody speaks of `rich`.
_FOLLOWS = _set(
    "for as to in into with and because since so on at instead rather over version from when where which that not but or by now only alone everywhere here any anymore"
    " of is was were has have are stays remains"
)
_NO_PACKAGE = _set(
    "it this that them these those one both all us me you everything something nothing git its his her my your their each any some such how what who"
)
_SAYING = (
    _TAKE
    | frozenset(_TAKE_WITH)
    | _CHANGE
    | _REPLACE
    | _LEAVE
    | _LEFT
    | _DENIED
    | {"instead", "rather"}
)


class Said(NamedTuple):
    """A package that a record says is used, or is not."""

    name: str
    used: bool


class Claim(NamedTuple):
    """What a record says about the project around it. Paths are relative to the project, with `/`; those of folders end with one."""

    id: str
    title: str
    text: str
    branch: str
    created: str
    files: tuple[str, ...]
    packages: tuple[Said, ...]
    branches: tuple[str, ...] = ()  # that its text names


class _Name(NamedTuple):
    name: str
    after: int  # the place of the word behind it


def claim_of(
    id_: str, title: str, text: str, branch: str, created: str, *, rejected: bool = False
) -> Claim:
    """What a record with this title and text claims. What is `rejected` ("Use redis for sessions") is not there."""
    files: dict[str, None] = {}
    said: dict[str, set[bool]] = {}
    branches: dict[str, None] = {}
    for sentence in _sentences(f"{title}\n\n{text}"):
        lowered = sentence.casefold()
        names = (
            "/" in sentence
            or "file" in lowered
            or "codeowners" in lowered
            or _INNER_DOT.search(sentence) is not None
        )
        says = not _SAYING.isdisjoint(lowered.rstrip(".!?;* ").split()) or _says_with(sentence)
        on_branch = "branch " in lowered
        if not (names or says or on_branch):
            continue
        words = sentence.split()
        bare = [word.strip(_MARKS).rstrip(".") for word in lowered.split()]
        known = set(bare)
        if (
            names
            and len(files) < MOST_FILES
            and known.isdisjoint(_UNDONE)
            and not any(word.startswith(_UNDONE_STEMS) for word in known)
        ):
            files.update(dict.fromkeys(_files(words)))
        if (
            on_branch
            and known.isdisjoint(_PAST)
            and not any(word.startswith(_PAST_STEMS) for word in known)
        ):
            branches.update(dict.fromkeys(_branches(words, bare)))
        if says and len(said) < MOST_PACKAGES:
            for name, used in _packages(words, bare):
                said.setdefault(name, set()).add(used)
    # Who says both of a package tells its history.
    packages = [Said(name, True in uses) for name, uses in said.items() if len(uses) == 1]
    if rejected:
        files, branches, packages = (
            {},
            {},
            [Said(name, used=False) for name, used in packages if used],
        )
    return Claim(
        id_,
        title,
        text,
        branch,
        created,
        tuple(files)[:MOST_FILES],
        tuple(packages)[:MOST_PACKAGES],
        tuple(branches)[:MOST_BRANCHES],
    )


def _sentences(text: str) -> Iterator[str]:
    """The sentences of the prose, without code in fences, addresses, where links lead, and parts that tell of what is not."""
    aside = False
    for paragraph in _paragraphs(text[:_LONGEST_TEXT]):
        heading = paragraph.startswith("#")
        if not heading and (aside or not _may_claim(paragraph)):
            continue
        begun = _BULLET.match(paragraph)
        first = paragraph[begun.end() if begun else 0 :].lstrip("*_[ ").split(None, 1)
        tells_of_none = bool(first) and (
            first[0].strip(_MARKS + ".").casefold() in _ASIDES or first[0].casefold() == "out"
        )
        if heading:
            aside = tells_of_none
        if aside or tells_of_none:
            continue
        begin = 0
        for found in _SENTENCE.finditer(paragraph):
            yield paragraph[begin : found.end()]
            begin = found.end()
        yield paragraph[begin:]


def _may_claim(paragraph: str) -> bool:
    """False where no sentence of the paragraph can pass the first look that `claim_of` takes at each: most paragraphs say nothing
    of files and packages, and to take one apart costs five times as much as this."""
    if "/" in paragraph or _INNER_DOT.search(paragraph) is not None:
        return True
    lowered = paragraph.casefold()
    if (
        "file" in lowered
        or "codeowners" in lowered
        or "branch " in lowered
        or _says_with(paragraph)
    ):
        return True
    for sign in ".!?;*":  # what may stand behind the last word of a sentence
        lowered = lowered.replace(sign, " ")
    return not _SAYING.isdisjoint(lowered.split())


def _says_with(text: str) -> bool:
    if ("with" in text or "via" in text or "through" in text) and (
        _WITH.search(text) is not None or not _DOING.isdisjoint(text.casefold().split())
    ):
        return True
    return _VERSION.search(text) is not None


def _paragraphs(text: str) -> Iterator[str]:
    """Paragraphs, headings and items of lists, each on one line."""
    held: list[str] = []
    fence = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line[:1].isalpha() and not fence:  # most lines: they go on with the paragraph
            held.append(_without_links(line))
            continue
        if line.startswith(("```", "~~~")):
            mark = line[: len(line) - len(line.lstrip(line[0]))]
            fence = mark if not fence else "" if mark.startswith(fence) and line == mark else fence
            line = ""
        elif fence:
            continue
        alone = line.startswith("#")
        if held and (
            not line
            or alone
            or line.startswith(("- ", "* ", "+ ", "> "))
            or (line[0].isdigit() and _BULLET.match(line))
        ):
            yield " ".join(held)
            held = []
        if line:
            held.append(_without_links(line))
            if alone:
                yield held.pop()
    if held:
        yield " ".join(held)


def _without_links(line: str) -> str:
    if "://" in line:
        return _ELSEWHERE.sub(" ", line)
    return _LED.sub(" ", line) if "](" in line or "[[" in line or "~~" in line else line


def _files(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if (
            ("." in word or "/" in word or word.strip("`*(),.:").casefold() in _NAMED)
            and len(word) <= _LONGEST_WORD
            and (path := _path(word))
        ):
            yield path


def _path(word: str) -> str:
    """The path that a word is; empty when it is none, or one that leaves the project."""
    bare = word.strip("`'\"*,;:!?”“’‘").rstrip(".)>").lstrip("(<").strip("`'\"*,;:")
    found = _PATH.fullmatch(bare.rstrip("/"))
    if found is None:
        return ""
    path: str = found[1]
    if bare.endswith("/"):
        return _folder(path) if bare.rstrip("/") in (path, f"./{path}") else ""
    *folders, name = path.split("/")
    if any(not part.strip(".") for part in (*folders, name)) or ".git" in folders:
        return ""
    if name.casefold() in _NAMED:
        return path if folders or "`" in word else ""
    return path if _is_file(folders, name) else ""


def _folder(path: str) -> str:
    """The path of a folder, ended with `/`; empty for a host, a number, or what leaves the project."""
    parts = path.split("/")
    if (
        any(not part.strip(".") for part in parts)
        or ".git" in parts
        or _is_host(parts[0])
        or not any(map(str.isalpha, path))
    ):
        return ""
    return f"{path}/"


def _is_host(name: str) -> bool:
    host = name.casefold().split(".")
    return len(host) > 1 and (host[-1] in _DOMAINS or host[0] == "www")


def _branches(words: Sequence[str], bare: Sequence[str]) -> Iterator[str]:
    """What stands behind the word `branch`."""
    for at, word in enumerate(bare[:-1]):
        if word == "branch" and not words[at].endswith((",", ":", ";", ")")):
            yield words[at + 1].strip(f"{_MARKS}.")


def _is_file(folders: Sequence[str], name: str) -> bool:
    """Whether a name with an ending is that of a file, and not of a library, a host or a version."""
    stem, _, ending = name.rpartition(".")
    if not stem or stem.endswith(".") or not ending.isalnum() or not ending[0].isalpha():
        return False
    if not folders:
        return ending in _ENDINGS and stem.casefold() not in _LIBRARIES
    return not _is_host(folders[0]) and (
        ending.casefold() in _ENDINGS or (ending.islower() and len(ending) < 5)
    )


def _packages(words: Sequence[str], bare: Sequence[str]) -> Iterator[Said]:
    """Who is said to be used or not in a sentence. Where one takes the place of another, both are told."""
    pairs = list(_pairs(words, bare))
    yield from pairs
    unsure = (
        not _UNSURE.isdisjoint(bare)
        or any(word.endswith(("n't", "n’t")) for word in bare)
        or words[-1].endswith("?")
        or bare[0] == "when"
    )
    absent = list(_absent(words, bare))
    if not pairs:
        yield from absent
    if unsure or absent:
        return
    told = {name for name, _ in pairs}
    for at, word in enumerate(bare):
        start = at + 1 if word in _TAKE else 0
        if (
            word in _TAKE_WITH
            and bare[at + 1 : at + 2]
            and bare[at + 1] in _TAKE_WITH[word].split()
        ):
            start = at + 2
        versioned = (
            word == "is" and bool(bare[at + 2 : at + 3]) and bare[at + 2].lstrip("v")[:1].isdigit()
        )
        means = (
            word in _MEANS
            and at > 0
            and (bare[at - 1].endswith("ed") or bare[at - 1] in _MADE)
            and _is_name(words[at + 1 : at + 2])
        )
        done = word in _MEANS and not _DOING.isdisjoint(bare[max(0, at - 3) : at])
        if versioned or means or done:
            start = at + 1
        if start and (found := _name(words, bare, start)) and found.name not in told:
            yield Said(found.name, True)
            if (
                bare[found.after : found.after + 1] == ["and"]
                and (other := _name(words, bare, found.after + 1))
                and other.name not in told
            ):
                yield Said(other.name, True)


def _is_name(words: Sequence[str]) -> bool:
    """Whether the next word shows by itself that it is a name."""
    return bool(words) and (
        words[0].startswith("`") or words[0][0].isupper() or "-" in words[0][1:-1]
    )


def _pairs(words: Sequence[str], bare: Sequence[str]) -> Iterator[Said]:
    for at, word in enumerate(bare):
        first = second = None
        if (
            word in _CHANGE
            and bare[at + 1 : at + 2] == ["from"]
            and (first := _name(words, bare, at + 2))
            and bare[first.after : first.after + 1] == ["to"]
        ):
            second = _name(words, bare, first.after + 1)
        if (
            word in _REPLACE
            and (first := _name(words, bare, at + 1))
            and bare[first.after : first.after + 1] in (["with"], ["by"])
        ):
            second = _name(words, bare, first.after + 1)
        if (
            word in _OVER
            and (second := _name(words, bare, at + 1))
            and bare[second.after : second.after + 1] == ["over"]
        ):
            first = _name(words, bare, second.after + 1)
        if (
            at
            and (word, *bare[at + 1 : at + 2]) in (("instead", "of"), ("rather", "than"))
            and (second := _name(words, bare, at - 1))
        ):
            first = _name(words, bare, at + 2)
        if first and second:
            yield Said(first.name, False)
            yield Said(second.name, True)


def _absent(words: Sequence[str], bare: Sequence[str]) -> Iterator[Said]:
    for at, word in enumerate(bare):
        start = at + 1 if word in _LEAVE else 0
        if word in _DENY and bare[at + 1 : at + 2] and bare[at + 1] in _DENIED:
            start = at + 2
        if start and (found := _name(words, bare, start)):
            yield Said(found.name, False)
        elif at > 1 and word in _LEFT and bare[at - 1] in _BE:
            before = at - 2 if bare[at - 2] not in ("has", "have") else at - 3
            if before >= 0 and (found := _name(words, bare, before)) and found.after <= at:
                yield Said(found.name, False)


def _name(words: Sequence[str], bare: Sequence[str], at: int) -> _Name | None:
    """The package that the words from this place name; None when they name none."""
    article = False
    for _ in range(3):
        if at < len(bare) and bare[at] in _FILLERS:
            at, article = at + 1, article or bare[at] in _ARTICLES
    if at >= len(words):
        return None
    word, after = words[at].lstrip("*_(\"'“‘"), at + 1
    if word.startswith("`"):
        while "`" not in word[1:] and after < min(at + 3, len(words)):
            word, after = f"{word} {words[after]}", after + 1
        text, tick, rest = word[1:].partition("`")
        if not tick or (
            not rest and bare[after : after + 1] and bare[after].removesuffix("'s") in _PARTS
        ):
            return None
    else:
        text = word.rstrip(".,;:!?)*_\"'”’—–")
        follows = bare[after] if after < len(bare) else ""
        called = follows in _CALLED
        alone = (
            text != word
            or not follows
            or follows in _FOLLOWS
            or follows.lstrip("v=<>~^")[:1].isdigit()
            or follows in ("—", "–", "-")
        )
        if (
            len(text) < 2
            or not (alone or called)
            or (article and not called and text.isalpha() and text.islower())
        ):
            return None
    found = _PACKAGE.fullmatch(text)
    return (
        _Name(found[1], after)
        if found and found[1].casefold() not in _NO_PACKAGE and found[1] not in _FOLLOWS
        else None
    )
