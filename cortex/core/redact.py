"""Secrets in a text become `[REDACTED:kind]` before the text is written anywhere.

The shapes are those the vendors publish. A shape that cannot be told from prose (a password, 40 base64
characters) is taken only with its name beside it. Where a doubt remains, more is hidden rather than less.

Three rules make the cost linear and a second pass a no-op:
a vendor pattern has no boundary on either side and runs on greedily: a match depends on nothing around it;
a pattern that has to look far consumes what it looked at even if it finds nothing (then no group took part);
marks of an earlier pass are read as NUL characters, which no pattern matches.
"""

from __future__ import annotations

import re

# A secret pasted through a chat or a word processor may carry these invisible characters.
HIDDEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad"

_KEY_REACH = 65536  # characters; the longest key block, a PGP key with a photograph, is shorter

# From a name to its value: `"password": `, `**token:** `, `secret => `, `\"token\": `, `apiKey: string = `.
_GAP = (
    r"""["'`*_\\]{0,4}[ \t]{0,8}"""
    r"""(?::[ \t]{0,4}[a-z][a-z_.\[\]|]{0,40}[ \t]{0,4}=(?=[ \t]{0,4}["'`])|[:=]{1,2}>?)[*_]{0,2}[ \t]{0,8}"""
)
# What people write where a secret would stand, and code: `f(`, `xs[`. Consumed, never redacted.
_STAND_IN = (
    r"https?://|\$\{|\$\(|\{\{|<(?=[a-z][^<>\r\n\x00]{0,60}>)|%[a-z][a-z0-9_]{0,40}%"
    r"|(?-i:\$[A-Z][A-Z0-9_]{0,40}(?!\w))|(?:[a-z]{1,8}[-_])?(?:xxxx|\*\*\*|\.\.\.|•••|…)"
    r"|your[-_ ]|example|placeholder|redacted"
)
_CODE = r"(?-i:[a-z_][a-z0-9_.]*)[(\[]"
_IN_DOUBLE = r"""[^"\\\r\n\x00]*(?:\\[^\r\n\x00][^"\\\r\n\x00]*)*"""
_IN_SINGLE = _IN_DOUBLE.replace('"', "'")
# An unquoted value ends at a space or a quote, and at `&`, `;` or `,` where another `name=` follows.
_BARE = r"""[^\s\x00"'`,;&]*(?:[,;&](?![\w .-]{0,40}=|\s|$)[^\s\x00"'`,;&]*)*"""

_VALUES = (
    r"""[bfru@]{0,2}\\{0,3}["'`]{0,3}(?:""" + _STAND_IN + ")",
    _CODE,
    r"""\\{1,3}["'`]([^"'`\\\r\n\x00]*)""",
    r'[bfru@]{0,2}"(?:"")?(' + _IN_DOUBLE + ')"',
    r"[bfru@]{0,2}'(?:'')?(" + _IN_SINGLE + ")'",
    r"`([^`\r\n\x00]*)`",
    r"""["'`]?(""" + _BARE + ")",
)
_NAMED = r"(?:passw(?:or)?d|passphrase|secret(?:[_-]?key)?(?:_base)?|token)\d?"
_VALUE = f"{_GAP}(?:{'|'.join(_VALUES)})"
_AWS_NAMED = (
    r"(?:aws[ _-]?secret(?:[ _-]?access)?(?:[ _-]?key)?|secret[ _-]?access[ _-]?key)"
    r"""(?: ?\[[^\]\r\n\x00]{0,24}\])?["'`*_\\]{0,3}[ \t]{0,8}[:=>]{1,2}[*_]{0,2}[ \t]{0,8}["'`\\]{0,3}"""
    r"([a-z0-9/+=]{40,})"
)
_URL_LOGIN = (
    r"://[^\s\x00:/?#@\"'`<>\[\]]*:(?:"
    r"([^\s\x00/?#\"'`<>]+)@"  # up to the last @ before the path
    r"|\d{1,5}(?=[/?#,;)\]}\s\"'`<>]|$)"  # a port
    r"|([^\s\x00@\"'`<>]+)@"  # a password with an unescaped slash
    r"|[^\s\x00@\"'`<>]*)"
)
_AUTHORIZATION = (
    r"""authorization["'`*_\\]{0,3}[ \t]{0,8}[:=]{1,2}>?[*_]{0,2}[ \t]{0,8}["'`\\]{0,3}"""
    r"(?:bearer|basic|token)[ \t]{1,8}(?!your|xxx|\.\.\.|(?:access_)?token\b)([a-z0-9._~+/-]{8,}={0,2})"
)
_BEARER = r"bearer[ \t]{1,8}(?=[a-z._~+/-]{0,200}[0-9])([a-z0-9._~+/-]{20,}={0,2})"
_BEGIN_END = r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"

_A = re.ASCII
_I = re.IGNORECASE | re.ASCII

# (kind, hints, pattern, flags). A pattern is compiled only when one of its hints is in the text (the text in
# lowercase where the flags ignore case). Where a pattern has groups, the group that took part is the secret.
# Where finds overlap, the earlier row names the whole. The alphabet of a token holds that of its prefix, so
# that a token never hides the start of the next one.
KINDS: tuple[tuple[str, tuple[str, ...], str, int], ...] = (
    ("private", ("<private",), r"<(/?)private(?:\s[^<>\x00]{0,200})?>", _I),
    ("private-key", ("PRIVATE KEY",), _BEGIN_END, _A),
    ("private-key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[A-Z0-9-]{50,}", _A),
    ("aws-key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}", _A),
    ("aws-secret", ("secret",), _AWS_NAMED, _I),
    ("github-token", ("ghp_", "gho_", "ghu_", "ghr_"), r"gh[pour]_[A-Za-z0-9_]{36,}", _A),
    ("github-token", ("ghs_",), r"ghs_[A-Za-z0-9._-]{36,}", _A),  # opaque, or ghs_<app>_<jwt> since 2026
    ("github-token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{36,}", _A),
    (
        "gitlab-token",
        ("glpat-", "glptt-", "gldt-", "glrt-", "glrtr-", "glcbt-", "gloas-", "glsoat-", "glft-", "glimt-", "glagent-", "glffct-", "glwt-"),
        r"gl(?:pat|ptt|dt|rt|rtr|cbt|oas|soat|ft|imt|agent|ffct|wt)-[A-Za-z0-9_.-]{20,}",
        _A,
    ),
    ("gitlab-token", ("GR1348941",), r"GR1348941[A-Za-z0-9_-]{20,}", _A),
    ("slack-token", ("xox",), r"xox[a-z]-[A-Za-z0-9-]{10,}", _A),
    ("slack-token", ("xapp-",), r"xapp-[0-9]-[A-Za-z0-9-]{10,}", _A),
    ("slack-token", ("hooks.slack",), r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/._-]{20,}", _A),
    (
        "stripe-key",
        ("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"),
        r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16}[A-Za-z0-9_]*",
        _A,
    ),
    ("stripe-key", ("whsec_",), r"whsec_[A-Za-z0-9+/=_-]{24,}", _A),
    ("anthropic-key", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{20,}", _A),
    ("openai-key", ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"), r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{40,}", _A),
    ("openai-key", ("sk-",), r"sk-[A-Za-z0-9]{48}[A-Za-z0-9-]*", _A),
    ("google-key", ("AIza",), r"AIza[A-Za-z0-9_-]{35,}", _A),
    ("google-key", ("AQ.",), r"AQ\.[A-Za-z0-9_.-]{40,}", _A),  # what Google issues since 2026
    ("google-oauth", ("ya29.",), r"ya29\.[A-Za-z0-9_.-]{20,}", _A),
    ("google-oauth", ("1//0",), r"1//0[A-Za-z0-9_/-]{30,}", _A),
    ("google-oauth", ("GOCSPX-",), r"GOCSPX-[A-Za-z0-9_-]{28,}", _A),
    ("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36}[A-Za-z0-9_]*", _A),
    ("pypi-token", ("pypi-AgE",), r"pypi-AgE[A-Za-z0-9_-]{50,}", _A),
    ("huggingface-token", ("hf_", "api_org_"), r"(?:hf|api_org)_[A-Za-z0-9]{34}[A-Za-z0-9_]*", _A),
    ("sendgrid-key", ("SG.",), r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_.-]{43,}", _A),
    ("twilio-key", ("SK",), r"SK[0-9a-f]{32,}", _A),
    ("azure-key", ("accountkey", "sharedaccesskey"), r"(?:account|sharedaccess)key[ \t]?=[ \t]?([a-z0-9+/=]{43,})", _I),
    ("azure-key", ("sig=",), r"[?&;]sig=([A-Za-z0-9+/%]{43,})", _A),
    ("jwt", ("eyJ",), r"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_.-]*)|eyJ[A-Za-z0-9_-]*", _A),
    ("url-password", ("://",), _URL_LOGIN, _A),
    ("bearer-token", ("authorization",), _AUTHORIZATION, _I),
    ("bearer-token", ("bearer ",), _BEARER, _I),
    ("assigned-secret", ("passw", "passphrase", "secret", "token"), _NAMED + _VALUE, _I),
    (
        "assigned-secret",
        ("api_key", "api-key", "apikey", "access_key", "access-key", "accesskey", "private_key", "private-key", "privatekey"),
        r"(?:api|access|private)[_-]?key\d?" + _VALUE,
        _I,
    ),
)

_MARK = r"\[REDACTED:[a-z][a-z-]{0,40}\]"
_END_OF_LINE = r"""(?=[ \t]*(?:[\r\n\\"'`,]|$))"""
# A line of a key's body after a line end, real or JSON-escaped; or, its line ends lost, 40 or more in a row.
_KEY_LINE = (
    r"(?:[ \t]*(?:\r?\n|\r|\\{1,2}r\\{1,2}n|\\{1,2}n)){1,3}[ \t>|#*]{0,8}"
    r"(?:[A-Z][A-Za-z-]{1,30}:[ \t][^\r\n\\\x00]{0,200}|([A-Za-z0-9+/=]+))" + _END_OF_LINE + r"|[ \t]{0,8}([A-Za-z0-9+/=]{40,})"
)

Span = tuple[int, int]


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with its secrets replaced, and the kind of each replacement in order of appearance.

    A text without a secret comes back as the same object.
    """
    seen = text
    if not text.isascii():
        for char in HIDDEN:
            seen = seen.replace(char, "")
    if "[REDACTED:" in seen:
        seen = re.sub(_MARK, lambda mark: "\0" * len(mark[0]), seen)
    found = _find(seen)
    if not found:
        return text, ()
    place: range | list[int] = range(len(text))  # where a character of `seen` stands in `text`
    if len(seen) < len(text):
        place = [i for i, char in enumerate(text) if char not in HIDDEN]
    parts: list[str] = []
    kinds: list[str] = []
    at = 0
    for start, end, row in found:
        kind = KINDS[row][0]
        parts += (text[at : place[start]], f"[REDACTED:{kind}]")
        kinds.append(kind)
        at = place[end - 1] + 1
    parts.append(text[at:])
    return "".join(parts), tuple(kinds)


def _find(text: str) -> list[tuple[int, int, int]]:
    """(start, end, row of KINDS) of each secret, in order, overlapping ones united under the earliest row."""
    folded = text.lower()
    spans: list[tuple[int, int, int]] = []
    for row, (kind, hints, source, flags) in enumerate(KINDS):
        hay = folded if flags & re.IGNORECASE else text
        for hint in hints:
            if hint in hay:
                pattern = re.compile(source, flags)
                spans += [(start, end, row) for start, end in _FIND.get(kind, _tokens)(pattern, text)]
                break
    spans.sort()
    found: list[tuple[int, int, int]] = []
    for start, end, row in spans:
        if found and start < found[-1][1]:
            first, last, before = found[-1]
            found[-1] = (first, max(end, last), min(row, before))
        else:
            found.append((start, end, row))
    return found


def _tokens(pattern: re.Pattern[str], text: str) -> list[Span]:
    if not pattern.groups:
        return [match.span() for match in pattern.finditer(text)]
    return [match.span(match.lastindex) for match in pattern.finditer(text) if match.lastindex]


def _private(pattern: re.Pattern[str], text: str) -> list[Span]:
    """From an opening tag to the tag that closes it, or to the end of the text if none does."""
    spans: list[Span] = []
    depth = start = 0
    for tag in pattern.finditer(text):
        if not tag[1]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                spans.append((start, tag.end()))
    if depth:
        spans.append((start, len(text)))
    return spans


def _keys(pattern: re.Pattern[str], text: str) -> list[Span]:
    """From BEGIN to END; a BEGIN without an END within reach takes the lines after it that look like a key.

    Such lines are taken after an END too: a planted END must not uncover the real body.
    """
    if not pattern.groups:
        return _tokens(pattern, text)
    line = re.compile(_KEY_LINE, re.ASCII)
    spans: list[Span] = []
    begun: list[re.Match[str]] = []
    for mark in pattern.finditer(text):
        if mark[1] == "BEGIN":
            begun.append(mark)
            continue
        for begin in begun:
            if mark.end() - begin.start() <= _KEY_REACH:
                spans.append((begin.start(), _key_body(line, text, mark.end())))
                break
            spans.append((begin.start(), _key_body(line, text, begin.end())))
        begun = []
    return spans + [(begin.start(), _key_body(line, text, begin.end())) for begin in begun]


def _key_body(line: re.Pattern[str], text: str, start: int) -> int:
    """Where the key lines at `start` end: headers, lines of 20 or more, and one shorter line after those."""
    at = end = start
    while match := line.match(text, at):
        at = match.end()
        run = match[1] or match[2]
        if run and len(run) >= 20:
            end = at
        elif run:
            return at if end > start else start
        elif end > start:
            break
    return end


def _assigned(pattern: re.Pattern[str], text: str) -> list[Span]:
    """Values of 8 characters or more that have both a letter and a digit."""
    spans: list[Span] = []
    at = 0
    while match := pattern.search(text, at):
        at = match.end()
        if not match.lastindex:
            continue
        start, end = match.span(match.lastindex)
        value = text[start:end]
        if text[start - 1] not in "\"'`":
            value = value.rstrip(".,:!?)]}>*_|")
        lettered = value.lower() != value.upper()
        if len(value) >= 8 and lettered and any(digit in value for digit in "0123456789"):
            spans.append((start, start + len(value)))
        else:
            at = max(start, end - 48)  # it may end in a name that has a value: `token: password: ...`
    return spans


_FIND = {"private": _private, "private-key": _keys, "assigned-secret": _assigned}


def clean(text: str) -> str:
    """`text` as it may be written: without secrets, with `\\n` line ends; bytes that are no UTF-8, and NULs, as escapes."""
    if not text.isascii():
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\\x00")
    return redact(text)[0]
