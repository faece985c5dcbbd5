"""Records of services as documents, by the maps that come along and by one's own."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.configuration.loader import shipped_maps
from operators.errors import CrosscorpusError, UnknownName
from operators.sources.formats.pandoc import program
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Document, ReadIssue
from operators.sources.reader import named_reader, reader_options, reader_source
from operators.sources.records.record_map import RecordMap, read_map
from operators.sources.records.record_source import mapped, records_source
from operators.sources.records.text_forms import markdown

ADF = {
    "type": "doc",
    "content": [
        {"type": "heading", "attrs": {"level": 2}, "content": [{"type": "text", "text": "Steps"}]},
        {
            "type": "paragraph",
            "content": [
                {"type": "text", "text": "Set "},
                {"type": "text", "text": "proxy", "marks": [{"type": "code"}]},
                {"type": "hardBreak"},
                {"type": "mention", "attrs": {"text": "@Bo"}},
                {
                    "type": "text",
                    "text": "docs",
                    "marks": [{"type": "link", "attrs": {"href": "https://x.example"}}],
                },
            ],
        },
        {
            "type": "bulletList",
            "content": [
                {
                    "type": "listItem",
                    "content": [{"type": "paragraph", "content": [{"type": "text", "text": t}]}],
                }
                for t in ("one", "two")
            ],
        },
        {
            "type": "codeBlock",
            "attrs": {"language": "py"},
            "content": [{"type": "text", "text": "a = 1"}],
        },
        {"type": "newNode", "content": [{"type": "text", "text": "kept"}]},
    ],
}
COMMENT = {
    "author": {"displayName": "Bo"},
    "created": "2026-01-06T09:00:00.000+0000",
    "body": "Why?",
}
ISSUE = {
    "key": "OPS-41",
    "fields": {
        "summary": "Logins loop",
        "creator": {"displayName": "Ada"},
        "created": "2026-01-05T10:00:00.000+0100",
        "status": {"name": "Done"},
        "project": {"key": "OPS"},
        "description": ADF,
        "comment": {"comments": [COMMENT]},
    },
}
NOTE = {
    "id": 5,
    "noteable_type": "MergeRequest",
    "noteable_iid": 88,
    "body": "Why not all?",
    "system": False,
}
NOTE |= {"author": {"name": "Ada"}, "created_at": "2026-01-08T11:00:00Z"}
NOTE |= {"position": {"new_path": "app/proxy.py", "new_line": 14}}
MERGE_REQUEST = {
    "iid": 88,
    "title": "Trust the balancer",
    "description": "Closes OPS-41",
    "author": {"name": "Bo"},
    "web_url": "https://gitlab.example/g/app/-/merge_requests/88",
    "created_at": "2026-01-08T10:00:00.000Z",
    "source_branch": "proxy",
    "merge_commit_sha": "0123abc",
}


def documents(path: Path, name: str, **how: Any) -> list[Any]:
    return list(records_source(path, read_map(name, shipped_maps()), **how).scan())


def written(folder: Path, *values: Any, name: str = "export.json") -> Path:
    """A file with each of the values after the other, as ``--paginate`` writes them."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(json.dumps(one) for one in values), "utf-8")
    return file


def test_an_issue_of_jira_has_its_text_comments_state_and_address(tmp_path: Path) -> None:
    file = written(
        tmp_path, {"issues": [ISSUE]}, {"issues": [{"key": "OPS-42", "fields": {"summary": "B"}}]}
    )
    issue, bare = documents(file, "jira", base_url="https://jira.example/")
    assert (issue.corpus, issue.document_id, issue.title) == (
        "ticket",
        "OPS-41",
        "OPS-41 Logins loop",
    )
    assert (issue.state, issue.uri) == ("Done", "https://jira.example/browse/OPS-41")
    assert issue.created_at.isoformat() == "2026-01-05T09:00:00+00:00"
    assert json.loads(issue.metadata) == {
        "authors": ["Ada", "Bo"],
        "item": "OPS-41",
        "project": "OPS",
    }
    assert issue.text == (
        "## Steps\n\nSet `proxy`\n@Bo[docs](https://x.example)\n\n- one\n- two\n\n```py\na = 1\n```"
        "\n\nkept\n\n**Bo, 2026-01-06**\n\nWhy?"
    )
    assert bare.text == bare.title == "OPS-42 B"  # without a text it is found by its title


def node(kind: str, *content: Any, **attributes: Any) -> dict[str, Any]:
    """A node of Atlassian's document format; a string is its text."""
    inner = [{"type": "text", "text": one} if isinstance(one, str) else one for one in content]
    return {"type": kind, "attrs": attributes, "content": inner}


@pytest.mark.parametrize(
    ("adf", "text"),
    [
        (node("taskList", node("taskItem", "one"), node("taskItem", "two")), "- one\n- two"),
        (
            node(
                "bulletList",
                node(
                    "listItem",
                    node("paragraph", "out"),
                    node("orderedList", node("listItem", node("paragraph", "in"))),
                ),
            ),
            "- out\n  - in",
        ),
        (node("expand", node("paragraph", "inside"), title="Full log"), "Full log\n\ninside"),
        (node("date", timestamp="1767571200000"), "2026-01-05"),
        (node("emoji", shortName=":warning:"), ":warning:"),
        (node("mediaSingle", node("media", id="x", alt="loop.png")), "loop.png"),
        (node("table", node("tableRow", node("tableCell", node("paragraph", "a")))), "| a |"),
    ],
)
def test_a_node_of_atlassians_format_reads_as_markdown(adf: dict[str, Any], text: str) -> None:
    document = node("doc", adf, node("paragraph", "end"))
    assert markdown([(None, document)], "adf", {}).startswith(text)


def test_a_comment_of_jira_that_only_a_role_may_see_is_left_out(tmp_path: Path) -> None:
    hidden = COMMENT | {"body": "secret", "visibility": {"type": "role", "value": "Admins"}}
    fields = ISSUE["fields"] | {"comment": {"comments": [hidden, COMMENT]}}
    (issue,) = documents(written(tmp_path, {"issues": [ISSUE | {"fields": fields}]}), "jira")
    assert "Why?" in issue.text
    assert "secret" not in issue.text


@pytest.mark.skipif(program() is None, reason="the extra office is not installed")
def test_the_markup_of_an_own_jira_becomes_markdown(tmp_path: Path) -> None:
    fields = ISSUE["fields"] | {"description": "h2. Steps\n\n{code}\na = 1\n{code}\n\n*now*"}
    (issue,) = documents(written(tmp_path, {"issues": [ISSUE | {"fields": fields}]}), "jira_server")
    assert "## Steps" in issue.text
    assert "**now**" in issue.text
    assert "**Bo, 2026-01-06**" in issue.text


def test_merge_requests_discussions_and_issues_of_gitlab_are_told_apart(tmp_path: Path) -> None:
    system = {"id": "s", "notes": [NOTE | {"system": True}]}
    issue = {
        "iid": 7,
        "issue_type": "issue",
        "title": "Loop",
        "description": "d",
        "state": "opened",
    }
    file = written(tmp_path, [MERGE_REQUEST, issue], [{"id": "d1", "notes": [NOTE]}, system])
    request, ticket, talk = documents(
        file, "gitlab", repo="g/app", base_url="https://gitlab.example/g/app"
    )
    assert (request.corpus, request.title) == ("review", "MR !88 Trust the balancer")
    assert json.loads(request.metadata)["commit"] == "0123abc"
    assert (ticket.corpus, ticket.document_id, ticket.state) == ("issue", "issues/7", "opened")
    assert (talk.corpus, talk.repo, talk.path) == ("review", "g/app", "app/proxy.py")
    assert talk.uri == "https://gitlab.example/g/app/-/merge_requests/88#note_5"
    assert json.loads(talk.metadata)["pr_number"] == json.loads(request.metadata)["pr_number"] == 88


def test_comments_on_issues_of_gitlab_are_read_and_what_is_confidential_is_not(
    tmp_path: Path,
) -> None:
    issue = {"iid": 7, "issue_type": "issue", "title": "Loop", "references": {"full": "g/app#7"}}
    note = NOTE | {"noteable_type": "Issue", "noteable_iid": 7, "position": None}
    file = written(
        tmp_path,
        [issue, issue | {"iid": 8, "confidential": True}],
        [
            {"id": "d2", "notes": [note, note | {"body": "secret", "internal": True}]},
            {"id": "d3", "notes": [NOTE | {"body": "secret", "internal": True}]},
        ],
    )
    ticket, comment = documents(file, "gitlab", base_url="https://gitlab.example/g/app")
    assert (ticket.repo, ticket.document_id) == ("g/app", "issues/7")
    assert (comment.corpus, comment.document_id) == ("issue", "issues/7/d2")
    assert comment.text == "**Ada, 2026-01-08**\n\nWhy not all?"
    assert comment.uri == "https://gitlab.example/g/app/-/issues/7#note_5"
    assert json.loads(comment.metadata)["issue_number"] == 7


def slack(folder: Path) -> Path:
    written(
        folder,
        [{"id": "U1", "real_name": "Ada L", "profile": {"display_name": "ada"}}],
        name="users.json",
    )
    written(folder, [{"id": "C9", "name": "general"}], name="channels.json")
    first = {
        "type": "message",
        "user": "U1",
        "ts": "1767607200.000100",
        "text": "Loop, <@U1>: <https://x.example|see> &amp; tell",
    }
    reply = {
        "type": "message",
        "user": "U2",
        "ts": "1767693600.000200",
        "text": "Fixed.",
        "thread_ts": first["ts"],
    }
    joined = {
        "type": "message",
        "subtype": "channel_join",
        "user": "U2",
        "ts": "1767693601.0",
        "text": "joined",
    }
    written(folder, [joined, reply], name="general/2026-01-06.json")  # before its thread's first
    written(folder, [first], name="general/2026-01-07.json")
    return folder


@pytest.mark.parametrize("zipped", [False, True])
def test_a_thread_of_slack_is_one_document_with_names_and_a_permalink(
    tmp_path: Path, zipped: bool
) -> None:
    path = slack(tmp_path / "export")
    if zipped:
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
            for file in path.rglob("*.json"):
                archive.write(file, file.relative_to(path))
        path = tmp_path / "export.zip"
    (thread,) = documents(path, "slack", base_url="https://t.slack.com")
    assert thread.title == "#general: Loop, @ada: see & tell"
    assert thread.uri == "https://t.slack.com/archives/C9/p1767607200000100"
    assert (
        thread.text == "**ada**\n\nLoop, @ada: [see](https://x.example) & tell\n\n**U2**\n\nFixed."
    )


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"text": "", "attachments": [{"fallback": "Deploy failed"}]}, "Deploy failed"),
        ({"text": "", "blocks": [{"type": "section", "text": {"text": "Disk full"}}]}, "Disk full"),
        ({"text": "", "files": [{"name": "a.pdf", "title": "The plan"}]}, "The plan"),
        ({"text": "Log:", "subtype": "file_share", "files": [{"title": "a.txt"}]}, "Log:"),
        ({"text": "waves", "subtype": "me_message"}, "waves"),
        ({"text": "<!subteam^S1|@oncall> <!here>"}, "@oncall @here"),
        ({"text": ""}, None),
        ({"text": "This message was deleted.", "subtype": "tombstone"}, None),
    ],
)
def test_a_message_of_slack_is_read_with_what_it_shows(
    tmp_path: Path, message: dict[str, Any], text: str | None
) -> None:
    message = {"type": "message", "ts": "1767607200.000100", "user": "U1"} | message
    written(tmp_path / "export", [message], name="general/2026-01-05.json")
    threads = [one for one in documents(tmp_path / "export", "slack") if isinstance(one, Document)]
    assert [one.text for one in threads] == ([f"**U1**\n\n{text}"] if text else [])


def test_direct_messages_of_slack_are_left_out_and_a_private_channel_has_a_link(
    tmp_path: Path,
) -> None:
    message = {"type": "message", "ts": "1767607200.000100", "user": "U1", "text": "word " * 50}
    for folder in ("D024BE91L", "mpdm-ada--bo-1", "deploys"):
        written(tmp_path / "export", [message], name=f"{folder}/2026-01-05.json")
    written(tmp_path / "export", [{"id": "G7", "name": "deploys"}], name="groups.json")
    (thread,) = documents(tmp_path / "export", "slack", base_url="https://t.slack.com")
    assert thread.uri == "https://t.slack.com/archives/G7/p1767607200000100"
    assert thread.title == f"#deploys: {'word ' * 21}..."


def test_mails_are_threads_without_what_they_quote(tmp_path: Path) -> None:
    head = (
        "From: Bo <bo@x>\nSubject: {}\nMessage-ID: <{}@x>\nDate: Mon, 5 Jan 2026 1{}:00:00 +0000\n"
    )
    one = head.format("Proxy", "a", 0) + "\nWho sets it?\n-- \nBo\n"
    two = (
        head.format("Re: Proxy", "b", 1)
        + "References: <a@x>\n\nOn Mon, 5 Jan Bo wrote:\n\n> Who sets it?\n\nWe do.\n"
    )
    file = tmp_path / "list.mbox"
    file.write_text("".join(f"From bo@x Mon Jan  5 10:00:00 2026\n{mail}\n" for mail in (two, one)))
    (thread,) = documents(file, "mail")
    assert (thread.title, thread.document_id) == ("Proxy", "<a@x>")
    assert thread.text == "**Bo**\n\nWho sets it?\n\n**Bo**\n\nWe do."
    for number, mail in enumerate((one, two)):
        (tmp_path / "box").mkdir(exist_ok=True)
        (tmp_path / "box" / f"{number}.eml").write_text(mail)
    assert [one.text for one in documents(tmp_path / "box", "mail")] == [thread.text]


MAIL = (
    "From: {}\nSubject: S\nMessage-ID: <{}>\nDate: {}\nContent-Type: text/plain; charset={}\n\n{}\n"
)
DAY = "Mon, 5 Jan 2026 10:00:00 +0000"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("Yes.\n\nOn Mon, 5 Jan 2026 at 10:00, Ada Love <ada@x.example>\nwrote:\n\n> Who?", "Yes."),
        ("Yes.\n\n-----Original Message-----\nFrom: Ada\nSent: Monday\n\nWho?", "Yes."),
        (">From now on the balancer only.", "From now on the balancer only."),
    ],
)
def test_a_mail_is_read_without_what_it_answers(tmp_path: Path, body: str, text: str) -> None:
    file = tmp_path / "list.mbox"
    file.write_text(f"From x {DAY}\n{MAIL.format('bo@x', 'a', DAY, 'utf-8', body)}")
    (thread,) = documents(file, "mail")
    assert thread.text == f"**bo@x**\n\n{text}"


def test_a_mail_with_a_damaged_header_is_read(tmp_path: Path) -> None:
    answer = MAIL.format('"Chen, Bo" <bo@x>', "b", "soon", "x-none", "Grüße")
    answer = answer.replace("Subject: S", "Subject: Re: S\nReferences: <a>")
    (tmp_path / "1.eml").write_text(answer, "utf-8")
    (tmp_path / "2.eml").write_text(MAIL.format("", "a", DAY, "utf-8", "Who?"))
    (thread,) = documents(tmp_path, "mail")
    assert (thread.title, thread.text) == ("S", "Who?\n\n**Chen, Bo**\n\nGrüße")
    assert thread.created_at.isoformat() == "2026-01-05T10:00:00+00:00"


def test_a_page_of_confluence_keeps_its_code(tmp_path: Path) -> None:
    html = "<h2>Head</h2><p>Only the balancer.</p>"
    html += "<ac:macro><ac:body><![CDATA[if a < b:\n  c]]></ac:body></ac:macro>"
    page = {"id": "7", "title": "Proxy", "space": {"key": "ENG"}, "ancestors": [{"title": "Ops"}]}
    page |= {"body": {"storage": {"value": html}}, "version": {"when": "2026-02-01T10:00:00.000Z"}}
    page |= {"_links": {"webui": "/spaces/ENG/pages/7"}}
    (read,) = documents(
        written(tmp_path, {"results": [page]}), "confluence", base_url="https://w.example/wiki"
    )
    assert (read.repo, read.path) == ("ENG", "Ops/Proxy")
    assert read.uri == "https://w.example/wiki/spaces/ENG/pages/7"
    assert read.text == "## Head\n\nOnly the balancer.\n\n    if a < b:\n      c"


@pytest.mark.parametrize(
    ("storage", "text"),
    [
        (
            '<p>See <ac:structured-macro ac:name="jira"><ac:parameter ac:name="serverId">a-b'
            '</ac:parameter><ac:parameter ac:name="key">OPS-41</ac:parameter>'
            "</ac:structured-macro>.</p>",
            "See OPS-41 .",
        ),
        (
            '<ac:structured-macro ac:name="code"><ac:parameter ac:name="language">py'
            '</ac:parameter><ac:parameter ac:name="title">a.py</ac:parameter>'
            "<ac:plain-text-body><![CDATA[a = 1]]></ac:plain-text-body></ac:structured-macro>",
            "a.py\n    a = 1",
        ),
        (
            '<p>By <ac:link><ri:page ri:content-title="On call" /><ac:plain-text-link-body>'
            "<![CDATA[who is < on]]></ac:plain-text-link-body></ac:link>, "
            '<ac:link><ri:page ri:space-key="E" ri:content-title="Login &amp; all" /></ac:link>'
            ' since <time datetime="2026-01-05" />.</p>',
            "By who is < on, Login & all since 2026-01-05.",
        ),
        (
            "<ac:task-list><ac:task><ac:task-id>1</ac:task-id><ac:task-status>incomplete"
            "</ac:task-status><ac:task-body>Tell all</ac:task-body></ac:task></ac:task-list>",
            "- Tell all",
        ),
        (
            '<ac:adf-extension><ac:adf-node type="panel"><ac:adf-attribute key="panel-type">note'
            "</ac:adf-attribute><ac:adf-content><p>Once</p></ac:adf-content></ac:adf-node>"
            "<ac:adf-fallback><p>Once</p></ac:adf-fallback></ac:adf-extension>",
            "Once",
        ),
        ("<p>On <time datetime='x'>5 May</time></p>", "On 5 May"),
    ],
)
def test_of_a_macro_the_text_stays_and_its_settings_do_not(storage: str, text: str) -> None:
    assert " ".join(markdown([(None, storage)], "html", {}).split()) == " ".join(text.split())


def test_a_page_of_the_second_interface_of_confluence_is_read(tmp_path: Path) -> None:
    page = {"id": "7", "title": "Proxy", "spaceId": "65538", "parentId": "1", "authorId": "5b"}
    page |= {"version": {"number": 2, "createdAt": "2026-02-01T10:00:00.000Z"}}
    page |= {"body": {"storage": {"representation": "storage", "value": "<p>Text</p>"}}}
    page |= {"_links": {"webui": "/spaces/ENG/pages/7"}}
    (read,) = documents(written(tmp_path, {"results": [page]}), "confluence")
    assert (read.repo, read.path, read.text) == ("65538", "Proxy", "Text")
    assert read.created_at.isoformat() == "2026-02-01T10:00:00+00:00"


def test_a_table_as_csv_is_records_whatever_parts_its_fields(tmp_path: Path) -> None:
    for mark in ",;\t":
        file = tmp_path / "issues.csv"
        file.write_text(
            f'\ufeffIssue key{mark}Summary{mark}Description\nOPS-1{mark}A{mark}"two\nlines"\n',
            "utf-8",
        )
        (issue,) = documents(file, "jira_csv")
        assert (issue.title, issue.text) == ("OPS-1 A", "two\nlines")


MAP = """
about: notes
documents:
  - {corpus: wiki, key: id, title: title, text: text, created_at: at, allowed: who, parts: more,
     part: {text: t}}
"""


def own_map(folder: Path, text: str = MAP) -> RecordMap:
    (folder / "own.yaml").write_text(text)
    return read_map(str(folder / "own.yaml"), {})


def test_what_is_no_record_of_the_map_is_an_issue_and_the_rest_is_read(tmp_path: Path) -> None:
    good: dict[str, Any] = {"id": "bad", "title": "A", "text": "t"}
    bad: list[dict[str, Any]] = [
        {"title": "no id"},
        good | {"text": {"a": 1}},
        good | {"at": "yesterday"},
        good | {"at": 1e300},
        good | {"who": 7},
        good | {"more": 3},
        good | {"more": [3]},
    ]
    file = written(tmp_path, *bad, good | {"id": "a"}, [[]], good | {"id": "b", "at": "2026"})
    items = list(records_source(file, own_map(tmp_path)).scan())
    assert [type(one) for one in items[: len(bad)]] == [ReadIssue] * len(bad)
    assert [one.document_id for one in items if isinstance(one, Document)] == ["a", "b"]


def test_records_that_fit_no_document_are_named_with_what_the_map_reads(tmp_path: Path) -> None:
    (issue,) = documents(written(tmp_path, {"issues": []}, {"x": 1}), "slack")
    assert not issue.failed
    assert "no record fits the map slack: An export of Slack" in issue.reason
    assert documents(written(tmp_path, [], name="empty.json"), "slack") == []


def test_a_given_file_of_another_ending_is_read_as_json(tmp_path: Path) -> None:
    good = {"id": "a", "title": "A", "text": "t"}
    file = written(tmp_path, good, name="export.txt")
    assert [one.document_id for one in records_source(file, own_map(tmp_path)).scan()] == ["a"]


def test_each_map_is_a_kind_of_source_so_that_pruning_one_service_keeps_another(
    tmp_path: Path,
) -> None:
    file = written(tmp_path, {})
    readers = {
        records_source(file, read_map(name, shipped_maps())).reader for name in ("jira", "zendesk")
    }
    assert readers == {"records_jira/1", "records_zendesk/1"}
    assert records_source(file, own_map(tmp_path)).reader == "records_own/1"


def test_an_address_without_its_protocol_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"give --base-url https://jira\.example"):
        documents(written(tmp_path, {}), "jira", base_url="jira.example")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("about: [", "no YAML"),
        ("about: a", "documents: Field required"),
        (MAP.replace("title:", "titel:"), "titel: .*did you mean 'title'"),
        (MAP.replace("text: text", "text: 'a ||'"), "no JMESPath"),
    ],
)
def test_a_map_that_is_none_says_where(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(CrosscorpusError, match=error):
        own_map(tmp_path, text)


def test_an_unknown_map_and_a_missing_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'slack'"):
        read_map("slakc", shipped_maps())
    with pytest.raises(SourceError, match="does not exist"):
        records_source(tmp_path / "nowhere", own_map(tmp_path))
    source = records_source(written(tmp_path, {"x": 1}, {"y": 2}), own_map(tmp_path))
    with pytest.raises(SourceError, match="records as the map says: notes"):
        source.check()


def test_no_shipped_map_is_longer_than_50_lines() -> None:
    for name, path in shipped_maps().items():
        assert len(path.read_text("utf-8").splitlines()) <= 50, name
        assert read_map(name, shipped_maps()).about


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ("key", "fields", "issues", "notes", "id", "iid", "type", "text", "ts", "thread", "parts")
)


@given(st.dictionaries(KEYS, JSON), st.sampled_from(sorted({*shipped_maps()} - {"jira_server"})))
def test_no_record_stops_a_map(record: Mapping[str, Any], name: str) -> None:
    read = read_map(name, shipped_maps())
    for _, row in mapped([("here", record)], read, {"repo": "", "base_url": ""}, {}):
        assert isinstance(row, dict | ReadIssue)


class Loader:
    """A reader as those of LlamaIndex."""

    def __init__(self, token: str) -> None:
        self.token = token

    def load_data(self, query: str) -> list[Any]:
        """One document, which has what was asked."""
        made = type("Made", (), {})()
        made.id_, made.text, made.metadata = "d1", f"about {query}", {"title": self.token}
        return [made]


def test_a_reader_of_llamaindex_and_any_iterable_are_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "options.yaml"
    file.write_text("init: {token: '${OWN_TOKEN}'}\nload: {query: proxies}\n")
    with pytest.raises(SourceError, match="the environment has no OWN_TOKEN"):
        reader_options(file)
    monkeypatch.setenv("OWN_TOKEN", "hidden")
    read = read_map("llamaindex", shipped_maps())
    source = named_reader(f"python:{__name__}:Loader", [], read, reader_options(file))
    (document,) = source.scan()
    assert (document.corpus, document.title, document.text) == ("wiki", "hidden", "about proxies")
    (record,) = reader_source(
        iter([{"id": "a", "title": "A", "text": "t"}]), own_map(tmp_path)
    ).scan()
    assert record.document_id == "a"
    for wrong in (7, object()):
        with pytest.raises(SourceError, match="is no reader"):
            reader_source(wrong)
    file.write_text("token: secret-word\n")
    with pytest.raises(SourceError) as error:
        reader_options(file)
    assert "secret-word" not in str(error.value)
