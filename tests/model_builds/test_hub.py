"""A hub that is hostile: nothing that it says names a file, and each odd answer is a line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import run_here
from hub_stub import NAME, Hub, Repository, install, running_hub, sentence_transformer
from huggingface_hub import constants
from own_authority import own_authority

from crosscorpus.model_builds import hub as hub_module
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
@pytest.mark.parametrize("value", HOSTILE_NAMES[:1])
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
        ({"sha": HOSTILE_NAMES[0]}, "sha: String should match"),
        ({"sha": None}, "has no commit with files"),
        ({"siblings": None}, "has no commit with files"),
        ({"siblings": [{"rfilename": 5}]}, "rfilename: Input should be a valid string"),
        *(
            ({"siblings": [{"rfilename": "config.json", "size": 1, "blobId": value}]}, "blobId")
            for value in (HOSTILE_NAMES[0], 5, "0" * 40 + "\n")
        ),
        *(
            (
                {"siblings": [{"rfilename": "a", "lfs": {"sha256": value, "size": 1}}]},
                "lfs.sha256",
            )
            for value in (HOSTILE_NAMES[0], None)
        ),
        *(
            ({"siblings": [{"rfilename": "a", "size": value}]}, "size: Input should be")
            for value in (-1, "many", 10**30, float("nan"))
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


def test_a_hub_without_https_is_refused_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://me:secret@hub.invalid:8080")
    with pytest.raises(ModelNotInstalled, match=r"^http://hub\.invalid:8080 is not https") as no:
        install()
    assert "secret" not in str(no.value)
    refused = run_here(("models", "install", f"hf:{NAME}"), {})
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)


@pytest.mark.usefixtures("waited")
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
    put: Callable[..., Repository], hub: Hub, target: str, said: str
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


# -- a hub that is busy, far away or behind a proxy ---------------------------------------------


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds: list[float] = []
    monkeypatch.setattr(hub_module.time, "sleep", seconds.append)
    return seconds


PLACES = (f"/api/models/{NAME}", f"/{NAME}/resolve/")


@pytest.mark.parametrize("place", PLACES)
def test_a_lost_connection_is_tried_again_and_a_busy_hub_is_a_line(
    hub: Hub, put: Callable[..., Repository], waited: list[float], place: str
) -> None:
    put(sentence_transformer())
    hub.faults += [(place, 429, {})]
    with pytest.raises(ModelNotInstalled, match="429") as one:
        install()
    assert (waited, "\n" in str(one.value)) == ([], False)
    hub.faults += [(place, 0, {})] * 2
    install()
    assert waited == [1.0, 2.0]
    assert load_embedder(f"hf:{NAME}").dimensions == 24


def test_a_download_that_advances_goes_on_however_often_the_connection_ends(
    hub: Hub, put: Callable[..., Repository], waited: list[float]
) -> None:
    # https://github.com/huggingface/huggingface_hub/issues/2822
    held = put(sentence_transformer(), cut={"model.safetensors": [9000] * 6})
    install()
    assert held.cut == {"model.safetensors": []}
    assert load_embedder(f"hf:{NAME}").dimensions == 24
    shutil.rmtree(hub_directory(NAME))
    shutil.rmtree(Path(constants.HF_HUB_CACHE))
    held.cut["model.safetensors"] = [0] * 9
    with pytest.raises(ModelNotInstalled, match="RemoteProtocolError"):
        install()
    assert held.cut["model.safetensors"] == [0] * 6


def test_a_hub_with_an_authority_of_its_own_says_what_to_set(
    put: Callable[..., Repository],
    waited: list[float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tls, proof = own_authority(tmp_path)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with running_hub(tls) as secure:
        secure.repositories[NAME] = Repository(sentence_transformer())
        monkeypatch.setenv("HF_ENDPOINT", secure.address)
        with pytest.raises(ModelNotInstalled, match=r"certificate is not trusted.*SSL_CERT_FILE"):
            install()
        assert waited == []
        monkeypatch.setenv("SSL_CERT_FILE", str(proof))
        install()
