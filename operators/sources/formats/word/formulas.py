"""A formula of Word (``m:oMath``) as one line of text: ``x_1^2 = (a+b)/24``.

Without marks a fraction reads as another number: 1 over 24 as 124.
"""

from xml.etree.ElementTree import Element

_TEXTS = frozenset(("m:t", "w:t"))


def formula_text(element: Element) -> str:
    """The text of a formula, or of a part of one; tags are as ``package.Target`` has them.

    >>> def made(tag, *content):
    ...     element = Element(tag)
    ...     element.extend(content)
    ...     return element
    >>> one, many = made("m:t"), made("m:t")
    >>> one.text, many.text = "1", "24"
    >>> formula_text(made("m:f", made("m:num", one), made("m:den", many)))
    '1/24'
    """
    tag = element.tag
    if tag in _TEXTS:
        return element.text or ""
    if tag == "m:f":
        return f"{_group(element, 'm:num')}/{_group(element, 'm:den')}"
    if tag == "m:rad":
        degree = _argument(element, "m:deg")
        return f"√{f'[{degree}]' if degree else ''}{_group(element, 'm:e')}"
    if tag == "m:nary":
        sign = _property(element, "m:chr", "∫")
        return f"{sign}{_bounds(element)} {_argument(element, 'm:e')}"
    if tag == "m:func":
        return f"{_argument(element, 'm:fName')} {_argument(element, 'm:e')}"
    if tag == "m:sPre":
        return f"{_bounds(element)}{_group(element, 'm:e')}"
    if tag in ("m:sSub", "m:sSup", "m:sSubSup", "m:limLow", "m:limUpp"):
        return f"{_group(element, 'm:e')}{_bounds(element)}"
    if tag == "m:d":
        begin, end = _property(element, "m:begChr", "("), _property(element, "m:endChr", ")")
        return f"{begin}{_arguments(element, _property(element, 'm:sepChr', '|'))}{end}"
    if tag == "m:mr":
        return _arguments(element, " ")
    if tag == "m:eqArr":
        return _arguments(element, "; ")
    if tag == "m:m":
        return "; ".join(formula_text(row) for row in element if row.tag == "m:mr")
    return "".join(map(formula_text, element))


def _argument(element: Element, tag: str) -> str:
    return "".join(formula_text(child) for child in element if child.tag == tag).strip()


def _arguments(element: Element, separator: str) -> str:
    return separator.join(formula_text(child) for child in element if child.tag == "m:e")


def _group(element: Element, tag: str) -> str:
    text = _argument(element, tag)
    whole = len(text) <= 1 or text.isalnum() or (text[0] == "(" and text.find(")") == len(text) - 1)
    return text if whole else f"({text})"


def _bounds(element: Element) -> str:
    marks = {"m:sub": "_", "m:sup": "^", "m:lim": "_" if element.tag == "m:limLow" else "^"}
    return "".join(f"{mark}{text}" for tag, mark in marks.items() if (text := _group(element, tag)))


def _property(element: Element, tag: str, default: str) -> str:
    for properties in element:
        if properties.tag == f"{element.tag}Pr":
            for child in properties:
                if child.tag == tag:
                    return child.get("val", "")
    return default
