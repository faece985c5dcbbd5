"""The characters of ``w:sym``: a font that is no Unicode font, and a place in it."""

import re

_GREEK = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ"  # at A to Z; the small ones stand at a to z
_SMALL = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"
_SYMBOL = {
    **dict(enumerate(_GREEK, start=0x41)),
    **dict(enumerate(_SMALL, start=0x61)),
    **{0x22: "∀", 0x24: "∃", 0x27: "∋", 0x2A: "∗", 0x2D: "−", 0x40: "≅", 0x5C: "∴", 0x5E: "⊥"},
    **{code: chr(code) for code in (*range(0x28, 0x2A), *range(0x2B, 0x2D), *range(0x2E, 0x40))},
    **dict(enumerate("ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…", start=0xA1)),
    **dict(enumerate("ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈", start=0xC0)),
    **{0xE5: "∑", 0xF1: "〉", 0xF2: "∫"},
}
_WINGDINGS = {
    **{0x6C: "●", 0x6E: "■", 0x6F: "□", 0x71: "❑", 0x75: "◆", 0x76: "❖", 0x9F: "•", 0xA7: "▪"},
    **{0xA8: "☐", 0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE8: "➔", 0xF0: "⇨"},
    **{0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"},
}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}
_UNKNOWN = "\ufffd"


def symbol_text(font: str, place: str) -> str:
    """The character at a place (hexadecimal) of a font; U+FFFD for one that is not known.

    >>> symbol_text("Symbol", "F06C"), symbol_text("Arial", "2192")
    ('λ', '→')
    """
    if not re.fullmatch(r"[0-9A-Fa-f]{1,4}", place):
        return _UNKNOWN
    code = int(place, 16)
    if characters := _FONTS.get(font.strip().lower()):
        return characters.get(code & 0xFF if code >= 0xF000 else code, _UNKNOWN)
    private = 0xD800 <= code <= 0xF8FF  # surrogates too
    return _UNKNOWN if private or code < 0x20 else chr(code)
