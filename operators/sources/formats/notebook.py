"""The text of a Jupyter notebook (.ipynb): its prose as shown, its code in fences, no outputs.

Outputs are data, often megabytes of it; the content is in the cells. nbconvert 7.17 was tried: it
refuses a notebook with one invalid cell, a fence in code ends the fence around it, and it takes 2 s
to start.
"""

import json
import re
from typing import Any

from operators.sources.formats.shown_text import shown_text

_TICKS = re.compile("`{3,}")
_WORD = re.compile(r"[\w+#.-]{1,40}")


def notebook_text(data: bytes) -> str:
    """The Markdown that the cells make.

    Raises:
        ValueError: it is no JSON, or no notebook.
    """
    try:
        notebook = json.loads(data)  # with NaN, which outputs have
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the notebook is no JSON that can be read: {error}") from None
    cells = _of(notebook, "cells")
    if not isinstance(cells, list):
        raise ValueError("not a notebook: it has no cells (if it is of 2014, save it with Jupyter)")
    spec = _of(_of(notebook, "metadata"), "kernelspec")
    stated = _of(spec, "language")
    language = stated if isinstance(stated, str) and _WORD.fullmatch(stated) else "python"
    parts = []
    for cell in cells:
        source = _of(cell, "source") or ""
        lines = source if isinstance(source, list) else [source]
        text = "".join(line for line in lines if isinstance(line, str))
        if text.strip():
            if _of(cell, "cell_type") == "code":
                fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
                text = f"{fence}{language}\n{text}\n{fence}"
            # each cell by itself: a comment that never closes ends with it
            parts.append(shown_text(text, "markdown"))
    return "\n\n".join(parts)


def _of(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None
