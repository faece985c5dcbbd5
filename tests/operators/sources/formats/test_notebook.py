import json

import pytest

from operators.sources.formats.notebook import notebook_text


def notebook(*cells: tuple[str, object], **more: object) -> bytes:
    made = [{"cell_type": kind, "source": source, "outputs": ["x" * 999]} for kind, source in cells]
    return json.dumps({"cells": made, "nbformat": 4, **more}).encode()


def test_prose_stays_and_code_stands_in_fences_without_outputs() -> None:
    data = notebook(
        ("markdown", ["# Title\n", "text"]),
        ("code", "print(1)"),
        ("raw", "  "),
        metadata={"kernelspec": {"language": "julia"}},
    )
    assert notebook_text(data) == "# Title\ntext\n\n```julia\nprint(1)\n```"


def test_an_old_notebook_has_worksheets() -> None:
    cells = [{"cell_type": "code", "input": ["a = 1"]}]
    data = json.dumps({"worksheets": [{"cells": cells}]}).encode()
    assert notebook_text(data) == "```python\na = 1\n```"


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b"null", b'"x"', b"[" * 200_000, b'{"cells": 7}', b"\xff\xfe\x00", b"{nb"],
)
def test_what_is_no_notebook_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        notebook_text(data)


def test_cells_of_any_shape_do_no_harm() -> None:
    cells = b'[1, null, [], {}, {"source": 5}, {"source": [1, null, "a", {}]}]'
    assert notebook_text(b'{"cells": ' + cells + b"}") == "a"
