import sys
from pathlib import Path

import pytest

from operators.sources.files import Skipped, read_file

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_a_file_of_up_to_the_limit_is_read_whole(tmp_path: Path, size: int) -> None:
    (tmp_path / "page").write_bytes(b"x" * size)
    assert read_file(bytes(tmp_path), b"page", 100).data == b"x" * size


def test_a_larger_file_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "page").write_bytes(b"x" * 101)
    with pytest.raises(Skipped, match="larger than 100 bytes"):
        read_file(bytes(tmp_path), b"page", 100)


@linux
def test_a_file_that_has_more_than_its_size_says_is_read_whole_or_skipped() -> None:
    whole = Path("/proc/version").read_bytes()  # its size is said to be 0
    assert read_file(b"/proc", b"version", len(whole)).data == whole
    with pytest.raises(Skipped, match=f"larger than {len(whole) - 1} bytes"):
        read_file(b"/proc", b"version", len(whole) - 1)
