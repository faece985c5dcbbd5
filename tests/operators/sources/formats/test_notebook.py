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


HOSTILE = [
    *(b'{"cells": "abc"}', b'{"cells": {"a": 1}}', b'{"worksheets": {}}', b"\0", b"<html>"),
    *(b'{"cells": [], "x": ' + b"9" * 6000 + b"}", b'{"cells": [], "x": ' + b"[" * 100_000),
    *(
        b'{"cells": NaN}',
        b'{"cells": nan}',
        b"\xef\xbb\xbf",
        b"PK\x03\x04",
        b'{"cells": [',
    ),
]


@pytest.mark.parametrize(
    "data",
    [
        *HOSTILE,
        b"",
        b"{}",
        b"[]",
        b"null",
        b'"x"',
        b"[" * 200_000,
        b'{"cells": 7}',
        b"\xff\xfe\x00",
        b"{nb",
    ],
)
def test_what_is_no_notebook_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"not a notebook|the notebook is no JSON") as refused:
        notebook_text(data)
    assert "\n" not in str(refused.value)


def test_outputs_may_have_what_json_has_not() -> None:
    assert notebook_text(notebook(("raw", "a"), outputs=[float("nan")])) == "a"


def test_cells_of_any_shape_do_no_harm() -> None:
    cells = b'[1, null, [], {}, {"source": 5}, {"source": [1, null, "a", {}]}]'
    assert notebook_text(b'{"cells": ' + cells + b"}") == "a"


@pytest.mark.parametrize("sheets", ['[{"cells": 7}]', '[3, {"cells": {"a": 1}}, null]'])
def test_worksheets_of_any_shape_do_no_harm(sheets: str) -> None:
    assert notebook_text(f'{{"worksheets": {sheets}}}'.encode()) == ""


@pytest.mark.parametrize("language", [["a"], {"a": 1}, "py\n```\n# Forged", "p" * 1000, "a b", 7])
def test_a_language_that_is_no_word_is_not_taken(language: object) -> None:
    data = notebook(("code", "x"), metadata={"kernelspec": {"language": language}})
    assert notebook_text(data) == "```python\nx\n```"


def test_code_does_not_end_its_own_fence() -> None:
    assert notebook_text(notebook(("code", "```\n# Forged"))) == ("````python\n```\n# Forged\n````")
