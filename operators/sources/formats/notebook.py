"""The text of a Jupyter notebook (.ipynb): its prose as it is, its code in fences, no outputs.

An output is data, often megabytes of it; what a notebook says is in its cells.
"""

import json
from typing import Any


def notebook_text(data: bytes) -> str:
    """The Markdown that the cells make.

    Raises:
        ValueError: it is no JSON, or no notebook.
    """
    try:
        found = json.loads(data)
    except RecursionError:
        raise ValueError("the notebook is nested too deeply") from None
    cells = _of(found, "cells")
    if not isinstance(cells, list):  # of version 3
        sheets = _of(found, "worksheets")
        sheets = sheets if isinstance(sheets, list) else []
        cells = [cell for sheet in sheets for cell in _of(sheet, "cells") or []]
        if not sheets:
            raise ValueError("not a notebook: it has no cells")
    spec = _of(_of(found, "metadata"), "kernelspec")
    language = _of(spec, "language") or "python"
    parts = []
    for cell in cells:
        source = _of(cell, "source") or _of(cell, "input") or ""
        lines = source if isinstance(source, list) else [source]
        text = "".join(line for line in lines if isinstance(line, str))
        if text.strip():
            code = _of(cell, "cell_type") == "code"
            parts.append(f"```{language}\n{text}\n```" if code else text)
    return "\n\n".join(parts)


def _of(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
