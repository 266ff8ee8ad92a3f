"""What a record claims that files and git can contradict: that a file, folder or branch is there, that a package is used or is not.

A claim that is missed costs a mark; a claim that nobody made costs trust in all marks. So whatever is said in doubt
(an example, a rejected way, something that was moved or taken away) claims nothing. Words are compared one by one:
a pattern for each way to say it would take longer to compile than the records to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cortex.core.text.value import NamedTuple

MAX_FILES, MAX_PACKAGES, MAX_BRANCHES = 12, 8, 4  # of one record
_MAX_TEXT_CHARS = 24_000  # characters of a record that are looked through
_MAX_WORD_CHARS = 200


def _word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Endings that make a bare name a file; with a folder in front any short ending does.
_FILE_EXTENSIONS = _word_set(
    "py pyi ipynb js jsx mjs cjs ts tsx mts cts vue svelte go rs java kt rb php swift cpp hpp cs scala ex exs sh bash ps1 sql html css scss less"
    " toml yaml yml json jsonc jsonl md mdx rst txt cfg ini conf xml proto graphql prisma tf nix lock csv gradle cmake"
)
_EXTENSIONLESS_FILES = frozenset(
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
_DOTTED_LIBRARIES = _word_set(
    "node next vue nuxt d3 three express react chart ember backbone moment p5 discord alpine require knockout paper matter"
)
_TOP_LEVEL_DOMAINS = _word_set("com org net io dev ai app co gg me xyz page edu gov eu uk de")
_PATH_SEGMENT_PATTERN = r"(?:[\w.+@-]{1,100}|\([\w.-]{1,60}\)|\[{1,2}[\w.-]{1,60}\]{1,2})"
_PATH_RE = re.compile(
    rf"(?:\./)?((?:{_PATH_SEGMENT_PATTERN}/){{0,20}}[\w.+@-]{{1,120}})(?::\d[\d:,-]{{0,20}}|#L?\d[\dL-]{{0,20}}|::[\w.:-]{{1,120}})?(?:['’]s)?"
)
_PACKAGE_RE = re.compile(
    r"((?:@[\w.-]{1,60}/)?[A-Za-z](?:[\w./-]{0,80}\w)?)(?:\[[\w,-]{1,60}\])?(?:[@=<>!~^ ]{1,4}v?\d[\w.*,<>= -]{0,30})?"
)
# Wikilinks, targets of links, addresses and what is struck through.
_LINK_PATTERN = r"\[\[[^\[\]]{0,300}\]\]|\]\([^()\s]{0,500}\)|~~[^~]{1,300}~~"
_LINK_OR_URL_RE = re.compile(rf"{_LINK_PATTERN}|\w{{2,10}}://[^\s`]{{1,500}}")
_LINK_RE = re.compile(
    _LINK_PATTERN
)  # the same where no address is; without `\w` in front it passes over text ten times as fast
_SENTENCE_END_RE = re.compile(r"[.!?;](?=[*_]{0,3}\s)")
_INNER_DOT_RE = re.compile(r"\.\w")
# How else people say what something is made with: a name in backticks, with a capital or a hyphen; or one with its version.
_WITH_NAME_RE = re.compile(r"\b(?:with|via|through)\s(?:`|[A-Z]|[a-z]{1,30}-)")
_IS_VERSION_RE = re.compile(
    r"is(?<=\bis)\s`?[\w.-]{2,60}`?\sv?\d"
)  # begun by letters, which a search finds ten times as fast as `\b`
_BULLET_RE = re.compile(r"[-*+>\d.)#\s]{1,20}\s")
_PUNCTUATION = "`'\"*_,;:!?”“’‘()[]<>"

# A paragraph, or a part under a heading, that begins so tells of what is not (any more, or yet).
_ASIDE_WORDS = _word_set(
    "rejected alternative alternatives considered option options before formerly previously history was old deprecated example examples superseded"
    " todo plan planned idea ideas later next"
)
# Of a file in a sentence with such a word nobody says that it is there.
_FILE_GONE_WORDS = _word_set(
    "move moved moves moving split merged folded extracted instead longer anymore formerly previously gone old legacy until would could might should"
    " will if unless e.g example instance such imagine say todo planned missing without"
)
_FILE_GONE_STEMS = (
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
_UNCERTAIN_WORDS = _word_set(
    "not never longer anymore considered would could might may if unless alternative alternatives rejected tried formerly previously until imagine"
    " say suppose e.g example todo neither nor without whether why cannot no"
)

# Of a branch in a sentence with such a word nobody says that it is there.
_BRANCH_GONE_WORDS = _word_set(
    "gone old legacy former formerly previously was were no not never longer e.g example instance imagine suppose would could might"
)
_BRANCH_GONE_STEMS = (*_FILE_GONE_STEMS, "merg", "squash", "rebas", "abandon", "clos", "land")

_USE_VERBS = _word_set("use uses used using")
_ADOPT_VERBS = _USE_VERBS | _word_set(
    "require requires added adopt adopts adopted chose chosen choose picked prefer preferred pin pins pinned took"
)
_ADOPT_PREPOSITIONS = {
    "depends": "on", "depend": "on", "relies": "on", "rely": "on", "built": "on with", "moved": "to", "migrated": "to", "switched": "to", "switch": "to",
    "pinned": "to", "pin": "to", "settled": "on", "standardized": "on", "standardised": "on", "runs": "on", "based": "on", "standardize": "on", "standardise": "on", "migrate": "to", "go": "with", "going": "with", "went": "with", "powered": "by",
    "store": "in", "stored": "in", "kept": "in", "cache": "in with", "cached": "in with",
}  # fmt: skip
_SWITCH_VERBS = _word_set(
    "switch switched switches migrate migrated migrates move moved moves changed went"
)
_REPLACE_VERBS = _word_set("replace replaced replaces replacing")
_PREFER_VERBS = _word_set("chose chosen choose picked prefer preferred took use uses used")
_DROP_VERBS = _word_set(
    "remove removed removes drop dropped drops reject rejected uninstalled retired"
)
_DROPPED_PARTICIPLES = _word_set("removed dropped rejected uninstalled retired gone")
_NEGATIONS = _word_set("not don't don’t never longer stop stopped avoid mustn't shouldn't")
_NEGATED_VERBS = _word_set("use using add adding import")
_BE_VERBS = _word_set("was were is are been")
_MEANS_PREPOSITIONS = _word_set("with via through")
_TOOL_VERBS = _word_set(
    "test tests tested lint lints format formats build builds built bundle bundles check checks validate validates parse parses mock mocks deploy deploys"
    " render renders compile compiles log logs style styles benchmark benchmarks serve serves package type-check typecheck"
)
_FILLER_WORDS = _word_set(
    "the our only just now still always plain library package pypi npm crate module"
)
_ARTICLES = frozenset(["the", "our"])
_PACKAGE_NOUNS = _word_set("library libraries package packages module crate client sdk framework")
# What is of a package, or of anything else: "the `data` property" speaks of no package.
_PART_NOUNS = _word_set(
    "property properties function functions option options prop props component components mode method methods attribute attributes variable variables"
    " field fields flag flags key keys helper hook hooks command commands directive type types class classes file files folder directory parameter argument"
    " setting settings value values tag tags element keyword interface event object array endpoint page route branch table column header label prefix"
    " folder style syntax format statement operator decorator constant name names id route driver loader highlighter adapter plugin"
)
_IRREGULAR_PARTICIPLES = _word_set("built written made read run kept sent drawn done")
# What may follow a package that stands in plain words: in "we use rich snippets" nobody speaks of `rich`.
_WORDS_AFTER_PACKAGE = _word_set(
    "for as to in into with and because since so on at instead rather over version from when where which that not but or by now only alone everywhere here any anymore"
    " of is was were has have are stays remains"
)
_NON_PACKAGES = _word_set(
    "it this that them these those one both all us me you everything something nothing git its his her my your their each any some such how what who"
)
_PACKAGE_TRIGGERS = (
    _ADOPT_VERBS
    | frozenset(_ADOPT_PREPOSITIONS)
    | _SWITCH_VERBS
    | _REPLACE_VERBS
    | _DROP_VERBS
    | _DROPPED_PARTICIPLES
    | _NEGATED_VERBS
    | {"instead", "rather"}
)


class PackageClaim(NamedTuple):
    """A package that a record says is used, or is not."""

    name: str
    is_used: bool


class RecordClaims(NamedTuple):
    """What a record says about the project around it. Paths are relative to the project, with `/`; those of folders end with one."""

    id: str
    title: str
    text: str
    branch: str
    created: str
    files: tuple[str, ...]
    packages: tuple[PackageClaim, ...]
    branches: tuple[str, ...] = ()  # that its text names


class _PackageName(NamedTuple):
    name: str
    next_index: int  # the place of the word behind it


def extract_claims(
    id_: str, title: str, text: str, branch: str, created: str, *, rejected: bool = False
) -> RecordClaims:
    """What a record with this title and text claims. What is `rejected` ("Use redis for sessions") is not there."""
    files: dict[str, None] = {}
    said: dict[str, set[bool]] = {}
    branches: dict[str, None] = {}
    for sentence in _iter_sentences(f"{title}\n\n{text}"):
        lowered = sentence.casefold()
        names = (
            "/" in sentence
            or "file" in lowered
            or "codeowners" in lowered
            or _INNER_DOT_RE.search(sentence) is not None
        )
        says = not _PACKAGE_TRIGGERS.isdisjoint(
            lowered.rstrip(".!?;* ").split()
        ) or _has_means_phrase(sentence)
        on_branch = "branch " in lowered
        if not (names or says or on_branch):
            continue
        words = sentence.split()
        bare = [word.strip(_PUNCTUATION).rstrip(".") for word in lowered.split()]
        known = set(bare)
        if (
            names
            and len(files) < MAX_FILES
            and known.isdisjoint(_FILE_GONE_WORDS)
            and not any(word.startswith(_FILE_GONE_STEMS) for word in known)
        ):
            files.update(dict.fromkeys(_find_files(words)))
        if (
            on_branch
            and known.isdisjoint(_BRANCH_GONE_WORDS)
            and not any(word.startswith(_BRANCH_GONE_STEMS) for word in known)
        ):
            branches.update(dict.fromkeys(_find_branches(words, bare)))
        if says and len(said) < MAX_PACKAGES:
            for name, used in _find_packages(words, bare):
                said.setdefault(name, set()).add(used)
    # Who says both of a package tells its history.
    packages = [PackageClaim(name, True in uses) for name, uses in said.items() if len(uses) == 1]
    if rejected:
        files, branches, packages = (
            {},
            {},
            [PackageClaim(name, is_used=False) for name, used in packages if used],
        )
    return RecordClaims(
        id_,
        title,
        text,
        branch,
        created,
        tuple(files)[:MAX_FILES],
        tuple(packages)[:MAX_PACKAGES],
        tuple(branches)[:MAX_BRANCHES],
    )


def _iter_sentences(text: str) -> Iterator[str]:
    """The sentences of the prose, without code in fences, addresses, where links lead, and parts that tell of what is not."""
    aside = False
    for paragraph in _iter_paragraphs(text[:_MAX_TEXT_CHARS]):
        heading = paragraph.startswith("#")
        if not heading and (aside or not _may_claim(paragraph)):
            continue
        begun = _BULLET_RE.match(paragraph)
        first = paragraph[begun.end() if begun else 0 :].lstrip("*_[ ").split(None, 1)
        tells_of_none = bool(first) and (
            first[0].strip(_PUNCTUATION + ".").casefold() in _ASIDE_WORDS
            or first[0].casefold() == "out"
        )
        if heading:
            aside = tells_of_none
        if aside or tells_of_none:
            continue
        begin = 0
        for found in _SENTENCE_END_RE.finditer(paragraph):
            yield paragraph[begin : found.end()]
            begin = found.end()
        yield paragraph[begin:]


def _may_claim(paragraph: str) -> bool:
    """False where no sentence of the paragraph can pass the first look that `extract_claims` takes at each: most paragraphs say nothing
    of files and packages, and to take one apart costs five times as much as this."""
    if "/" in paragraph or _INNER_DOT_RE.search(paragraph) is not None:
        return True
    lowered = paragraph.casefold()
    if (
        "file" in lowered
        or "codeowners" in lowered
        or "branch " in lowered
        or _has_means_phrase(paragraph)
    ):
        return True
    for sign in ".!?;*":  # what may stand behind the last word of a sentence
        lowered = lowered.replace(sign, " ")
    return not _PACKAGE_TRIGGERS.isdisjoint(lowered.split())


def _has_means_phrase(text: str) -> bool:
    if ("with" in text or "via" in text or "through" in text) and (
        _WITH_NAME_RE.search(text) is not None
        or not _TOOL_VERBS.isdisjoint(text.casefold().split())
    ):
        return True
    return _IS_VERSION_RE.search(text) is not None


def _iter_paragraphs(text: str) -> Iterator[str]:
    """Paragraphs, headings and items of lists, each on one line."""
    held: list[str] = []
    fence = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line[:1].isalpha() and not fence:  # most lines: they go on with the paragraph
            held.append(_strip_links(line))
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
            or (line[0].isdigit() and _BULLET_RE.match(line))
        ):
            yield " ".join(held)
            held = []
        if line:
            held.append(_strip_links(line))
            if alone:
                yield held.pop()
    if held:
        yield " ".join(held)


def _strip_links(line: str) -> str:
    if "://" in line:
        return _LINK_OR_URL_RE.sub(" ", line)
    return _LINK_RE.sub(" ", line) if "](" in line or "[[" in line or "~~" in line else line


def _find_files(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if (
            ("." in word or "/" in word or word.strip("`*(),.:").casefold() in _EXTENSIONLESS_FILES)
            and len(word) <= _MAX_WORD_CHARS
            and (path := _parse_file_path(word))
        ):
            yield path


def _parse_file_path(word: str) -> str:
    """The path that a word is; empty when it is none, or one that leaves the project."""
    bare = word.strip("`'\"*,;:!?”“’‘").rstrip(".)>").lstrip("(<").strip("`'\"*,;:")
    found = _PATH_RE.fullmatch(bare.rstrip("/"))
    if found is None:
        return ""
    path: str = found[1]
    if bare.endswith("/"):
        return _parse_folder_path(path) if bare.rstrip("/") in (path, f"./{path}") else ""
    *folders, name = path.split("/")
    if any(not part.strip(".") for part in (*folders, name)) or ".git" in folders:
        return ""
    if name.casefold() in _EXTENSIONLESS_FILES:
        return path if folders or "`" in word else ""
    return path if _is_file_name(folders, name) else ""


def _parse_folder_path(path: str) -> str:
    """The path of a folder, ended with `/`; empty for a host, a number, or what leaves the project."""
    parts = path.split("/")
    if (
        any(not part.strip(".") for part in parts)
        or ".git" in parts
        or _is_domain(parts[0])
        or not any(map(str.isalpha, path))
    ):
        return ""
    return f"{path}/"


def _is_domain(name: str) -> bool:
    host = name.casefold().split(".")
    return len(host) > 1 and (host[-1] in _TOP_LEVEL_DOMAINS or host[0] == "www")


def _find_branches(words: Sequence[str], bare: Sequence[str]) -> Iterator[str]:
    """What stands behind the word `branch`."""
    for at, word in enumerate(bare[:-1]):
        if word == "branch" and not words[at].endswith((",", ":", ";", ")")):
            yield words[at + 1].strip(f"{_PUNCTUATION}.")


def _is_file_name(folders: Sequence[str], name: str) -> bool:
    """Whether a name with an ending is that of a file, and not of a library, a host or a version."""
    stem, _, ending = name.rpartition(".")
    if not stem or stem.endswith(".") or not ending.isalnum() or not ending[0].isalpha():
        return False
    if not folders:
        return ending in _FILE_EXTENSIONS and stem.casefold() not in _DOTTED_LIBRARIES
    return not _is_domain(folders[0]) and (
        ending.casefold() in _FILE_EXTENSIONS or (ending.islower() and len(ending) < 5)
    )


def _find_packages(words: Sequence[str], bare: Sequence[str]) -> Iterator[PackageClaim]:
    """Who is said to be used or not in a sentence. Where one takes the place of another, both are told."""
    pairs = list(_find_replacements(words, bare))
    yield from pairs
    unsure = (
        not _UNCERTAIN_WORDS.isdisjoint(bare)
        or any(word.endswith(("n't", "n’t")) for word in bare)
        or words[-1].endswith("?")
        or bare[0] == "when"
    )
    absent = list(_find_removals(words, bare))
    if not pairs:
        yield from absent
    if unsure or absent:
        return
    told = {name for name, _ in pairs}
    for at, word in enumerate(bare):
        start = at + 1 if word in _ADOPT_VERBS else 0
        if (
            word in _ADOPT_PREPOSITIONS
            and bare[at + 1 : at + 2]
            and bare[at + 1] in _ADOPT_PREPOSITIONS[word].split()
        ):
            start = at + 2
        versioned = (
            word == "is" and bool(bare[at + 2 : at + 3]) and bare[at + 2].lstrip("v")[:1].isdigit()
        )
        means = (
            word in _MEANS_PREPOSITIONS
            and at > 0
            and (bare[at - 1].endswith("ed") or bare[at - 1] in _IRREGULAR_PARTICIPLES)
            and _looks_like_name(words[at + 1 : at + 2])
        )
        done = word in _MEANS_PREPOSITIONS and not _TOOL_VERBS.isdisjoint(bare[max(0, at - 3) : at])
        if versioned or means or done:
            start = at + 1
        if start and (found := _parse_package(words, bare, start)) and found.name not in told:
            yield PackageClaim(found.name, True)
            if (
                bare[found.next_index : found.next_index + 1] == ["and"]
                and (other := _parse_package(words, bare, found.next_index + 1))
                and other.name not in told
            ):
                yield PackageClaim(other.name, True)


def _looks_like_name(words: Sequence[str]) -> bool:
    """Whether the next word shows by itself that it is a name."""
    return bool(words) and (
        words[0].startswith("`") or words[0][0].isupper() or "-" in words[0][1:-1]
    )


def _find_replacements(words: Sequence[str], bare: Sequence[str]) -> Iterator[PackageClaim]:
    for at, word in enumerate(bare):
        first = second = None
        if (
            word in _SWITCH_VERBS
            and bare[at + 1 : at + 2] == ["from"]
            and (first := _parse_package(words, bare, at + 2))
            and bare[first.next_index : first.next_index + 1] == ["to"]
        ):
            second = _parse_package(words, bare, first.next_index + 1)
        if (
            word in _REPLACE_VERBS
            and (first := _parse_package(words, bare, at + 1))
            and bare[first.next_index : first.next_index + 1] in (["with"], ["by"])
        ):
            second = _parse_package(words, bare, first.next_index + 1)
        if (
            word in _PREFER_VERBS
            and (second := _parse_package(words, bare, at + 1))
            and bare[second.next_index : second.next_index + 1] == ["over"]
        ):
            first = _parse_package(words, bare, second.next_index + 1)
        if (
            at
            and (word, *bare[at + 1 : at + 2]) in (("instead", "of"), ("rather", "than"))
            and (second := _parse_package(words, bare, at - 1))
        ):
            first = _parse_package(words, bare, at + 2)
        if first and second:
            yield PackageClaim(first.name, False)
            yield PackageClaim(second.name, True)


def _find_removals(words: Sequence[str], bare: Sequence[str]) -> Iterator[PackageClaim]:
    for at, word in enumerate(bare):
        start = at + 1 if word in _DROP_VERBS else 0
        if word in _NEGATIONS and bare[at + 1 : at + 2] and bare[at + 1] in _NEGATED_VERBS:
            start = at + 2
        if start and (found := _parse_package(words, bare, start)):
            yield PackageClaim(found.name, False)
        elif at > 1 and word in _DROPPED_PARTICIPLES and bare[at - 1] in _BE_VERBS:
            before = at - 2 if bare[at - 2] not in ("has", "have") else at - 3
            if (
                before >= 0
                and (found := _parse_package(words, bare, before))
                and found.next_index <= at
            ):
                yield PackageClaim(found.name, False)


def _parse_package(words: Sequence[str], bare: Sequence[str], at: int) -> _PackageName | None:
    """The package that the words from this place name; None when they name none."""
    article = False
    for _ in range(3):
        if at < len(bare) and bare[at] in _FILLER_WORDS:
            at, article = at + 1, article or bare[at] in _ARTICLES
    if at >= len(words):
        return None
    word, after = words[at].lstrip("*_(\"'“‘"), at + 1
    if word.startswith("`"):
        while "`" not in word[1:] and after < min(at + 3, len(words)):
            word, after = f"{word} {words[after]}", after + 1
        text, tick, rest = word[1:].partition("`")
        if not tick or (
            not rest and bare[after : after + 1] and bare[after].removesuffix("'s") in _PART_NOUNS
        ):
            return None
    else:
        text = word.rstrip(".,;:!?)*_\"'”’—–")
        follows = bare[after] if after < len(bare) else ""
        called = follows in _PACKAGE_NOUNS
        alone = (
            text != word
            or not follows
            or follows in _WORDS_AFTER_PACKAGE
            or follows.lstrip("v=<>~^")[:1].isdigit()
            or follows in ("—", "–", "-")
        )
        if (
            len(text) < 2
            or not (alone or called)
            or (article and not called and text.isalpha() and text.islower())
        ):
            return None
    found = _PACKAGE_RE.fullmatch(text)
    return (
        _PackageName(found[1], after)
        if found
        and found[1].casefold() not in _NON_PACKAGES
        and found[1] not in _WORDS_AFTER_PACKAGE
        else None
    )
