"""Real Parquet files, whole and damaged."""

import random
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from operators.errors import CrosscorpusError
from operators.sources.jsonl import documents_source
from operators.sources.protocol import MAX_TEXT

ROWS = {"doc_id": ["a", "b", "c"], "corpus": ["docs"] * 3, "text": ["One.", "Two.", None]}
MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def parquet(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def plain(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    return parquet(path, columns, use_dictionary=False, write_statistics=False, **options)


def documents(texts: Any, **columns: Any) -> dict[str, Any]:
    names = [f"d{number}" for number in range(len(texts))]
    return {"doc_id": names, "corpus": ["docs"] * len(names), "text": texts, **columns}


def read(path: Path) -> list[Any]:
    return list(documents_source(path).scan())


def test_a_row_is_the_document_that_a_line_would_be(tmp_path: Path) -> None:
    columns = {
        **ROWS,
        "created_at": [MOMENT, None, None],
        "title": pa.array(["T", None, None]).dictionary_encode(),
        "metadata": [{"a": 1}, {"a": None}, None],
        "cost": pa.array([Decimal("1.5"), None, None]),
        "day": pa.array([date(2026, 1, 2), None, None]),
        "raw": pa.array([b"\0", None, None]),
        "tags": [["x", "y"], [], None],
    }
    first, second, issue = read(parquet(tmp_path / "any.name", columns))
    assert (first.title, first.text, first.created_at) == ("T", "One.", MOMENT)
    assert first.metadata == '{"a": 1, "cost": "1.5", "day": "2026-01-02", "tags": ["x", "y"]}'
    assert (second.created_at, second.metadata) == (None, '{"tags": []}')
    assert str(issue) == "any.name: row 3: text is missing"


def test_metadata_is_an_object_a_map_or_json(tmp_path: Path) -> None:
    pairs = pa.array([[("k", "v")]], pa.map_(pa.string(), pa.string()))
    for column in (pairs, ['{"k": "v"}'], [{"k": "v"}]):
        one = {name: values[:1] for name, values in ROWS.items()} | {"metadata": column}
        (document,) = read(parquet(tmp_path / "m.parquet", one))
        assert document.metadata == '{"k": "v"}'
    (issue,) = read(parquet(tmp_path / "m.parquet", one | {"metadata": ["{"]}))
    assert issue.where == "m.parquet: row 1"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (ROWS | {"text": [1, 2, 3]}, "the column text is int64, not string"),
        ({"doc_id": ["a"], "corpus": ["docs"]}, "has no column text"),
    ],
)
def test_a_column_that_is_wrong_ends_the_scan_in_one_line(
    columns: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(CrosscorpusError, match=said) as error:
        read(parquet(tmp_path / "x.parquet", columns))
    assert "\n" not in str(error.value)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"])] * 4, ["doc_id", "corpus", "text", "text"])
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(CrosscorpusError, match="two columns are called 'text'"):
        read(tmp_path / "x.parquet")


def test_text_that_is_no_utf_8_costs_its_row(tmp_path: Path) -> None:
    broken = pa.Array.from_buffers(pa.string(), 3, pa.array([b"ok", b"\xff\xfe", b"ok"]).buffers())
    first, issue, third = read(parquet(tmp_path / "x.parquet", ROWS | {"text": broken}))
    assert (first.text, third.text) == ("ok", "ok")
    assert str(issue).startswith("x.parquet: row 2: UnicodeDecodeError")


def test_a_damaged_file_is_one_line_and_never_ends_the_process(tmp_path: Path) -> None:
    rows = {name: (values * 400)[:1000] for name, values in ROWS.items()}
    rows["doc_id"] = [f"d{n}" for n in range(1000)]
    chance = random.Random(7)
    whole = parquet(tmp_path / "w", rows).read_bytes()
    for number in range(60):
        content = bytearray(whole)
        for _ in range(chance.randint(1, 30)):
            content[chance.randrange(4, len(content))] = chance.randrange(256)
        del content[chance.choice([len(content), chance.randrange(4, len(content))]) :]
        (tmp_path / f"damaged-{number}").write_bytes(content)
    program = (
        "import sys; from operators.errors import CrosscorpusError\n"
        "from operators.sources.jsonl import documents_source\n"
        "for path in sys.argv[1:]:\n"
        "    try: print(len(list(documents_source(path).scan())))\n"
        "    except CrosscorpusError as error: print(repr(str(error)))\n"
    )
    command = [sys.executable, "-c", program, *map(str, sorted(tmp_path.glob("damaged-*")))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 60), done.stderr


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to read a peak from")
def test_memory_stays_with_one_large_row_group_and_a_text_that_all_rows_share(
    tmp_path: Path,
) -> None:
    count = 25_000
    rows = {
        "doc_id": pa.array(map(str, range(count))),
        "corpus": pa.array(["docs"] * count),
        "text": pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), ["x" * 20_000]),
    }
    parquet(tmp_path / "x.parquet", rows, row_group_size=count)
    program = (
        "import re, sys; from operators.sources.parquet_documents import parquet_rows\n"
        "from pathlib import Path\n"
        "print(sum(1 for _ in parquet_rows(Path(sys.argv[1]), lambda share: None)))\n"
        "status = Path('/proc/self/status').read_text()\n"  # ru_maxrss counts the parent's peak too
        "print(int(re.search('VmHWM:[^0-9]*([0-9]+)', status)[1]) // 1024)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "x.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    read_rows, megabytes = map(int, done.stdout.split())
    assert read_rows == count
    assert megabytes < 500


MEGABYTE = 1_000_000
PROGRAM = """
import re, resource, sys
from pathlib import Path
from operators.errors import CrosscorpusError
from operators.sources.jsonl import documents_source
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
for path in sys.argv[1:]:
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    try:
        items = documents_source(path).scan()
        print(len([item.reason for item in items if hasattr(item, "reason")]), "left out")
    except CrosscorpusError as error:
        print(error)
    status = Path("/proc/self/status").read_text()
    print(int(re.search("VmHWM:[^0-9]*([0-9]+)", status)[1]) // 1024)
"""


def long_texts(count: int, size: int) -> list[str]:
    """Texts that compress to nothing, each another."""
    return [f"{number:9}" + "x" * size for number in range(count)]


def shared(count: int, text: str) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), [text])


BOMBS: list[tuple[Callable[..., Path], Callable[[], dict[str, Any]], str]] = [
    (plain, lambda: documents(long_texts(12, 25 * MEGABYTE)), "text unfolds to over"),
    (parquet, lambda: documents(shared(2_000, "x" * MEGABYTE)), "it unfolds to over"),
    (plain, lambda: documents(long_texts(4, 25 * MEGABYTE)), "4 left out"),
    (parquet, lambda: documents(["a"], tags=[["x" * MEGABYTE] * 100]), "1 left out"),
    (parquet, lambda: documents(["a"], n=[np.zeros(40 * MEGABYTE, np.int8)]), "n.list.element"),
]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to read a peak from")
def test_a_small_file_that_stands_for_gigabytes_is_read_in_little_memory(tmp_path: Path) -> None:
    paths = []
    for number, (write, columns, _) in enumerate(BOMBS):
        paths.append(write(tmp_path / f"bomb{number}", columns(), compression="zstd"))
        assert paths[-1].stat().st_size < MEGABYTE
    command = [sys.executable, "-c", PROGRAM, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    told = done.stdout.splitlines()
    for (*_, said), line, megabytes in zip(BOMBS, told[::2], told[1::2], strict=True):
        assert said in line
        assert int(megabytes) < 900, said


def test_a_text_that_is_too_long_costs_its_row_alone(tmp_path: Path) -> None:
    texts = ["One.", "x" * (MAX_TEXT + 1), "Three."]
    first, issue, third = read(parquet(tmp_path / "x.parquet", documents(texts)))
    assert (first.text, third.text) == ("One.", "Three.")
    assert issue.failed
    assert str(issue) == "x.parquet: row 2: it has 20,000,007 bytes, at most 20,000,000 are taken"


def test_a_file_without_rows_is_said_to_have_none(tmp_path: Path) -> None:
    (issue,) = read(parquet(tmp_path / "x.parquet", documents(pa.array([], pa.string()))))
    assert (str(issue), issue.failed) == ("x.parquet: it has no rows", False)
    (tmp_path / "x.parquet").write_bytes(b"")
    (issue,) = read(tmp_path / "x.parquet")
    assert str(issue) == "x.parquet: it has no rows"
