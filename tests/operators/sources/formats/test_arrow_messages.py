"""The messages of real Arrow files."""

import random
from pathlib import Path

import pyarrow as pa
import pytest

from operators.sources.formats.arrow_messages import MAGIC, message_sizes


def sizes(path: Path) -> list[tuple[int, int]]:
    with pa.memory_map(str(path)) as mapped:
        mapped.seek(len(MAGIC))
        return list(message_sizes(mapped))


def written(path: Path, compression: str | None) -> Path:
    names = pa.array(["y" * 100_000, "z"] * 10).dictionary_encode()
    table = pa.table({"text": ["x" * 1_000_000] * 20, "name": names})
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(str(path), table.schema, options=options) as file:
        file.write_table(table)
    return path


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_a_message_has_the_size_to_which_its_buffers_unfold(
    compression: str | None, tmp_path: Path
) -> None:
    told = sizes(written(tmp_path / "x.arrow", compression))
    dictionary, batch = told[-2:]
    assert 100_000 < dictionary[1] < 101_000
    assert 20_000_000 < batch[1] < 20_001_000
    assert (batch[0] < 100_000) == (compression is not None)


def test_damaged_messages_are_a_value_error_or_one_of_arrow(tmp_path: Path) -> None:
    whole = written(tmp_path / "x.arrow", "zstd").read_bytes()
    chance = random.Random(3)
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 20)):
            content[chance.randrange(8, len(content))] = chance.randrange(256)
        (tmp_path / "damaged").write_bytes(content)
        try:
            sizes(tmp_path / "damaged")
        except (ValueError, pa.ArrowException, OSError):
            continue
