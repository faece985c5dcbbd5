"""A hub that is hostile: nothing that it says names a file, and each odd answer is a line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import run_here
from hub_stub import NAME, Hub, Repository, install, sentence_transformer

from operators.embedding.hub_models import hub_directory
from operators.embedding.protocol import EmbeddingError, ModelNotInstalled
from operators.embedding.registry import load_embedder

HOSTILE_NAMES = ("../../../../victim/.bashrc", "/victim", "a/../../victim", "..", "a\\..\\victim")


def outside(folder: Path) -> dict[str, bytes]:
    """All files below a folder but those of the cache and the data directory."""
    kept = [path for path in folder.rglob("*") if path.is_file()]
    names = {str(path.relative_to(folder)): path.read_bytes() for path in kept}
    return {name: held for name, held in names.items() if not name.startswith(("hf/", "home/"))}


@pytest.mark.parametrize("header", ["ETag", "X-Linked-Etag", "X-Repo-Commit", "X-Xet-Hash"])
@pytest.mark.parametrize("value", HOSTILE_NAMES)
def test_no_header_of_a_hub_names_a_file(
    put: Callable[..., Repository], tmp_path: Path, header: str, value: str
) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / ".bashrc").write_text("# precious\n")
    before = outside(tmp_path)
    put(
        sentence_transformer(), headers={header: f'"{value}"' if "tag" in header.lower() else value}
    )
    install()
    assert load_embedder(f"hf:{NAME}").dimensions == 24
    assert outside(tmp_path) == before
    assert not [path for path in (tmp_path / "hf").rglob("*") if "victim" in path.name]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        *(({"sha": value}, "sha: String should match") for value in HOSTILE_NAMES),
        ({"sha": "C0FFEE" + "0" * 34}, "sha: String should match"),
        ({"sha": 5}, "sha: Input should be a valid string"),
        ({"sha": None}, "has no commit with files"),
        ({"tags": [5]}, r"tags\.0: Input should be a valid string"),
        ({"tags": "license:mit"}, "tags: Input should be a valid array"),
        ({"siblings": None}, "has no commit with files"),
        ({"siblings": {}}, "siblings: Input should be a valid array"),
        ({"siblings": [5]}, r"siblings\.0: Input should be an object"),
        ({"siblings": [{"rfilename": 5}]}, "rfilename: Input should be a valid string"),
        ({"siblings": [{}]}, "rfilename: Field required"),
        *(
            ({"siblings": [{"rfilename": "config.json", "size": 1, "blobId": value}]}, "blobId")
            for value in (*HOSTILE_NAMES, 5, "0" * 39, "0" * 40 + "\n")
        ),
        *(
            (
                {"siblings": [{"rfilename": "a", "lfs": {"sha256": value, "size": 1}}]},
                "lfs.sha256",
            )
            for value in (*HOSTILE_NAMES, None, "0" * 40)
        ),
        *(
            ({"siblings": [{"rfilename": "a", "size": value}]}, "size: Input should be")
            for value in (-1, 2**60, "many", [1], 10**30, float("nan"), float("inf"))
        ),
        ({"siblings": [{"rfilename": "config.json", "size": 1}]}, "gives no hash of config.json"),
        *(
            ({"siblings": [{"rfilename": value, "size": 1, "blobId": "0" * 40}]}, "no commit with")
            for value in (
                *HOSTILE_NAMES,
                "",
                "C:config.json",
                "a\nb",
                "config.json\0",
                "a//b",
                "./a",
            )
        ),
    ],
)
def test_an_odd_value_in_a_hubs_list_of_files_is_a_line(
    put: Callable[..., Repository], tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    before = outside(tmp_path)
    put(sentence_transformer(), info=change)
    with pytest.raises(EmbeddingError, match=said) as error:
        install()
    assert "\n" not in str(error.value)
    assert outside(tmp_path) == before
    assert not hub_directory(NAME).exists()


@pytest.mark.parametrize(
    "answer", [b'{"a":' * 100_000, b"[" * 100_000, b"", b"\xff", b"5", b"null"]
)
def test_an_answer_that_is_no_list_of_files_is_a_line(
    put: Callable[..., Repository], answer: bytes
) -> None:
    put(sentence_transformer(), raw_info=answer)
    with pytest.raises(EmbeddingError, match=f"what the hub says of 'hf:{NAME}'") as error:
        install()
    assert "\n" not in str(error.value)


def test_a_file_longer_than_stated_is_cut_and_refused(
    put: Callable[..., Repository], tmp_path: Path
) -> None:
    files = sentence_transformer()
    put(files, served={"config.json": files["config.json"] + b" " * 5_000_000})
    with pytest.raises(EmbeddingError, match=r"config\.json .* differs from the hash"):
        install()
    assert not list((tmp_path / "hf").rglob("*.crosscorpus"))


def test_a_hub_without_https_is_refused_elsewhere_but_for_a_flag(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://me:secret@hub.invalid:8080")
    with pytest.raises(
        ModelNotInstalled, match=r"^http://hub\.invalid:8080 is not https.*add"
    ) as no:
        install()
    assert "--insecure-http" in str(no.value)
    assert "secret" not in str(no.value)
    with pytest.raises(ModelNotInstalled, match=r"from http://hub\.invalid:8080/.*ConnectError"):
        install(insecure=True)
    refused = run_here(("models", "install", f"hf:{NAME}"), {})
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert (
        "ConnectError"
        in run_here(("models", "install", f"hf:{NAME}", "--insecure-http"), {}).stderr
    )
    assert "--insecure-http" in run_here(("models", "install", "--help"), {}).stdout


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("http://elsewhere.invalid/x", "http://elsewhere.invalid is not https"),
        ("file:///etc/passwd", "not https|UnsupportedProtocol|has an invalid"),
        ("ftp://elsewhere.invalid/x", "ftp://elsewhere.invalid is not https"),
        ("{hub}/org/small-model/resolve/main/{file}", "more than 10 redirects"),
        ("https://elsewhere.invalid/x", "ConnectError"),
        ("http://[", "is not https"),
    ],
)
def test_a_redirect_to_a_place_less_safe_is_not_followed(
    put: Callable[..., Repository], hub: Hub, tmp_path: Path, target: str, said: str
) -> None:
    name = "1_Pooling/config.json"
    put(sentence_transformer(), redirects={name: target.format(hub=hub.address, file=name)})
    with pytest.raises(ModelNotInstalled, match=said) as error:
        install()
    assert "\n" not in str(error.value)


def test_a_token_goes_to_no_other_host(
    put: Callable[..., Repository], hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    put(sentence_transformer(), gated=True)
    install()
    assert {token for path, token in hub.tokens if path.startswith("/cdn")} == {""}
    assert {token for path, token in hub.tokens if "/cdn" not in path} == {"Bearer hf_secret"}
