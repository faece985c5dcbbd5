"""Made-up secrets, put together here so that no scanner takes this file for a leak."""

from __future__ import annotations

import base64
import json
import random
import string
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from whole_scan import read_all

from operators.errors import UnknownName
from operators.sources import secrets
from operators.sources.protocol import Document, Item, LazyDocument, ReadIssue, Source, content_hash
from operators.sources.secrets import redacted, without_secrets

HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
WORD = string.ascii_letters + string.digits
LINK = WORD + "_-"
CODE = WORD + "+/"


def found_secrets(text: str) -> list[tuple[str, int]]:
    """The kind of each secret in ``text`` and its line, from 1."""
    return [(one.kind, 1 + text.count("\n", 0, one.start)) for one in secrets.secrets_in(text)]


def made(length: int, letters: str = WORD) -> str:
    """The same random letters in every run."""
    return "".join(random.Random(f"{length} {letters}").choices(letters, k=length))


def pem(kind: str, before: str = "", end: str = "\n") -> str:
    lines = [
        f"-----BEGIN {kind}-----",
        "MIIEpAIBAAKCAQEA" + made(48, CODE),
        made(64, CODE),
        made(60, CODE) + "==",
        f"-----END {kind}-----",
    ]
    return end.join(before + line for line in lines)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def web_token(claims: object) -> str:
    parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
    parts = [base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts]
    return b".".join(parts).decode() + "." + made(43, LINK)


PRIVATE = "RSA PRIVATE " + "KEY"
AWS = "AKIA" + made(16, UPPER[:26] + "234567")
GITHUB = "ghp_" + made(36)
GOOD = "hV8xQ2m" + "ZpL4"
SECRETS = [
    ("private key", pem(PRIVATE)),
    ("private key", pem("EC PRIVATE " + "KEY", "    ")),
    ("private key", pem(PRIVATE, end="\\n")),
    *(
        ("private key", pem(PRIVATE, before))
        for before in ("> ", "# ", "// ", " * ", "-", "+", "; ")
    ),
    ("private key", encoded(pem(PRIVATE))),
    ("private key", base64.encodebytes(pem(PRIVATE).encode()).decode().rstrip("=\n")),
    ("private key", "Private-Lines: 8\n" + made(64, CODE)),
    ("AWS access key", "AKIA" + made(16, UPPER[:26] + "234567")),
    ("AWS access key", "ASIA" + made(16, UPPER[:26] + "234567")),
    ("AWS secret key", "aws_secret_access_key = " + made(40, CODE)),
    ("AWS secret key", '"SecretAccessKey": "' + made(40, CODE) + '"'),
    *(("GitHub token", f"gh{letter}_" + made(36)) for letter in "pousr"),
    ("GitHub token", "github_" + "pat_" + made(22) + "_" + made(59)),
    ("GitHub token", encoded("x-access-token:" + GITHUB)),
    *(
        ("GitLab token", mark + made(20, LINK))
        for mark in ("glpat-", "glrt-", "gldt-", "GR" + "1348941")
    ),
    ("Slack token", "xoxb-" + made(12, HEX[:10]) + "-" + made(13, HEX[:10]) + "-" + made(24)),
    (
        "Slack token",
        "xapp-" + "1-" + made(11, UPPER) + "-" + made(13, HEX[:10]) + "-" + made(64, HEX),
    ),
    (
        "Slack token",
        "https://hooks.slack.com/" + f"services/T{made(8, UPPER)}/B{made(9, UPPER)}/{made(24)}",
    ),
    ("Discord token", "MT" + made(24) + "." + made(6) + "." + made(38, LINK)),
    (
        "Discord token",
        "https://discord.com/api/" + "webhooks/" + made(18, HEX[:10]) + "/" + made(68, LINK),
    ),
    ("Telegram token", made(10, HEX[1:10]) + ":AA" + made(33, LINK)),
    ("Google API key", "AIza" + "Sy" + made(33, LINK)),
    ("Google token", "GOCSPX-" + made(28, LINK)),
    ("Stripe key", "sk_" + "live_" + made(24)),
    ("OpenAI or Anthropic key", "sk-" + made(20) + "T3BlbkFJ" + made(20)),
    ("OpenAI or Anthropic key", "sk-" + "ant-api03-" + made(93, LINK) + "AA"),
    ("Hugging Face token", "hf_" + made(34, string.ascii_letters)),
    ("package registry token", "npm_" + made(36)),
    ("package registry token", "pypi-AgEIcHlwaS5vcmc" + made(120, LINK)),
    ("package registry token", "rubygems_" + made(48, HEX)),
    ("package registry token", "cio" + made(32)),
    ("package registry token", "dckr_" + "pat_" + made(27, LINK)),
    ("SendGrid key", "SG." + made(22, LINK) + "." + made(43, LINK)),
    ("Mailgun key", "key-" + made(32, HEX)),
    ("Mailchimp key", made(32, HEX) + "-us12"),
    ("Twilio key", "SK" + made(32, HEX)),
    ("Azure storage key", "AccountName=ours;AccountKey=" + made(86, CODE) + "=="),
    ("Azure key", "SharedAccessKey=" + made(43, CODE) + "="),
    ("Azure key", "?sv=2022-11-02&se=2030-01-01&sr=c&sig=" + made(43) + "%3D"),
    ("Azure key", "abC8" + "Q~" + made(34)),
    ("Vault token", "hvs." + made(24)),
    ("DigitalOcean token", "dop_v1_" + made(64, HEX)),
    *(("Shopify token", f"shp{kind}_" + made(32, HEX)) for kind in ("at", "ss")),
    ("Square token", "sq0atp-" + made(22, LINK)),
    ("Databricks token", "dapi" + made(32, HEX)),
    ("Linear key", "lin_" + "api_" + made(40)),
    ("Doppler token", "dp.pt." + made(43)),
    ("Grafana token", "glc_" + "eyJ" + made(80)),
    ("PlanetScale token", "pscale_" + "tkn_" + made(43, LINK)),
    ("Atlassian token", "ATATT3" + "xFfGF0" + made(180, LINK)),
    ("Sentry token", "sntrys_" + "eyJ" + made(100) + "_" + made(43)),
    ("Terraform token", made(14) + ".atlasv1." + made(67, LINK)),
    ("New Relic key", "NRAK-" + made(27, UPPER)),
    ("Cloudflare key", "v1.0-" + made(24, HEX) + "-" + made(146, HEX)),
    ("Fly token", "fo1_" + made(43, LINK)),
    ("age key", "AGE-SECRET-" + "KEY-1" + made(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")),
    ("Postman key", "PMAK-" + made(24, HEX) + "-" + made(34, HEX)),
    ("Notion token", "ntn_" + made(46)),
    ("Notion token", "secret_" + made(43)),
    ("Airtable token", "pat" + made(14) + "." + made(64, HEX)),
    ("Figma token", "figd_" + made(40, LINK)),
    ("Heroku key", "HRKU-" + "AA" + made(58, LINK)),
    ("Pulumi token", "pul-" + made(40, HEX)),
    ("JSON web token", web_token({"sub": "u-5821", "iat": 1764028800, "role": "admin"})),
    *(
        ("password in an address", address)
        for address in (
            f"postgres://app:{GOOD}@db.acme.io/app",
            f"postgresql+psycopg://app:{GOOD}@db:5432/app",
            f"mysql://root:{GOOD}@10.0.3.7/shop",
            f"mongodb+srv://svc:{GOOD}@cluster0.ab1cd.mongodb.net/x",
            f"redis://:{GOOD}@cache:6379/0",
            f"amqp://jobs:{GOOD}@rabbit/prod",
            f"https://deploy:{GOOD}@git.acme.io/app.git",
            "postgres://app:" + made(24, HEX) + "@db/app",
            "postgres://app:p4%24" + made(12) + "@db.acme.io/app",
        )
    ),
]
SHA = made(40, HEX)
NONE = [
    "0x" + "ab" * 32,
    "postgres://user:password@db.acme.io/app",
    f"https://name:{GOOD}@example.org/x",
    'if b"-----BEGIN RSA PRIVATE ' + 'KEY-----" in data: refuse()',
    "sk_test_" + "a1B2c3D4e5F6g7H8i9J0",
    f"postgres://app:{GOOD}@localhost:5432/app",
    "redis://:<your-password>@cache:6379",
    "postgres://app:correct-horse-battery@db.acme.io/app",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ghp_" + "x" * 36,
    "glpat-" + "your-token-goes-here-1",
    "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0I"
    "joxNTE2MjM5MDIyfQ.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    web_token({"iss": "joe", "exp": 1300819380, "http://example.com/is_root": True}),
    "commit " + SHA,
    made(64, HEX),
    "data:image/png;base64,iVBORw0KGgo" + made(400, CODE),
    pem("CERTIFICATE"),
    pem("PGP PUBLIC " + "KEY BLOCK"),
    "-----BEGIN PRIVATE " + "KEY-----\n...\n-----END PRIVATE " + "KEY-----",
    "-----BEGIN RSA PRIVATE " + "KEY-----\n" + "x" * 64 + "\n-----END RSA PRIVATE " + "KEY-----",
    encoded("The words of a long paragraph, written as base64 in a test of a parser."),
    "api_key: {{ vault.api_key }}",
    "pk_live_" + made(24),
]


@pytest.mark.parametrize(("kind", "secret"), SECRETS, ids=lambda value: value[:16])
def test_each_known_form_is_found_with_its_line_and_is_redacted(kind: str, secret: str) -> None:
    text = f"first line\nkey = {secret} # ours\nlast line"
    assert found_secrets(text) == [(kind, 2)]
    clean = redacted(text)
    assert f"[secret: {kind}]" in clean
    assert secret.partition("\n")[0][-12:] not in clean
    assert clean.count("\n") == text.count("\n")
    assert clean.endswith("last line")
    assert found_secrets(clean) == []


@pytest.mark.parametrize("text", NONE)
def test_what_only_looks_like_a_secret_is_none(text: str) -> None:
    assert found_secrets(text) == []


def test_an_encoded_key_ends_at_a_blank_line() -> None:
    key = base64.b64encode(f"-----BEGIN RSA PRIVATE {'KEY'}-----\n{made(200)}\n".encode()).decode()
    other = base64.b64encode(bytes(range(128, 200))).decode().rstrip("=")
    text = f"{key.rstrip('=')}\n\n{other}"
    assert [kind for kind, _ in found_secrets(text)] == ["private key"]
    assert other in redacted(text)


@given(st.lists(st.sampled_from([*(secret for _, secret in SECRETS), *NONE, "é", "-", "{"])))
def test_what_is_redacted_keeps_its_lines_and_holds_no_secret(parts: list[str]) -> None:
    text = "\n\n".join(parts)
    clean = redacted(text)
    assert found_secrets(clean) == []
    assert clean.count("\n") == text.count("\n")


@pytest.mark.parametrize("length", range(20, 24))
def test_what_has_the_form_of_a_web_token_may_have_any_length(length: int) -> None:
    assert found_secrets("eyJ" + made(20) + ".eyJ" + made(length) + "." + made(30)) == []


def test_a_token_is_found_behind_an_escape_and_beside_letters_of_another_script() -> None:
    assert found_secrets(f'"a\\n{GITHUB}\\n"') == [("GitHub token", 1)]
    assert found_secrets(f"密钥{GITHUB}") == [("GitHub token", 1)]
    assert found_secrets(f"x{GITHUB}") == []


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN RSA PRIVATE" + " KEY-----\n" * 20_000,
        "-----BEGIN A PRIVATE" + " KEY-----\n" + "A" * 500_000,
        "://" + "a:" * 200_000,
        "eyJ" * 200_000,
        "sk-" * 200_000,
        "https://" + "a" * 500_000 + ":" + "b" * 500_000 + "@",
    ],
)
def test_hostile_text_neither_hangs_nor_is_a_secret(text: str) -> None:
    assert redacted(text).startswith(text[:20]) or found_secrets(text)


STARTS = [
    *(mark for _, marks, _ in secrets.TOKENS for mark in marks.split()),
    *("-----BEGIN PRIVATE " + "KEY-----\n", "Private-Lines: 1 ", "aws_secret", "secretAcc = "),
    *("AccountKey=", "AccessKey=", "sig=", "abC8Q~", "12345678:AA", "a" * 32 + "-us1"),
    *("a" * 14 + ".atlasv1.", "://a:", "://a:bbbbbbbb@", "A" * 28 + " " * 19),
]


@pytest.mark.parametrize("between", ["", "-", "--", "a."])
def test_no_beginning_of_a_secret_makes_a_text_of_it_slow(between: str) -> None:
    for start in STARTS:
        text = ((start + between) * 20_000)[:40_000]
        began = time.process_time()
        found_secrets(text)
        assert time.process_time() - began < 0.4, start


def source(*more: Item) -> Source:
    secret = f"one\n{AWS}"

    def scan() -> Iterator[Item]:
        yield Document("a", "docs", "r", "A", "plain")
        yield Document("b", "docs", "r", "B", secret, path="b.md", note="read otherwise")
        lazy = Document("c", "docs", "r", GITHUB, "plain")
        yield LazyDocument(lazy.key, "hash", lambda: lazy)
        yield ReadIssue("d", "binary", failed=False)
        yield from more

    return Source("test/1", scan, None, lambda: 1.0)


def test_a_document_with_a_secret_is_skipped_redacted_or_allowed() -> None:
    a, b, c, d = read_all(without_secrets(source(), "skip"))
    assert isinstance(a, Document)
    assert b == ReadIssue(
        "b.md",
        "holds a secret (AWS access key in line 2): left out; --secrets redact or allow takes it",
        failed=False,
        key=("docs", "r", "b"),
        withdrawn=True,
    )
    assert isinstance(c, ReadIssue)
    assert d == ReadIssue("d", "binary", failed=False)
    _, b, c, _ = read_all(without_secrets(source(), "redact"))
    assert b.text == "one\n[secret: AWS access key]"
    assert b.note == "read otherwise; secrets redacted: AWS access key in line 2"
    assert c.title == "[secret: GitHub token]"
    assert read_all(without_secrets(source(), "allow")) == read_all(source())
    with pytest.raises(UnknownName, match="did you mean 'skip'"):
        without_secrets(source(), "skipp")


@pytest.mark.parametrize(
    ("corpus", "path", "is_taken"),
    [
        ("code", "src/deploy.py", False),
        ("code", ".env", False),
        ("code", "src/main/java/com/example/Mail.java", False),
        ("code", "src/jwt.test.ts", True),
        ("code", "tests/fixtures/key.pem", True),
        ("code", "examples/sign.ts", True),
        ("docs", "docs/jwt.md", True),
        ("history", None, True),
    ],
)
def test_a_file_of_code_with_a_secret_is_left_out_and_what_shows_one_is_redacted(
    corpus: str, path: str | None, is_taken: bool
) -> None:
    token = "glpat-" + "a1B2c3D4e5F6g7H8i9J0"
    document = Document("id", corpus, "r", "T", f"token = {token}", path=path)
    (read,) = read_all(without_secrets(Source("x", lambda: iter([document]), None, lambda: 1.0)))
    assert isinstance(read, Document) == is_taken
    assert token not in repr(read)


def test_a_document_is_searched_for_secrets_when_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[str] = []
    monkeypatch.setattr(secrets, "secrets_in", lambda text: searched.append(text) or [])
    items = list(without_secrets(source()).scan())
    assert not {"plain", "A"} & set(searched)
    read = [item.read() for item in items if isinstance(item, LazyDocument)]
    assert {"plain", "A"} <= set(searched)
    assert content_hash(read[0]) == items[0].content
    assert content_hash(read[0]) == content_hash(next(source().scan()))


FIELDS = ["title", "uri", "language", "state", "version", "lineage_id", "metadata", "note"]
PLAIN = Document("id", "docs", "r", "T", "plain", path="p")


@pytest.mark.parametrize("mode", ["skip", "redact"])
@pytest.mark.parametrize("field", [*FIELDS, "document_id", "corpus", "repo", "path"])
def test_a_secret_in_any_field_is_seen_and_never_shown(field: str, mode: str) -> None:
    value = json.dumps({"a": GITHUB}) if field == "metadata" else f"x/{GITHUB}"
    item = replace(PLAIN, **{field: value})
    *_, judged = read_all(without_secrets(source(item), mode))
    assert GITHUB not in str(judged)
    assert GITHUB not in repr(judged)
    assert f"GitHub token in its {field}" in repr(judged)
    assert isinstance(judged, Document) == (mode == "redact" and field in FIELDS)


def test_an_issue_of_the_reader_shows_no_secret() -> None:
    issue = ReadIssue(f"{GITHUB}.md", f"no page at https://acme.io/?t={GITHUB}")
    *_, judged = read_all(without_secrets(source(issue)))
    assert judged == ReadIssue(
        "[secret: GitHub token].md", "no page at https://acme.io/?t=[secret: GitHub token]"
    )


def test_the_beginning_of_a_secret_where_a_field_was_cut_is_redacted_too() -> None:
    title = "word " * 33 + GITHUB
    subject = json.dumps({"subject": title[:200], "x": "y"})
    item = replace(PLAIN, title=title, metadata=subject)
    *_, judged = read_all(without_secrets(source(item), "redact"))
    assert GITHUB[4:16] not in judged.metadata
    assert json.loads(judged.metadata)["x"] == "y"


def test_metadata_that_a_cut_key_would_break_is_emptied() -> None:
    item = replace(PLAIN, metadata=json.dumps({"a": pem(PRIVATE)[:120], "b": "c"}))
    *_, judged = read_all(without_secrets(source(item), "redact"))
    assert json.loads(judged.metadata) == {}
