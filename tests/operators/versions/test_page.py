from __future__ import annotations

import numpy as np

from operators.versions.normalized_names import normalize_names
from operators.versions.page import Page
from operators.versions.version_key import version_key


def test_two_pages_are_two_things_even_with_equal_values() -> None:
    def page() -> Page:
        names = normalize_names("docs/v1.2/a.md", "A", "a", None)
        order = (1, version_key("1.2"), 0.0)
        return Page("key", "", names, order, None, None, np.empty(0, "<u4"))

    one, two = page(), page()
    assert one != two
    assert len({one, two}) == 2
