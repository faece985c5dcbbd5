"""What is read of a Word document."""

from __future__ import annotations

import pytest
from word_files import BODY, STRICT, W, archive, paragraph, part, relations, word

from operators.sources.formats.docx import read_docx

CORE = (
    '<c xmlns:dcterms="http://purl.org/dc/terms/"><dcterms:created>2020-01-02T03:04:05Z'
    "</dcterms:created><dcterms:modified>2021-05-06T00:00:00Z</dcterms:modified></c>"
)


def test_paragraphs_headings_breaks_and_dates_are_read() -> None:
    runs = "<w:p><w:r><w:t>one</w:t><w:br/><w:t>two</w:t><w:tab/><w:t>three</w:t></w:r></w:p>"
    table = f"<w:tbl><w:tr><w:tc>{paragraph('cell')}</w:tc></w:tr></w:tbl>"
    body = paragraph("Guide", "Title") + paragraph("Setup", "Heading2") + paragraph("") + runs
    found = read_docx(word(BODY.format(body + table), **{"docProps/core.xml": CORE}))
    assert found.text == "# Guide\n\n## Setup\n\none\ntwo\tthree\n\ncell"
    assert found.title == "Guide"
    assert found.dates == ("2020-01-02T03:04:05Z", "2021-05-06T00:00:00Z")


MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"


def test_each_text_of_nested_paragraphs_and_of_a_text_box_comes_once() -> None:
    box = f"<w:txbxContent>{paragraph('in the box')}</w:txbxContent>"
    other = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    both = f'<mc:AlternateContent xmlns:mc="{MC}">{other}</mc:AlternateContent>'
    body = f"<w:p>{both}<w:r><w:t>around it</w:t></w:r></w:p>{paragraph('after')}"
    assert read_docx(word(BODY.format(body))).text == "in the box\n\naround it\n\nafter"


def test_text_in_many_nested_paragraphs_is_not_multiplied() -> None:
    body = "<w:p>" * 240 + f"<w:t>{'a' * 100_000}</w:t>" + "</w:p>" * 240
    assert len(read_docx(word(BODY.format(body))).text) == 100_000


@pytest.mark.parametrize(
    "style", ["Heading0", "Heading7", "Heading12", "Heading123456", "Heading", "Heading1 ", "1"]
)
def test_a_heading_has_a_level_from_1_to_6(style: str) -> None:
    assert read_docx(word(BODY.format(paragraph("a", style)))).text == "a"
    assert read_docx(word(BODY.format(paragraph("a", "Heading6")))).text == "###### a"


def test_a_style_that_a_tracked_change_replaced_makes_no_heading() -> None:
    before = '<w:pPrChange><w:pPr><w:pStyle w:val="Heading1"/></w:pPr></w:pPrChange>'
    body = f"<w:p><w:pPr>{before}</w:pPr><w:r><w:t>a</w:t></w:r></w:p>"
    assert read_docx(word(BODY.format(body))).text == "a"


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def text_of(content: str, **parts: str) -> str:
    return read_docx(word(part("document", content), **parts)).text


def test_the_strict_format_is_read() -> None:
    assert read_docx(word(BODY.format(paragraph("a")).replace(W, STRICT))).text == "a"


def test_a_main_part_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="is not the text of a Word document"):
        read_docx(word(BODY.format(paragraph("a")).replace(W, "urn:unknown")))


@pytest.mark.parametrize("kinds", [{}, {"kinds": "http://purl.oclc.org/ooxml/officeDocument/"}])
@pytest.mark.parametrize("target", ["word/document2.xml", "/Main/the%20text.xml", "../x/y.xml"])
def test_the_main_part_is_where_the_package_says(target: str, kinds: dict[str, str]) -> None:
    name = target.removeprefix("/").removeprefix("../").replace("%20", " ")
    parts = {"_rels/.rels": relations(officeDocument=target, **kinds)}
    data = archive({**parts, name: BODY.format(paragraph("a"))})
    assert read_docx(data).text == "a"


def test_a_package_without_relationships_says_by_content_types_what_its_main_part_is() -> None:
    content = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        f'<Override PartName="/word/other.xml" ContentType="{content}"/></Types>'
    )
    body = BODY.format(paragraph("a"))
    found = read_docx(archive({"[Content_Types].xml": types, "word/other.xml": body}))
    assert found.text == "a"


def test_names_of_parts_may_have_backslashes_and_other_capitals() -> None:
    parts = {"_rels/.rels": relations(officeDocument="Word/Document.xml")}
    data = archive({**parts, "word\\document.xml": BODY.format(paragraph("a"))})
    assert read_docx(data).text == "a"


def test_hyphens_that_never_break_stay_and_optional_ones_go() -> None:
    in_run = "<w:r><w:t>CVE</w:t><w:noBreakHyphen/><w:t>2024\u20111</w:t></w:r>"
    optional = "<w:r><w:t>ops</w:t><w:softHyphen/><w:t>te\u00adam</w:t></w:r>"
    assert text_of(f"<w:p>{in_run}{run(' ')}{optional}</w:p>") == "CVE-2024-1 opsteam"


def test_characters_of_symbol_fonts_are_read_and_unknown_ones_seen() -> None:
    places = (("Symbol", "F06C"), ("Symbol", "00B3"), ("Wingdings", "F0FC"), ("Arial", "2192"))
    unknown = (("Webdings", "F021"), ("Arial", "D800"), ("Arial", "no"))
    symbols = [f'<w:sym w:font="{font}" w:char="{code}"/>' for font, code in places + unknown]
    assert text_of(f"<w:p><w:r>{''.join(symbols)}</w:r></w:p>") == "λ≥✓→\ufffd\ufffd\ufffd"


def m(tag: str, *content: str) -> str:
    return f"<m:{tag}>{''.join(content)}</m:{tag}>"


def t(text: str) -> str:
    return m("r", m("t", text))


FORMULAS = {
    "λ=κ": t("λ=κ"),
    "1/24": m("f", m("num", t("1")), m("den", t("24"))),
    "(a+b)/2": m("f", m("num", t("a+b")), m("den", t("2"))),
    "x_1^2": m("sSubSup", m("e", t("x")), m("sub", t("1")), m("sup", t("2"))),
    "√(a+b)": m("rad", m("deg"), m("e", t("a+b"))),
    "√[3]x": m("rad", m("deg", t("3")), m("e", t("x"))),
    "∑_(i=1)^n i": m(
        "nary",
        m("naryPr", '<m:chr m:val="∑"/>'),
        m("sub", t("i=1")),
        m("sup", t("n")),
        m("e", t("i")),
    ),
    "[a;b]": m(
        "d",
        m("dPr", '<m:begChr m:val="["/><m:sepChr m:val=";"/><m:endChr m:val="]"/>'),
        m("e", t("a")),
        m("e", t("b")),
    ),
    "sin x": m("func", m("fName", t("sin")), m("e", t("x"))),
    "a b; c d": m(
        "m", m("mr", m("e", t("a")), m("e", t("b"))), m("mr", m("e", t("c")), m("e", t("d")))
    ),
}


@pytest.mark.parametrize(("line", "formula"), FORMULAS.items(), ids=FORMULAS)
def test_a_formula_is_a_line_of_text(line: str, formula: str) -> None:
    content = f"<w:p>{run('so ')}{m('oMath', formula)}{run(' here')}</w:p>"
    assert text_of(content) == f"so {line} here"


def note(kind: str, identifier: int, text: str, author: str = "") -> str:
    return f'<w:{kind} w:id="{identifier}" w:author="{author}">{paragraph(text)}</w:{kind}>'


def reference(kind: str, identifier: int) -> str:
    return f'<w:r><w:{kind}Reference w:id="{identifier}"/></w:r>'


NOTES = {
    "word/footnotes.xml": part("footnotes", note("footnote", 1, "Bees.") + note("footnote", 2, "")),
    "word/endnotes.xml": part("endnotes", note("endnote", 1, "Ants.")),
    "word/comments.xml": part("comments", note("comment", 1, "Really?", "Ann")),
}


def test_a_note_follows_the_paragraph_that_refers_to_it_and_comes_once() -> None:
    kinds = ("footnote", "endnote", "comment")
    first = "".join(reference(kind, 1) for kind in kinds) + reference("footnote", 1)
    body = f"<w:p>{run('one')}{first}</w:p><w:p>{run('two')}{reference('footnote', 1)}</w:p>"
    found = text_of(body, **NOTES)
    assert found == "one\n\nBees.\n\nAnts.\n\nComment by Ann: Really?\n\ntwo"


def test_notes_without_a_reference_headers_and_footers_come_last_and_once() -> None:
    edges = {
        "word/header1.xml": part("hdr", paragraph("Top", "Title")),
        "word/header2.xml": part("hdr", paragraph("Top")),
        "word/footer1.xml": part("ftr", paragraph("Bottom")),
    }
    found = read_docx(word(part("document", paragraph("one")), **NOTES, **edges))
    assert found.text.split("\n\n") == [
        "one", "Bees.", "Ants.", "Comment by Ann: Really?", "Top", "Bottom"
    ]  # fmt: skip
    assert found.title is None


def test_a_part_is_where_the_main_part_says() -> None:
    parts = {
        "word/_rels/document.xml.rels": relations(footnotes="../n/f.xml", header="/n/h.xml"),
        "n/f.xml": NOTES["word/footnotes.xml"],
        "n/h.xml": part("hdr", paragraph("Top")),
    }
    assert text_of(paragraph("one"), **parts) == "one\n\nBees.\n\nTop"


def test_tracked_changes_count_as_accepted() -> None:
    changed = (
        f'{run("in ")}<w:del w:id="1"><w:r><w:delText>30</w:delText><w:t>30</w:t></w:r></w:del>'
        f'<w:ins w:id="2">{run("14")}</w:ins>{run(" days")}'
    )
    moved = f"<w:p><w:moveFrom>{run('moved')}</w:moveFrom></w:p>{paragraph('between')}"
    target = f"<w:p><w:moveTo>{run('moved')}</w:moveTo></w:p>"
    assert text_of(f"<w:p>{changed}</w:p>{moved}{target}") == "in 14 days\n\nbetween\n\nmoved"


def test_a_paragraph_whose_end_was_deleted_goes_on_in_the_next() -> None:
    mark = '<w:pPr><w:rPr><w:del w:id="1"/></w:rPr></w:pPr>'
    open_end = f"<w:p>{mark}{run('one ')}</w:p>"
    assert text_of(f"{open_end}{paragraph('two', 'Heading1')}") == "# one two"
    assert text_of(open_end) == "one"


def style(identifier: str, name: str, more: str = "") -> str:
    return (
        f'<w:style w:type="paragraph" w:styleId="{identifier}"><w:name w:val="{name}"/>'
        f"{more}</w:style>"
    )


STYLES = part(
    "styles",
    style("berschrift2", "heading 2")
    + style("1", "heading 1")
    + style("Mine", "My head", '<w:basedOn w:val="berschrift2"/>')
    + style("Plain", "No head", '<w:basedOn w:val="1"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr>')
    + style("Ebene", "Ebene", '<w:pPr><w:outlineLvl w:val="2"/></w:pPr>')
    + style("Titel", "Title")
    + style("Titre4", "Titre 4")
    + style("X", "X", '<w:basedOn w:val="Y"/>')
    + style("Y", "Y", '<w:basedOn w:val="X"/>')
    + style("Heading3", "Body Text"),
)


@pytest.mark.parametrize(
    ("name", "level"),
    [
        *(("berschrift2", 2), ("1", 1), ("Mine", 2), ("Plain", 0), ("Ebene", 3), ("Titel", 1)),
        *(("Titre4", 4), ("X", 0), ("Heading3", 0), ("Heading5", 5), ("Undefined", 0)),
    ],
)
def test_a_heading_is_told_by_what_its_style_is(name: str, level: int) -> None:
    found = text_of(paragraph("a", name), **{"word/styles.xml": STYLES})
    assert found == f"{'#' * level} a".strip()


@pytest.mark.parametrize("name", ["berschrift3", "Überschrift3", "标题 3", "Заголовок3", "Título3"])
def test_a_style_that_is_not_defined_is_told_by_its_name_in_many_languages(name: str) -> None:
    assert text_of(paragraph("a", name)) == "### a"


def test_the_outline_level_of_a_paragraph_makes_a_heading() -> None:
    outlined = "<w:p><w:pPr><w:outlineLvl w:val='{}'/></w:pPr>" + run("a<w:br/>").replace(
        "<w:br/></w:t>", "</w:t><w:br/><w:t>b</w:t>"
    ) + "</w:p>"  # fmt: skip
    assert text_of(outlined.format(1)) == "## a b"
    assert text_of(outlined.format(9)) == "a\nb"


def test_text_that_looks_like_a_heading_is_indented() -> None:
    assert text_of(paragraph("# a comment")) == " # a comment"


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr>"


def test_a_row_of_a_table_is_a_line() -> None:
    two = paragraph("a") + paragraph("b", "Heading1").replace("Heading1", "Other")
    rows = row(paragraph("Port"), paragraph("Owner")) + row(two, "") + row("", paragraph("Omar"))
    content = (
        f"<w:sdt><w:sdtContent>{row(paragraph('7'), paragraph('Lena'))}</w:sdtContent></w:sdt>"
    )
    assert text_of(f"{paragraph('x')}<w:tbl>{rows}{content}</w:tbl>{paragraph('y')}") == (
        "x\n\nPort | Owner\na b | \n | Omar\n7 | Lena\n\ny"
    )


def test_a_deleted_row_is_left_out() -> None:
    gone = row(paragraph("a"), paragraph("b")).replace(
        "<w:tr>", '<w:tr><w:trPr><w:del w:id="1"/></w:trPr>'
    )
    assert text_of(f"<w:tbl>{gone}{row(paragraph('c'), paragraph('d'))}</w:tbl>") == "c | d"


def test_a_table_for_the_layout_of_a_page_keeps_headings_and_tables() -> None:
    inner = f"<w:tbl>{row(paragraph('a'), paragraph('b'))}</w:tbl>"
    cell = paragraph("Left", "Heading2") + paragraph("text") + inner
    layout = f"<w:tbl>{row(cell, paragraph('right'))}{row(paragraph('one') + paragraph('two'))}"
    assert text_of(f"{layout}</w:tbl>").split("\n\n") == [
        "## Left", "text", "a | b", "right", "one", "two"
    ]  # fmt: skip


def test_text_in_content_controls_links_fields_and_tags_is_read() -> None:
    field = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGEREF x</w:instrText>'
        f'</w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>{run("field ")}'
    )
    wrapped = "".join(
        f"<w:{tag}>{run(tag)}</w:{tag}>"
        for tag in ("hyperlink", "smartTag", "fldSimple", "customXml")
    )
    control = f"<w:sdt><w:sdtContent>{paragraph('control')}</w:sdtContent></w:sdt>"
    stops = '<w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr>'
    found = text_of(f"<w:p>{stops}{field}{wrapped}</w:p>{control}")
    assert found == "field hyperlinksmartTagfldSimplecustomXml\n\ncontrol"


def test_a_document_without_text_has_a_note() -> None:
    assert read_docx(word(BODY.format(paragraph("")))).note == "it has no text: scanned?"
    assert read_docx(word(BODY.format(paragraph("a")))).note is None
