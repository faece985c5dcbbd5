"""The result of a drawing method of a driver: DOT text that a notebook shows and a file can store.

It has the methods of ``graphviz.Digraph``, which Hamilton's own methods return: ``source``,
``pipe``, ``save``, ``render``. That package needs the program ``dot``; this class can also use the
wheel pygraphviz.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dataflow.visualization.png import RenderError, draw


@dataclass(frozen=True)
class GraphDrawing:
    """A picture of a graph."""

    source: str  # its DOT text

    def pipe(self, format: str = "png") -> bytes:
        """The picture in one of Graphviz's formats (``png``, ``svg``, ``pdf``, ...).

        Raises:
            RenderError: Graphviz is missing, or does not know the format.
        """
        return draw(self.source, format=format)

    def save(self, filename: str | Path) -> str:
        """Write the DOT text, and return the file's name."""
        Path(filename).write_text(self.source, encoding="utf-8")
        return str(filename)

    def render(self, filename: str | Path, format: str | None = None) -> str:
        """Write the picture, and return the file's name.

        Args:
            filename: of the file; without a suffix it gets that of the format.
            format: as for :meth:`pipe`; None: by the file's suffix, else ``png``.

        Raises:
            RenderError: as :meth:`pipe`.
        """
        path = Path(filename)
        kind = format or path.suffix.removeprefix(".") or "png"
        path = path.with_suffix(f".{kind}")
        path.write_bytes(self.pipe(kind))
        return str(path)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Its form in a notebook: a picture, or text if Graphviz is missing."""
        try:
            return {"image/svg+xml": self.pipe("svg").decode()}
        except RenderError:
            return {"text/plain": self.source}
