"""The day of a release, where the page of that release names it among the news.

A page that was printed to a PDF bears the day of the print in its information: years after the
release, and then an old version looks like the newest. Such pages often list the news, with dates.
"""

import re

_FIRST_PAGE = 1500  # characters; there the page must name the release too
_DAY = r"\((?P<day>[A-Z][a-z]{2,8}\.? [0-9]{1,2}, [0-9]{4}|[0-9]{4}-[0-9]{2}-[0-9]{2})\)"


def stated_release(text: str, version: str | None) -> str | None:
    r"""The day as written that ``text`` gives the release of ``version``; None without one.

    Args:
        text: of the page.
        version: as the name of the file has it; the beginning of the text has to name it too.

    >>> news = "Foo Release 3.5.4\n...\nFoo 3.5.4 released (/news/3-5-4.html) (Dec 20, 2024)"
    >>> stated_release(news, "3.5.4"), stated_release(news, "3.5.5")
    ('Dec 20, 2024', None)
    """
    if not version:
        return None
    name = rf"(?<![\w.]){re.escape(version)}(?![\w.]*\w)"
    if not re.search(name, text[:_FIRST_PAGE]):
        return None
    found = {
        m["day"] for m in re.finditer(rf"{name} (?:is )?released\b[^\n]{{0,120}}?{_DAY}", text)
    }
    return found.pop() if len(found) == 1 else None
