"""Made-up secrets, put together here so that no scanner takes this file for a leak."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from operators.errors import UnknownName
from operators.sources.protocol import Document, Item, LazyDocument, ReadIssue, Source, read_all
from operators.sources.secrets import found_secrets, redacted, without_secrets

KEY = " KEY-----"
B64 = "MIIEpAIBAAKCAQEA" + "x7Jk9Q2vB4" * 6
SECRETS = {
    "private key": "-----BEGIN RSA PRIVATE"
    + f" KEY-----\n{B64}\n{B64}\n-----END RSA PRIVATE KEY-----",
    "AWS access key": "AKIA" + "Q3EGB7VFTOWXYZ5M",
    "GitHub token": "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8",
    "GitLab token": "glpat-" + "a1B2c3D4e5F6g7H8i9J0",
    "Slack token": "xoxb-" + "123456789012-abcdefghijkl",
    "Google API key": "AIza" + "SyA1b2C3d4E5" * 2 + "F6g7H8i9J0k",
    "Stripe key": "sk_live_" + "a1B2c3D4e5F6g7H8i9J0",
    "OpenAI or Anthropic key": "sk-proj-" + "a1B2c3D4e5" * 5,
    "Hugging Face token": "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH",
    "package registry token": "npm_" + "a1B2c3D4e5" * 3 + "f6G7h8",
    "SendGrid key": "SG." + "a1B2c3D4e5F6g7H8i9J0kL." + "a1B2c3D4e5" * 4 + "f6G",
    "Azure storage key": "AccountKey=" + "a1B2c3D4e5" * 8 + "f6G7h8==",
    "JSON web token": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3.dozjgNryP4J3jVmNHl0w",
    "password in an address": "postgres://app:" + "hV8xQ2mZpL4@db.acme.io/app",
}
NONE = [
    "0x" + "ab" * 32,
    "deadbeef" * 8,
    "postgres://user:password@db.acme.io/app",
    "postgresql://me:s3cretpass@127.0.0.1:1/app",
    "https://user:${TOKEN_OF_MINE}@host.io",
    "https://name:hV8xQ2mZpL4@example.org/x",
    'if b"-----BEGIN RSA PRIVATE KEY-----" in data: refuse()',
    "sk-learn is a library; task-" + "a" * 50,
    "git clone https://github.com/org/app",
    "sk_test_" + "a1B2c3D4e5F6g7H8i9J0",
    "AKIAIOSFODNN7EXAMPL",
    "eyJhbGciOiJIUzI1NiJ9",
]


@pytest.mark.parametrize("kind", SECRETS)
def test_each_known_form_is_found_with_its_line_and_is_redacted(kind: str) -> None:
    text = f"first line\nkey = {SECRETS[kind]} # ours\nlast line"
    assert found_secrets(text) == [(kind, 2)]
    clean = redacted(text)
    assert f"[secret: {kind}]" in clean
    assert SECRETS[kind].partition("\n")[0][-12:] not in clean
    assert clean.count("\n") == text.count("\n")
    assert clean.endswith("last line")
    assert found_secrets(clean) == []


@pytest.mark.parametrize("text", NONE)
def test_what_only_looks_like_a_secret_is_none(text: str) -> None:
    assert found_secrets(text) == []


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


def source() -> Source:
    secret = f"one\n{SECRETS['AWS access key']}"

    def scan() -> Iterator[Item]:
        yield Document("a", "docs", "r", "A", "plain")
        yield Document("b", "docs", "r", "B", secret, path="b.md", note="read otherwise")
        lazy = Document("c", "docs", "r", SECRETS["GitHub token"], "plain")
        yield LazyDocument(lazy.key, "hash", lambda: lazy)
        yield ReadIssue("d", "binary", failed=False)

    return Source("test/1", scan, None, lambda: 1.0)


def test_a_document_with_a_secret_is_skipped_redacted_or_allowed() -> None:
    a, b, c, d = read_all(without_secrets(source()))
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
    assert isinstance(b, Document)
    assert b.text == "one\n[secret: AWS access key]"
    assert b.note == "read otherwise; secrets redacted: AWS access key in line 2"
    assert isinstance(c, Document)
    assert c.title == "[secret: GitHub token]"
    assert read_all(without_secrets(source(), "allow")) == read_all(source())
    with pytest.raises(UnknownName, match="did you mean 'skip'"):
        without_secrets(source(), "skipp")
