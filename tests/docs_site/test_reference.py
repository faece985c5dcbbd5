"""The pages lead nowhere wrong and fetch nothing from elsewhere."""

from __future__ import annotations

from pathlib import Path

from tools.docs_site.check import faults


def test_a_broken_link_and_a_script_from_elsewhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="#x">1</a><a href="b.html">2</a><a href="#y">3</a>'
        '<a href="https://example.org">4</a><script src="https://example.org/a.js"></script>'
    )
    (tmp_path / "a.css").write_text(
        "@import url(//example.org/b.css); a { background: url(a.png) }"
    )
    assert [*faults(tmp_path)] == [
        "a.html fetches https://example.org/a.js",
        "a.html links b.html: no such file",
        "a.html links #y: no such anchor",
        "a.css fetches //example.org/b.css",
    ]
