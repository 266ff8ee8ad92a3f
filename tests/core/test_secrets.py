"""Secrets are hidden wherever they stand, prose is left alone, and a second pass changes nothing.

No token stands here in one piece: scanners of code hosts would take it for a real one.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from cortex.core.redact.secret_patterns import SECRET_PATTERNS
from cortex.core.redact.secrets import INVISIBLE_CHARS, redact, sanitize_text
from cortex.core.text import light
from tests.core.test_secret_patterns import FORMS, VENDORS

MIXED = "a1B2" * 30  # letters of both cases and digits
HEX = "0f1e2d3c" * 8
UPPER = "A2B3C4D5" * 8
B64 = "Ab1+Cd2/" * 12

KEY_BODY = "\n".join([B64[:64], B64[8:72], "Kw4="])


def block(label: str, body: str = KEY_BODY) -> str:
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"


PEM = block("RSA " + "PRIVATE KEY")

Case = tuple[str, str, str]  # kind, text, the secret in it
SECRETS: list[Case] = [
    ("private", "<private>the wedding is off</private>", "the wedding is off"),
    ("private", "<PRIVATE reason='family'>the wedding is off</Private >", "the wedding is off"),
    ("private-key", PEM, B64[:64]),
    ("private-key", block("PRIVATE " + "KEY"), B64[:64]),
    ("private-key", block("OPENSSH " + "PRIVATE KEY"), B64[:64]),
    ("private-key", block("PGP PRIVATE " + "KEY BLOCK", f"Version: 2\n\n{KEY_BODY}\n=Ab1d"), B64[:64]),
    ("private-key", PEM.replace("\n", "\\n"), B64[:64]),
    ("private-key", PEM.replace("\n", "\\\\n"), B64[:64]),
    ("private-key", PEM.replace("\n", " "), B64[:64]),
    ("private-key", "AGE-SECRET-" + "KEY-1" + UPPER[:58], UPPER[:58]),
    ("aws-key", "AKIA" + UPPER[:16], UPPER[:16]),
    ("aws-key", "ASIA" + UPPER[:16], UPPER[:16]),
    ("aws-secret", "aws_secret_access_key = " + B64[:40], B64[:40]),
    ("aws-secret", "AWS_SECRET_ACCESS_KEY=" + B64[:40], B64[:40]),
    ("aws-secret", '"SecretAccessKey": "' + B64[:40] + '"', B64[:40]),
    ("aws-secret", "AWS Secret Access Key [None]: " + B64[:40], B64[:40]),
    *[("github-token", f"gh{letter}_" + MIXED[:36], MIXED[:36]) for letter in "pours"],
    ("github-token", "ghs_" + "1234_ey" + "J0eXAi.ey" + "JpYXQi." + MIXED, MIXED),
    ("github-token", "github_" + "pat_" + MIXED[:22] + "_" + MIXED[:59], MIXED[:59]),
    ("gitlab-token", "gl" + "pat-" + MIXED[:20], MIXED[:20]),
    ("gitlab-token", "gl" + "pat-" + MIXED[:27] + ".01." + "1a2b3c4d5", "1a2b3c4d5"),
    ("gitlab-token", "gl" + "rt-" + MIXED[:20], MIXED[:20]),
    ("gitlab-token", "GR" + "1348941" + MIXED[:20], MIXED[:20]),
    ("slack-token", "xox" + "b-123456789012-123456789012-" + MIXED[:24], MIXED[:24]),
    ("slack-token", "xox" + "e-1-" + UPPER, UPPER),
    ("slack-token", "xa" + "pp-1-A012-345-" + HEX, HEX),
    ("slack-token", "https://hooks.slack" + ".com/services/T0AB12CD3/B0AB12CD3/" + MIXED[:24], MIXED[:24]),
    ("stripe-key", "sk_" + "live_" + MIXED[:24], MIXED[:24]),
    ("stripe-key", "rk_" + "test_" + MIXED[:99], MIXED[:99]),
    ("stripe-key", "wh" + "sec_" + MIXED[:32], MIXED[:32]),
    ("openai-key", "sk-" + MIXED[:20] + "T3Blbk" + "FJ" + MIXED[:20], MIXED[:20]),
    ("openai-key", "sk-" + "proj-" + MIXED[:74] + "T3Blbk" + "FJ" + MIXED[:74], MIXED[:74]),
    ("openai-key", "sk-" + MIXED[:48], MIXED[:48]),
    ("openai-key", "sk-" + MIXED[:20], MIXED[:20]),
    ("openai-key", "sk-" + "proj-" + MIXED[:20], MIXED[:20]),
    ("openai-key", "sk-" + "svcacct-" + MIXED[:58] + "T3Blbk" + "FJ" + MIXED[:58], MIXED[:58]),
    ("anthropic-key", "sk-" + "ant-api03-" + MIXED[:93] + "AA", MIXED[:93]),
    ("anthropic-key", "sk-" + "ant-oat01-" + MIXED[:93] + "AA", MIXED[:93]),
    ("google-key", "AI" + "za" + MIXED[:35], MIXED[:35]),
    ("google-key", "AQ" + ".Ab8" + MIXED[:48], MIXED[:48]),
    ("google-oauth", "ya" + "29.a0" + MIXED[:80], MIXED[:80]),
    ("google-oauth", "1/" + "/0" + MIXED[:60], MIXED[:60]),
    ("google-oauth", "GOC" + "SPX-" + MIXED[:28], MIXED[:28]),
    ("npm-token", "npm" + "_" + MIXED[:36], MIXED[:36]),
    ("pypi-token", "pypi-" + "AgEIcHlwaS5vcmc" + MIXED[:70], MIXED[:70]),
    ("huggingface-token", "hf" + "_" + MIXED[:34], MIXED[:34]),
    ("sendgrid-key", "SG" + "." + MIXED[:22] + "." + MIXED[:43], MIXED[:43]),
    ("twilio-key", "S" + "K" + HEX[:32], HEX[:32]),
    ("azure-key", "AccountName=a;Account" + "Key=" + B64[:86] + "==;EndpointSuffix=x", B64[:86]),
    ("azure-key", "Endpoint=sb://a/;SharedAccess" + "Key=" + B64[:43] + "=", B64[:43]),
    ("azure-key", "https://a.blob.core.windows.net/b?sv=1&" + "sig=" + MIXED[:43] + "%3D", MIXED[:43]),
    ("jwt", "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjMifQ." + MIXED[:43], MIXED[:43]),
    ("jwt", "ey" + "JhbGciOiJkaXIifQ.." + MIXED[:16] + "." + MIXED[:40] + "." + MIXED[:22], MIXED[:40]),
    ("url-password", "postgres://app:" + "Tr0ub4dor&3" + "@db.example.org:5432/app", "Tr0ub4dor&3"),
    ("url-password", "redis://:" + "p@ss:w0rd" + "@cache:6379", "p@ss:w0rd"),
    ("url-password", "amqp://bob:" + "Ab1/cd+2=" + "@mq/vhost", "Ab1/cd+2="),
    ("bearer-token", "Authorization: Bearer " + MIXED[:30], MIXED[:30]),
    ("bearer-token", "'authorization': 'Basic " + "Ym9iOnBhc3N3b3Jk" + "'", "Ym9iOnBhc3N3b3Jk"),
    ("bearer-token", "curl -H 'X-Auth: bearer " + MIXED[:24] + "'", MIXED[:24]),
    ("assigned-secret", "password=" + "Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("assigned-secret", "password: " + "$Ecret1234", "$Ecret1234"),
    ("assigned-secret", "DB_PASSWD: " + "Tr0ub4dor,3;x", "Tr0ub4dor,3;x"),
    ("assigned-secret", 'api_key = "' + "Ab1 cd2 Ef3" + '"', "Ab1 cd2 Ef3"),
    ("assigned-secret", "token: `" + "Ab1 cd2 Ef3" + "`", "Ab1 cd2 Ef3"),
    ("assigned-secret", "apikey: '" + "it\\'s 2 long" + "'", "it\\'s 2 long"),
    ("assigned-secret", '{"client_secret": "' + "Ab1cd2Ef3" + '", "id": 7}', "Ab1cd2Ef3"),
    ("assigned-secret", '{\\"access_token\\": \\"' + "Ab1cd2Ef3" + '\\"}', "Ab1cd2Ef3"),
    ("assigned-secret", "**API-Key:** " + "Ab1cd2Ef3", "Ab1cd2Ef3"),
    ("assigned-secret", "const apiKey: string = '" + "Ab1cd2Ef3" + "'", "Ab1cd2Ef3"),
    ("assigned-secret", 'SECRET = b"""' + "Ab1cd2Ef3" + '"""', "Ab1cd2Ef3"),
    ("assigned-secret", 'token: "' + "Ab1cd2Ef3" + "\nnever closed", "Ab1cd2Ef3"),
    ("assigned-secret", "//registry.example.org/:_authToken=" + "Ab1cd2-Ef3", "Ab1cd2-Ef3"),
    ("assigned-secret", "token: password: " + "Ab1cd2Ef3", "Ab1cd2Ef3"),
    *VENDORS,
    *FORMS,
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "secret"), SECRETS)
def test_each_kind_is_hidden_under_its_own_name(kind: str, text: str, secret: str) -> None:
    clean, kinds = redact(f"above it\n{text}\nas it is")
    assert secret not in clean
    assert kinds == (kind,)
    assert clean.startswith("above it\n")
    assert clean.endswith("\nas it is")
    assert f"[REDACTED:{kind}]" in clean


def test_every_kind_of_the_table_has_an_example() -> None:
    assert {row[0] for row in SECRET_PATTERNS} == {kind for kind, _, _ in SECRETS}


around = st.text() | st.text(alphabet="aA1_-./+= \n\t\"'`\\@:;,&<>(){}[]")


# What is hidden by its line alone, letters after a name, is no law of any surrounding.
@given(st.sampled_from([case for case in SECRETS if case not in FORMS]), around, around)
def test_no_secret_survives_in_any_surrounding(case: Case, before: str, after: str) -> None:
    _, text, secret = case
    clean, kinds = redact(before + text + after)
    assert secret not in clean
    assert len(kinds) == clean.count("[REDACTED:") - (before + after).count("[REDACTED:")


SAMPLES = [text for _, text, _ in SECRETS]
GLUE = [
    "<private>", "</private>", "password=", 'token: "', "://u:", "://", "@", "Bearer ", "bearer ",
    "ghs_", "AQ.", "Authorization: ", "eyJ", "sk-", "secret", "curl -u a:", "mysql -p",
    " login -p ", "--password ", "Cookie: sid=", "machine a login b password ", "password = ",
    "pwd=", "okta: ", "&lt;private&gt;", "&lt;/private&gt;", "correct horse battery", "\n",
    "<password>", "</password>", 'name="password" value="', "the password is ", "das Passwort für ",
    "abandon ", "legal winner thank year wave sausage ", "1. zoo ", "[REDACTED:jwt]", "[", "${",
    "(", "<a", ">", "\\n", "\\", "xxxx", "your-", "https", "\u200b", "\x00",
    *"&;=:,|*._-/\"'` \nx9aA",
]  # fmt: skip
sample = st.sampled_from(SAMPLES) | st.sampled_from(GLUE)
tail = sample.flatmap(lambda part: st.integers(0, len(part)).map(lambda cut: part[cut:]))
glued = st.lists(sample, max_size=7)
broken = st.lists(tail | around, max_size=7)


@given(glued | broken)
def test_a_second_pass_changes_nothing(parts: list[str]) -> None:
    once, _ = redact("".join(parts))
    assert redact(once) == (once, ())


@pytest.mark.parametrize("text", [
    "amqp://host:a/<private>b c</private>/d@e",
    f"password='short {PEM} 1'",
    f"token: <private>b c</private>{MIXED}",
    "Authorization: Bearer <private>b c</private>" + MIXED,
])  # fmt: skip
def test_a_mark_joins_nothing_in_a_second_pass(text: str) -> None:
    once, _ = redact(text)
    assert redact(once) == (once, ())


@given(glued)
def test_a_neighbour_uncovers_nothing(parts: list[str]) -> None:
    clean, _ = redact("".join(parts))
    for _, sample, secret in SECRETS:
        assert sample not in parts or len(secret) < 20 or secret not in clean


@given(st.sampled_from(SECRETS), st.sampled_from(INVISIBLE_CHARS), st.data())
def test_invisible_characters_hide_nothing(case: Case, char: str, data: st.DataObject) -> None:
    kind, text, secret = case
    cut = data.draw(st.integers(1, len(text) - 1))
    clean, kinds = redact(text[:cut] + char + text[cut:])
    assert kinds == (kind,)
    assert secret not in clean.replace(char, "")


def test_invisible_characters_elsewhere_stay() -> None:
    family = "\U0001f468\u200d\U0001f469"
    text = f"\ufeff{family} password={'Tr0ub4' + chr(0x200B) + 'dor&3'} co\u00adoperate"
    assert redact(text)[0] == f"\ufeff{family} password=[REDACTED:assigned-secret] co\u00adoperate"


@pytest.mark.parametrize("text", [
    "",
    "the token: see below",
    "Secret: ask Maria, she has the keys",
    "password=${DB_PASSWORD_1}",
    "password: $DB_PASSWORD_1",
    "token: ${{ secrets.NPM_TOKEN_2 }}",
    "api_key = <your-key-1>",
    'api_key = "<your-key-1>"',
    "api_key: your-api-key-1",
    "token=xxxxxxxx",
    "token: xxxxxxxx1234",
    "secret = ********",
    "secret: %API_SECRET_1%",
    "the password: short12 is too short",
    "password: 1234567890",
    "token = generate_token_v2(user)",
    "api_key = os.environ['API_KEY_V2']",
    "max_tokens: gpt2-medium-x1",
    "tokenizer=cl100k_base",
    "docs on the token: https://example.org/v2/tokens",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN_1",
    "the bearer of this letter",
    "http://localhost:8080/user@example.org",
    "https://registry:4873/@scope/package",
    "git@github.com:owner/repo.git",
    "https://example.org/a:b@c",
    "the task-force sk-ill of ghp_short and AKIA alone",
    "eyJ is how a base64 object begins; eyJmb28iOiJiYXIifQ has no dots",
    "hf_transfer, npm_config_registry, SG.1, xox, AIza",
    "a " + "BEGIN PRIVATE " + "KEY line is not a key",
    "-----BEGIN CERTIFICATE-----\n" + KEY_BODY + "\n-----END CERTIFICATE-----",
    "commit " + HEX[:40] + " of 2026-11-20T10:00:00Z",
    "<privateer> and <private-key> are not tags, nor is </private> alone",
])  # fmt: skip
def test_prose_and_placeholders_are_left_alone(text: str) -> None:
    clean, kinds = redact(text)
    assert clean is text
    assert kinds == ()


@given(st.text(alphabet=st.characters(exclude_characters="<:=@-_.kK")))
def test_a_text_without_hints_is_the_same_object(text: str) -> None:
    clean, kinds = redact(text)
    assert clean is text
    assert kinds == ()


def test_no_pattern_is_compiled_for_a_text_without_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    build = re.compile

    def record(source: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(source)
        return build(source, flags)

    monkeypatch.setattr(light.re, "compile", record)
    redact("The walk follows no link, stays inside the vault and reads 3 MB/s; " * 30)
    assert compiled == []
    redact("npm_" + "x" * 20)
    assert len(compiled) == 1


@pytest.mark.parametrize(("text", "clean"), [
    ("a <private>b</private> c <private>d</private> e", "a [REDACTED:private] c [REDACTED:private] e"),
    ("a <private>b <private>c</private> d</private> e", "a [REDACTED:private] e"),
    ("a <private>b <private>c</private> d", "a [REDACTED:private]"),
    ("a <private>b", "a [REDACTED:private]"),
    ("a </private> b <private>c</private>", "a </private> b [REDACTED:private]"),
    ("<private>password=" + "Tr0ub4dor&3" + "</private>", "[REDACTED:private]"),
    ("\\u <private>b</pri\u200bvate> c", "\\u [REDACTED:private] c"),
])  # fmt: skip
def test_private_tags_never_leak(text: str, clean: str) -> None:
    assert redact(text)[0] == clean


BEGIN = PEM.split("\n")[0]
END = PEM.split("\n")[-1]


@pytest.mark.parametrize(("text", "clean"), [
    (f"{BEGIN}\n{KEY_BODY}\n\nThe end.", "[REDACTED:private-key]\n\nThe end."),
    (f"{BEGIN}\nProc-Type: 4,ENCRYPTED\n\n{KEY_BODY}\nThe end.", "[REDACTED:private-key]\nThe end."),
    (f'"{BEGIN}\\n{B64[:64]}\\nAb1=" rest', '"[REDACTED:private-key]" rest'),
    (f"> {BEGIN}\n> {B64[:64]}\n> ok then", "> [REDACTED:private-key]\n> ok then"),
    (f"{BEGIN}\n{B64[:64]}\nNote: the rest\n{HEX}", f"[REDACTED:private-key]\nNote: the rest\n{HEX}"),
    (f"{BEGIN} and then some prose", "[REDACTED:private-key] and then some prose"),
    (f"{BEGIN}{B64[:64]} rest", "[REDACTED:private-key] rest"),
    (f"{BEGIN}\n{END}\n{B64[:64]}\n{END}", f"[REDACTED:private-key]\n{END}"),
    (f"{BEGIN}\n{BEGIN}\n{B64[:64]}\n{END}\nrest", "[REDACTED:private-key]\nrest"),
    (f"{BEGIN}\n{B64[:64]}\nA long story.\n" + "word " * 20_000 + END, None),
])  # fmt: skip
def test_broken_private_keys(text: str, clean: str | None) -> None:
    found, kinds = redact(text)
    assert kinds == ("private-key",)
    assert B64[:64] not in found
    assert found == clean if clean else "A long story." in found


@pytest.mark.parametrize(("before", "secret", "kind", "after"), [
    ("psql://app:", "Tr0ub4dor", "url-password", "@db:5432/x"),
    ("Authorization: Bearer ", MIXED, "bearer-token", ""),
    ("(the password: ", "Tr0ub4dor", "assigned-secret", ")."),
    ("a?token=", "Ab1cd2Ef3", "assigned-secret", "&page=2"),
    ("Server=x;Password=", "Ab1cd2Ef3", "assigned-secret", ";Database=y"),
    ("AccountName=a;AccountKey=", B64[:86] + "==", "azure-key", ";EndpointSuffix=x"),
])  # fmt: skip
def test_what_surrounds_a_secret_stays_readable(
    before: str, secret: str, kind: str, after: str
) -> None:
    assert redact(before + secret + after)[0] == f"{before}[REDACTED:{kind}]{after}"


def test_kinds_are_named_once_per_replacement_in_order() -> None:
    token = "ghp" + "_" + MIXED[:36]
    clean, kinds = redact(f"password={'Tr0ub4dor&3'} {token} AKIA{UPPER[:16]} {token}")
    assert kinds == ("assigned-secret", "github-token", "aws-key", "github-token")
    assert clean == "password=" + " ".join(f"[REDACTED:{kind}]" for kind in kinds)


def test_overlapping_finds_are_one_under_the_more_exact_name() -> None:
    token = "ghp" + "_" + MIXED[:36]
    assert redact(f"TOKEN={token}.tail9") == ("TOKEN=[REDACTED:github-token]", ("github-token",))
    assert (
        redact(f"https://x:{token}@github.com")[0] == "https://x:[REDACTED:github-token]@github.com"
    )


@pytest.mark.parametrize(("kind", "hints", "source", "flags"), SECRET_PATTERNS)
def test_what_a_row_matches_has_its_hint(
    kind: str, hints: tuple[str, ...], source: str, flags: int
) -> None:
    matched = [text for text in SAMPLES if re.search(source, text, flags)]
    assert matched
    if kind == "seed-phrase":
        return  # it is looked for by its short words
    for text in matched:
        assert any(hint in (text.lower() if flags & re.IGNORECASE else text) for hint in hints)


def test_not_even_re_is_imported() -> None:
    code = "import __future__, _collections, _collections_abc, _json, sys; old = set(sys.modules); import cortex.core.redact.secrets; print(*set(sys.modules) - old)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) == {
        "cortex", "cortex.core", "cortex.core.redact", "cortex.core.redact.secrets",
        "cortex.core.redact.secret_patterns", "cortex.core.text", "cortex.core.text.light",
        "cortex.core.text.value",
    }  # fmt: skip


def test_halves_of_surrogate_pairs_are_escapes():
    assert sanitize_text("a \ud83d b \udcff") == "a \\xed\\xa0\\xbd b \\xed\\xb3\\xbf"
    assert sanitize_text("é \udcff") == "é \\xff"
