"""Records of services as documents, by the maps that come along and by one's own."""

from __future__ import annotations

import io
import json
import os
import time
import traceback
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import github_shapes as github
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.configuration.loader import shipped_maps
from operators.errors import CrosscorpusError, UnknownName
from operators.sources.formats.pandoc import program
from operators.sources.jsonl import SourceError
from operators.sources.protocol import Document, ReadIssue
from operators.sources.reader import named_reader, reader_options, reader_source
from operators.sources.records import record_files
from operators.sources.records.record_map import RecordMap, read_map
from operators.sources.records.record_source import (
    fields_given,
    mapped,
    records_source,
    standard_input,
)
from operators.sources.records.text_forms import markdown
from tests.support.whole_scan import read_all


def node(kind: str, *content: Any, **attributes: Any) -> dict[str, Any]:
    """A node of Atlassian's document format; a string is its text."""
    inner = [{"type": "text", "text": one} if isinstance(one, str) else one for one in content]
    return {"type": kind, "attrs": attributes, "content": inner}


ADF = node(
    "doc",
    node("heading", "Steps", level=2),
    node(
        "paragraph",
        "Set ",
        {"type": "text", "text": "proxy", "marks": [{"type": "code"}]},
        node("hardBreak"),
        node("mention", text="@Bo"),
        {
            "type": "text",
            "text": "docs",
            "marks": [{"type": "link", "attrs": {"href": "https://x.example"}}],
        },
    ),
    node("bulletList", *(node("listItem", node("paragraph", one)) for one in ("one", "two"))),
    node("codeBlock", "a = 1", language="py"),
    node("newNode", "kept"),
)
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
    "description": "Closes OPS-41, fixes #7, not `fixes #9`",
    "author": {"name": "Bo"},
    "web_url": "https://gitlab.example/g/app/-/merge_requests/88",
    "created_at": "2026-01-08T10:00:00.000Z",
    "source_branch": "feature/OPS-40-proxy",
    "merge_commit_sha": "0123abc",
}


def documents(path: Path, name: str, **how: Any) -> list[Any]:
    return read_all(records_source(path, read_map(name, shipped_maps()), **how))


def written(folder: Path, *values: Any, name: str = "export.json") -> Path:
    """A file with each of the values after the other, as ``--paginate`` writes them."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(json.dumps(one) for one in values), "utf-8")
    return file


def zip_of(file: Path, **members: str) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
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
    assert request.text.endswith("\n\nBranch `feature/OPS-40-proxy`")  # which names a ticket
    told = json.loads(request.metadata)
    assert (told["commit"], told["closes"]) == ("0123abc", [7])
    assert (ticket.corpus, ticket.document_id, ticket.state) == ("issue", "issues/7", "opened")
    assert (talk.corpus, talk.repo, talk.path) == ("review", "g/app", "app/proxy.py")
    assert talk.uri == "https://gitlab.example/g/app/-/merge_requests/88#note_5"
    assert json.loads(talk.metadata)["pr_number"] == told["pr_number"] == 88


def test_exports_of_github_are_issues_pull_requests_threads_and_reviews(tmp_path: Path) -> None:
    written(tmp_path, [github.issue(3), github.issue(7, pull=True)], name="all/issues.json")
    talk = [
        github.issue_comment(60, 3, user=github.user("hubot")),
        github.issue_comment(61, 7, pull=True),
    ]
    written(tmp_path, talk, name="all/talk.json")
    written(
        tmp_path, [github.comment(9, 7, reply_to=5), github.comment(5, 7)], name="all/threads.json"
    )
    said = [github.review(80, 7), github.review(81, 7, body="")]
    said += [github.review(82, 7, state="PENDING")]
    written(tmp_path, said, name="all/reviews.json")
    found = {one.document_id: one for one in documents(tmp_path / "all", "github")}
    assert set(found) == {
        "issues/3", "pull/7", "pull/7#discussion_r5", "pull/7#pullrequestreview-80"
    }  # fmt: skip
    issue, thread = found["issues/3"], found["pull/7#discussion_r5"]
    assert (issue.corpus, issue.repo, issue.title) == ("issue", "org/app", "#3 Title 3")
    assert issue.text == "**octocat**\n\nTrouble 3.\n\n**hubot**\n\nWord 60."
    assert json.loads(issue.metadata)["issue_number"] == 3
    assert (thread.corpus, thread.path, thread.title) == ("review", "src/app.py", "PR #7")
    assert json.loads(thread.metadata)["pr_number"] == 7
    assert "Word 61." in found["pull/7"].text


def test_a_comment_of_github_without_its_issue_leaves_the_stored_issue(tmp_path: Path) -> None:
    (fault,) = documents(written(tmp_path, [github.issue_comment(60, 9)]), "github")
    assert (fault.failed, fault.key) == (True, ("issue", "org/app", "issues/9"))


def test_what_markdown_hides_is_no_text_of_a_record(tmp_path: Path) -> None:
    body = "Sort vans. <!-- run `make lint` -->"
    (issue,) = documents(written(tmp_path, [github.issue(3, body=body)]), "github")
    assert issue.text == "**octocat**\n\nSort vans."


def test_comments_on_issues_of_gitlab_are_read_and_internal_ones_are_not(
    tmp_path: Path,
) -> None:
    issue = {"iid": 7, "issue_type": "issue", "title": "Loop", "references": {"full": "g/app#7"}}
    note = NOTE | {"noteable_type": "Issue", "noteable_iid": 7, "position": None}
    file = written(
        tmp_path,
        [issue],
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


def test_whispers_of_discourse_and_internal_notes_of_zendesk_are_left_out(tmp_path: Path) -> None:
    posts = [
        {"username": "ada", "cooked": "<p>Hi</p>", "post_type": 1},
        {"username": "bo", "cooked": "<p>secret</p>", "post_type": 4},
    ]
    topic = {"id": 7, "title": "T", "slug": "t", "post_stream": {"posts": posts}}
    (read,) = documents(written(tmp_path, topic), "discourse")
    assert read.text == "**ada**\n\nHi"
    ticket = {"id": 35, "subject": "S", "description": "d", "status": "open"}
    comments = [{"body": "yes", "public": True}, {"body": "secret", "public": False}]
    gone = ticket | {"id": 36, "status": "deleted"}
    file = written(tmp_path, {"tickets": [ticket | {"comments": comments}, gone]})
    (read,) = documents(file, "zendesk")
    assert "yes" in read.text
    assert "secret" not in read.text


def test_an_issue_of_redmine_alone_or_in_a_list_is_read_without_private_notes(
    tmp_path: Path,
) -> None:
    notes = [{"notes": "yes"}, {"notes": "secret", "private_notes": True}, {"notes": ""}]
    issue = {"id": 7, "subject": "S", "description": "d", "is_private": False, "journals": notes}
    hidden = {"id": 9, "subject": "secret", "is_private": True}
    file = written(tmp_path, {"issue": issue}, {"issues": [issue | {"id": 8}, hidden]})
    one, two = documents(file, "redmine")
    assert (one.title, one.text, two.document_id) == ("#7 S", "d\n\nyes", "8")


def message(**fields: Any) -> dict[str, Any]:
    """A message of Slack, as an export has it."""
    return {"type": "message", "ts": "1767607200.000100", "user": "U1"} | fields


def slack(folder: Path) -> Path:
    people = [{"id": "U1", "real_name": "Ada L", "profile": {"display_name": "ada"}}]
    written(folder, people, name="users.json")
    written(folder, [{"id": "C9", "name": "general"}], name="channels.json")
    first = message(text="Loop, <@U1>: <https://x.example|see> &amp; tell")
    reply = message(user="U2", ts="1767693600.000200", text="Fixed.", thread_ts=first["ts"])
    joined = message(subtype="channel_join", user="U2", ts="1767693601.0", text="joined")
    written(folder, [joined, reply], name="general/2026-01-06.json")  # before its thread's first
    written(folder, [first], name="general/2026-01-07.json")
    return folder


@pytest.mark.parametrize("zipped", [False, True])
def test_a_thread_of_slack_is_one_document_with_names_and_a_permalink(
    tmp_path: Path, zipped: bool
) -> None:
    path = slack(tmp_path / "export")
    if zipped:
        files = {str(file.relative_to(path)): file.read_text() for file in path.rglob("*.json")}
        path = zip_of(tmp_path / "export.zip", **files)
    (thread,) = documents(path, "slack", base_url="https://t.slack.com")
    assert thread.title == "#general: Loop, @ada: see & tell"
    assert thread.uri == "https://t.slack.com/archives/C9/p1767607200000100"
    assert (
        thread.text == "**ada**\n\nLoop, @ada: [see](https://x.example) & tell\n\n**U2**\n\nFixed."
    )


def test_no_text_of_a_service_takes_time_that_explodes() -> None:
    node: dict[str, Any] = {"type": "text", "text": "deep"}
    for _ in range(60):
        node = {"type": "bulletList", "content": [node]}
    heading = {"type": "heading", "attrs": {"level": 10**9}, "content": [node]}
    began = time.monotonic()
    assert markdown([(None, heading)], "adf", {}).startswith("###### deep")
    assert markdown([(None, "<![CDATA[" * 100_000)], "html", {})
    assert markdown([(None, "-- \n" * 500_000 + "a" * 2_000)], "mail", {})
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("fields", "text"),
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
    tmp_path: Path, fields: dict[str, Any], text: str | None
) -> None:
    written(tmp_path / "export", [message(**fields)], name="general/2026-01-05.json")
    threads = [one for one in documents(tmp_path / "export", "slack") if isinstance(one, Document)]
    assert [one.text for one in threads] == ([f"**U1**\n\n{text}"] if text else [])


def test_direct_messages_of_slack_are_left_out_and_a_private_channel_has_a_link(
    tmp_path: Path,
) -> None:
    said = message(text="word " * 50)
    for folder in ("D024BE91L", "mpdm-ada--bo-1", "deploys"):
        written(tmp_path / "export", [said], name=f"{folder}/2026-01-05.json")
    written(tmp_path / "export", [{"id": "G7", "name": "deploys"}], name="groups.json")
    (thread,) = documents(tmp_path / "export", "slack", base_url="https://t.slack.com")
    assert thread.uri == "https://t.slack.com/archives/G7/p1767607200000100"
    assert thread.title == f"#deploys: {'word ' * 21}..."


HEAD = b"From: Bo <bo@x>\nSubject: Proxy\nDate: Mon, 5 Jan 2026 10:00:00 +0000\n"


def mailbox(folder: Path, *mails: bytes) -> Path:
    """A file of mails, one after the other."""
    file = folder / "list.mbox"
    file.write_bytes(b"".join(b"From bo@x Mon Jan  5 10:00:00 2026\n%s\n" % one for one in mails))
    return file


def test_mails_are_threads_without_what_they_quote(tmp_path: Path) -> None:
    one = HEAD + b"Message-ID: <a@x>\n\nWho sets it?\n-- \nBo\n"
    two = HEAD.replace(b"Proxy", b"Re: Proxy").replace(b" 10:", b" 11:")
    two += b"Message-ID: <b@x>\nReferences: <a@x>\n\n"
    two += b"On Mon, 5 Jan Bo wrote:\n\n> Who sets it?\n\nWe do.\n"
    file = mailbox(tmp_path, two, one)
    (thread,) = documents(file, "mail")
    assert (thread.title, thread.document_id) == ("Proxy", "<a@x>")
    assert thread.text == "**Bo**\n\nWho sets it?\n\n**Bo**\n\nWe do."
    for number, mail in enumerate((one, two)):
        (tmp_path / "box").mkdir(exist_ok=True)
        (tmp_path / "box" / f"{number}.eml").write_bytes(mail)
    assert [one.text for one in documents(tmp_path / "box", "mail")] == [thread.text]


@pytest.mark.parametrize(
    ("mail", "text"),
    [
        (b"Message-ID: <[a]@x>\n\nhi\n", "hi"),
        (b'To: <@@@>, "\nContent-Type: ;;;\nMessage-ID: <a@x>\n\nhi\n', "hi"),
        (b"Content-Type: text/plain; charset=of-ours\n\nhi \xc3\xa9\n", "hi é"),
        (b"Content-Type: text/html\n\n<p>hi <b>all</b></p>\n", "hi all"),
        (b'Content-Type: multipart/mixed; boundary="b"\n\n--b\n\nhi\n--b--\n', "hi"),
        (
            b'Content-Type: multipart/alternative; boundary="b"\n\n--b\n\n\n'
            b"--b\nContent-Type: text/html\n\n<p>hi</p>\n--b--\n",
            "hi",
        ),
        (b"\nhi\n", "hi"),  # without message-id
    ],
)
def test_a_mail_of_odd_form_keeps_its_text(tmp_path: Path, mail: bytes, text: str) -> None:
    (tmp_path / "one.eml").write_bytes(HEAD + mail)
    (read,) = documents(tmp_path / "one.eml", "mail")
    assert read.text == f"**Bo**\n\n{text}"


def test_a_date_of_a_mail_without_a_zone_is_utc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        (tmp_path / "one.eml").write_bytes(HEAD.replace(b"+0000", b"-0000") + b"\nhi\n")
        (read,) = documents(tmp_path / "one.eml", "mail")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert read.created_at.isoformat() == "2026-01-05T10:00:00+00:00"


def test_a_line_of_a_mail_that_begins_with_from_begins_no_mail(tmp_path: Path) -> None:
    mails = [HEAD + b"Message-ID: <%d@x>\n\none\nFrom here on\nit goes\n" % n for n in (1, 2)]
    read = documents(mailbox(tmp_path, *mails), "mail")
    assert [one.text for one in read] == ["**Bo**\n\none\nFrom here on\nit goes"] * 2


def test_a_maildir_is_read_without_links(tmp_path: Path) -> None:
    for name in ("cur", "new", "tmp"):
        (tmp_path / "box" / name).mkdir(parents=True)
    (tmp_path / "box" / "cur" / "1.host:2,S").write_bytes(HEAD + b"\nhi\n")
    (tmp_path / "outside").write_bytes(HEAD + b"\nsecret\n")
    (tmp_path / "box" / "new" / "2.host").symlink_to(tmp_path / "outside")
    assert [one.text for one in documents(tmp_path / "box", "mail")] == ["**Bo**\n\nhi"]
    (tmp_path / "box" / "new" / "2.host").unlink()
    (tmp_path / "box" / "new").rmdir()  # as git leaves it, which keeps no empty folder
    assert [one.text for one in documents(tmp_path / "box", "mail")] == ["**Bo**\n\nhi"]


def test_a_folder_is_read_without_the_folder_of_git(tmp_path: Path) -> None:
    (tmp_path / "1.eml").write_bytes(HEAD + b"\nhi\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert [one.text for one in documents(tmp_path, "mail")] == ["**Bo**\n\nhi"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("Yes.\n\nOn Mon, 5 Jan 2026 at 10:00, Ada Love <ada@x.example>\nwrote:\n\n> Who?", "Yes."),
        ("Yes.\n\n-----Original Message-----\nFrom: Ada\nSent: Monday\n\nWho?", "Yes."),
        (">From now on the balancer only.", "From now on the balancer only."),
    ],
)
def test_a_mail_is_read_without_what_it_answers(tmp_path: Path, body: str, text: str) -> None:
    (thread,) = documents(mailbox(tmp_path, HEAD + b"\n" + body.encode() + b"\n"), "mail")
    assert thread.text == f"**Bo**\n\n{text}"


@pytest.mark.parametrize(
    ("subject", "text", "read"),
    [
        ("Re: Loop", "Done.", "**Bo**\n\nDone."),
        ("Re: Loop", "Done, see below.", "**Bo**\n\nDone, see below."),
        ("Fwd: Loop", "Done.", "**Bo**\n\nDone."),
    ],
)
def test_an_answer_is_read_without_the_whole_mail_below_it_and_in_its_thread(
    tmp_path: Path, subject: str, text: str, read: str
) -> None:
    head = HEAD.replace(b"Bo <", b"Bo via List <").replace(b"Proxy", subject.encode())
    head += b"List-Id: x\nIn-Reply-To: a@x\n"
    repeated = "From: Ann <ann@x>\nSent: Monday\nSubject: Loop\n\nIt loops."
    body = f"\n{text}\n\n________________________________\n{repeated}\n".encode()
    (thread,) = documents(mailbox(tmp_path, head + body), "mail")
    assert thread.document_id == "<a@x>"
    assert thread.text.startswith(read)
    assert ("It loops." in thread.text) == (subject[0] == "F" or "below" in text)


def test_a_mail_with_a_damaged_header_is_read(tmp_path: Path) -> None:
    answer = 'From: "Chen, Bo" <bo@x>\nSubject: Re: S\nReferences: <a>\nMessage-ID: <b>\n'
    answer += "Date: soon\nContent-Type: text/plain; charset=x-none\n\nGrüße\n"
    (tmp_path / "1.eml").write_text(answer, "utf-8")
    asked = "From: \nSubject: S\nMessage-ID: <a>\nDate: Mon, 5 Jan 2026 10:00:00 +0000\n\nWho?\n"
    (tmp_path / "2.eml").write_text(asked)
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


def test_an_issue_of_linear_has_its_comments(tmp_path: Path) -> None:
    comment = {"body": "Why?", "createdAt": "2026-01-06T10:00:00.000Z", "user": {"name": "Bo"}}
    issue = {"identifier": "ENG-7", "title": "Loop", "description": "Text", "creator": None}
    issue |= {"state": {"name": "Done"}, "comments": {"nodes": [comment]}, "url": "https://l/ENG-7"}
    (read,) = documents(written(tmp_path, {"data": {"issues": {"nodes": [issue]}}}), "linear")
    assert (read.corpus, read.title, read.state) == ("ticket", "ENG-7 Loop", "Done")
    assert read.text == "Text\n\n**Bo, 2026-01-06**\n\nWhy?"


def test_a_table_as_csv_is_records_whatever_parts_its_fields(tmp_path: Path) -> None:
    for mark in ",;\t":
        file = tmp_path / "issues.csv"
        file.write_text(
            f'\ufeffIssue key{mark}Summary{mark}Description\nOPS-1{mark}A{mark}"two\nlines"\n',
            "utf-8",
        )
        (issue,) = documents(file, "jira")
        assert (issue.title, issue.text) == ("OPS-1 A", "two\nlines")


def test_standard_input_is_a_table_or_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    table = 'Issue key,Summary,Description\nOPS-1,A,"two\nlines"\n'
    objects = json.dumps({"Issue key": "OPS-1", "Summary": "A", "Description": "two\nlines"})
    for text in (table, "\ufeff" + table, objects + "\n"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        with standard_input(Path("-")) as file:
            (issue,) = documents(file, "jira_csv")
        assert (issue.document_id, issue.text) == ("OPS-1", "two\nlines")


def test_a_quote_that_never_ends_takes_no_other_row(tmp_path: Path) -> None:
    file = tmp_path / "issues.csv"
    rows = "Issue key,Summary,Description\nOPS-1,A,a\x00\nOPS-2,B,"
    file.write_text(rows + '"open\nOPS-3,C,c\n')
    first, issue = documents(file, "jira_csv")
    assert (first.document_id, first.text) == ("OPS-1", "a\ufffd")
    assert (issue.key, issue.failed) == (None, True)
    assert "row 2: not CSV from here on" in str(issue)


def test_a_zip_that_cannot_be_unfolded_is_an_error_of_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = zip_of(tmp_path / "export.zip", **{"a/b.json": "[]" * 100, "big.bin": "0" * 9_999})
    whole = file.read_bytes()
    password = bytearray(whole)
    for mark, flags in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        password[whole.index(mark) + flags] |= 1
    damaged = whole.replace(b"[][]", b"[}[]", 1)
    both = zip_of(tmp_path / "both.zip", **{"a.json/b.json": "[]", "a.json": "[]"}).read_bytes()
    cases = (
        (password, "password"),
        (damaged, "CRC"),
        (both, "irectory"),
        (whole[:99], "not a zip"),
    )
    for content, said in cases:
        file.write_bytes(content)
        with pytest.raises(SourceError, match=f"cannot be unfolded: .*{said}"):
            documents(file, "slack")
    monkeypatch.setattr(record_files, "MOST_UNFOLDED", 1_000)
    file.write_bytes(whole)
    assert documents(file, "slack") == []  # what is no record is not unfolded
    with pytest.raises(SourceError, match="1,001 bytes"):
        documents(zip_of(file, **{"a.json": " " * 1_001}), "slack")


def test_no_member_of_a_zip_leaves_its_folder(tmp_path: Path) -> None:
    one, two = (json.dumps({"key": f"A-{n}", "fields": {"summary": "s"}}) for n in "12")
    file = zip_of(tmp_path / "export.zip", **{"../../evil.json": one, "/etc/abs.json": two})
    assert len(documents(file, "jira")) == 2
    assert [one.name for one in tmp_path.iterdir()] == ["export.zip"]
    assert not Path("/etc/abs.json").exists()


def test_names_of_another_form_are_an_error_and_links_are_not_read(tmp_path: Path) -> None:
    folder = slack(tmp_path / "export")
    users = folder / "users.json"
    for text in ("{broken", "5", '[{"id": 1, "real_name": "a"'):
        users.write_text(text)
        with pytest.raises(SourceError, match=r"users.json is no list of names"):
            documents(folder, "slack")
    users.rename(tmp_path / "outside.json").write_text('[{"id": "U2", "real_name": "Eve"}]')
    users.symlink_to(tmp_path / "outside.json")
    (folder / "general" / "2026-01-08.json").symlink_to(tmp_path / "outside.json")
    os.mkfifo(folder / "general" / "2026-01-09.json")
    (thread,) = documents(folder, "slack")
    assert "**U2**" in thread.text
    with pytest.raises(SourceError, match="is no file"):
        documents(folder / "general" / "2026-01-09.json", "slack")


def test_a_finding_is_a_document_of_its_file_and_the_last_of_one_name_counts(
    tmp_path: Path,
) -> None:
    finding = {"repo": "org/app", "file_path": "src/pool.py", "finding": "Close it before a fork."}
    finding |= {"severity": "high", "outcome": "fixed", "line": 12}
    other = {"path": "a.py", "text": "x", "id": 7, "created_at": "2024-02-03"}
    file = written(tmp_path, finding, other, finding | {"outcome": "rejected"}, {"finding": "x"})
    named, last, broken = documents(file, "memory", repo="org/b")
    assert (named.document_id, named.repo, named.path) == ("7", "org/b", "a.py")
    assert (last.corpus, last.repo, last.path) == ("memory", "org/app", "src/pool.py")
    assert last.document_id == "src/pool.py##Close it before a fork."
    assert (last.state, last.text) == ("rejected", "Close it before a fork.")
    assert {"severity": "high", "line": 12}.items() <= json.loads(last.metadata).items()
    assert isinstance(broken, ReadIssue)
    nameless = documents(written(tmp_path, {"outcome": 1}, {"outcome": 2}), "memory")
    assert [type(one) for one in nameless] == [ReadIssue] * 2


def test_a_date_that_nobody_filled_in_is_none_and_its_record_is_read(tmp_path: Path) -> None:
    row = {"path": "a.py", "text": "x", "created_at": "0001-01-01T00:00:00Z"}
    (read,) = documents(written(tmp_path, row | {"id": 7}), "memory", repo="org/b")
    assert (read.created_at, read.text) == (None, "x")


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
    good: dict[str, Any] = {"title": "A", "text": "t"}
    odd = [{"text": {"a": 1}}, {"at": "yesterday"}, {"at": 1e300}, {"who": 7}, {"more": 3}]
    bad: list[dict[str, Any]] = [{"title": "no id"}]
    bad += [good | one | {"id": f"bad-{n}"} for n, one in enumerate(odd)]
    file = written(tmp_path, *bad, good | {"id": "a"}, [[]], good | {"id": "b", "at": "2026"})
    items = read_all(records_source(file, own_map(tmp_path)))
    assert [type(one) for one in items[: len(bad)]] == [ReadIssue] * len(bad)
    assert "no 'id', the key of wiki, in a record of title" in str(items[0])
    assert [one.document_id for one in items if isinstance(one, Document)] == ["a", "b"]
    pages = own_map(tmp_path, MAP.replace("documents:", "records: split(id, '')\ndocuments:", 1))
    (issue,) = read_all(records_source(written(tmp_path, good | {"id": "x"}), pages))
    assert "empty separator" in str(issue)


def test_a_record_that_fails_is_seen_by_nobody_who_may_have_lost_the_right(tmp_path: Path) -> None:
    good: dict[str, Any] = {"id": "a", "title": "A", "text": "t"}
    bad = [good | {"at": "yesterday"}, good | {"id": "b", "at": "yesterday", "who": ["ops"]}]
    bad += [good | {"id": "c", "who": 7}]
    items = read_all(records_source(written(tmp_path, *bad), own_map(tmp_path)))
    assert [one.key[2] for one in items] == ["a", "b", "c"]
    assert [one.withdrawn for one in items] == [False, True, True]


def test_a_thread_is_for_those_who_may_see_all_of_it(tmp_path: Path) -> None:
    read = own_map(tmp_path, MAP.replace("key: id", "key: id, thread: id"))
    for number, (rights, seen) in enumerate(
        [
            ([None, None], None),
            ([None, ["ops"]], ["ops"]),
            ([["everyone"], ["ops", "ann"], ["ann"]], ["ann"]),
            ([["ops"], ["ann"]], []),
        ]
    ):
        members = [{"id": "a", "title": "A", "text": "t", "who": who} for who in rights]
        file = written(tmp_path, *members, name=f"{number}.json")
        (thread,) = read_all(records_source(file, read))
        assert json.loads(thread.metadata).get("allowed") == seen


def test_what_a_service_shows_to_some_is_not_shown_to_all(tmp_path: Path) -> None:
    fields = ISSUE["fields"] | {"security": {"name": "board"}}
    hidden = [COMMENT | {"visibility": {"value": "Staff"}}, COMMENT | {"jsdPublic": False}]
    fields |= {"comment": {"comments": hidden}}
    (issue,) = documents(written(tmp_path, {"issues": [ISSUE | {"fields": fields}]}), "jira")
    assert "Why?" not in issue.text
    assert json.loads(issue.metadata)["allowed"] == ["board"]


def test_records_that_fit_no_document_are_named_with_what_the_map_reads(tmp_path: Path) -> None:
    (issue,) = documents(written(tmp_path, {"issues": []}, {"x": 1}), "slack")
    assert issue.failed
    assert "no record of 2 fits the map slack: An export of Slack" in issue.reason
    assert documents(written(tmp_path, [], name="empty.json"), "slack") == []


def test_a_given_file_of_another_ending_is_read_as_json(tmp_path: Path) -> None:
    good = {"id": "a", "title": "A", "text": "t"}
    file = written(tmp_path, good, name="export.txt")
    assert [one.document_id for one in read_all(records_source(file, own_map(tmp_path)))] == ["a"]


def test_an_address_without_its_protocol_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"give --base-url https://jira\.example"):
        documents(written(tmp_path, {}), "jira", base_url="jira.example")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("about: [", "no YAML"),
        ("documents: [{metadata: {labels: labels[].name}}]", "in double quotes"),
        ("", "the file: Input should be a valid dictionary"),
        ("about: a", "documents: Field required"),
        (MAP.replace("title:", "titel:"), "titel: .*did you mean 'title'"),
        (MAP.replace("text: text", "text: 'a ||'"), "no JMESPath"),
        (MAP.replace("text: text", f"text: '{'(' * 3000}'"), "no JMESPath: maximum recursion"),
        ("a: " + "[" * 3000, "no YAML: maximum recursion"),
        ("about: !!python/object/apply:os.system ['true']", "no YAML: could not determine"),
    ],
)
def test_a_map_that_is_none_says_where(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(CrosscorpusError, match=error):
        own_map(tmp_path, text)


def test_an_unknown_map_and_a_missing_file_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'slack'"):
        read_map("slakc", shipped_maps())
    with pytest.raises(UnknownName, match="no map '~nobody/x'"):
        read_map("~nobody/x", {})
    with pytest.raises(SourceError, match="does not exist"):
        records_source(tmp_path / "nowhere", own_map(tmp_path))
    source = records_source(written(tmp_path, {"x": 1}, {"y": 2}), own_map(tmp_path))
    with pytest.raises(SourceError, match="records as the map says: notes"):
        source.check()


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


class Refused:
    """A reader whose errors repeat the token."""

    def __init__(self, token: str, at: str) -> None:
        self.token = token
        if at == "init":
            raise ValueError(f"bad {token}")

    def scan(self) -> Any:
        """Nothing."""
        raise ConnectionError(f"refused https://x.example/?key={self.token}")


@pytest.mark.parametrize("at", ["init", "scan"])
@pytest.mark.parametrize("way", ["argument", "options"])
def test_no_error_of_a_reader_repeats_its_arguments(at: str, way: str) -> None:
    name, token = f"python:{__name__}:Refused", "k3y-of-ours"
    arguments = [f"token={token}", f"at={at}"] if way == "argument" else [f"at={at}"]
    options = {"init": {"token": token}} if way == "options" else None
    with pytest.raises(SourceError, match="…") as error:
        read_all(named_reader(name, arguments, None, options))
    assert token not in "".join(traceback.format_exception(error.value))


def test_a_variable_of_the_environment_is_no_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "options.yaml"
    file.write_text(
        "init: {token: '${OWN_TOKEN}', plain: 'a$OWN_TOKEN', n: 1, l: ['${OWN_TOKEN}']}"
    )
    for token in ("""a'b"c: {]\\""", "0123", "yes", "x\nload: {a: b}", "${OTHER}"):
        monkeypatch.setenv("OWN_TOKEN", token)
        found = {"token": token, "plain": "a$OWN_TOKEN", "n": 1, "l": [token]}
        assert reader_options(file) == {"init": found}


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
    (document,) = read_all(source)
    assert (document.corpus, document.title, document.text) == ("wiki", "hidden", "about proxies")
    rows = ({"id": name, "title": "A", "text": "t"} for name in "abc")
    once = reader_source(rows, own_map(tmp_path))
    assert [one.document_id for one in read_all(once)] == ["a", "b", "c"]
    for wrong in (7, object()):
        with pytest.raises(SourceError, match="is no reader"):
            reader_source(wrong)
    file.write_text("token: secret-word\n")
    with pytest.raises(SourceError) as error:
        reader_options(file)
    assert "secret-word" not in str(error.value)


def test_a_service_whose_first_record_was_looked_at_is_not_asked_again(tmp_path: Path) -> None:
    class Stream:
        """Gives its records once, although it is no iterator, as a stream of PyAirbyte."""

        def __init__(self) -> None:
            self.rows = iter([{"id": name, "title": "A", "text": "t"} for name in "abc"])
            self.asked = 0

        def __iter__(self) -> Any:
            self.asked += 1
            yield from self.rows

    stream = Stream()
    source = reader_source(stream, own_map(tmp_path))
    assert next(source.scan()).read().document_id == "a"
    assert [one.document_id for one in read_all(source)] == ["a", "b", "c"]
    assert stream.asked == 1
    assert [*source.scan()] == []
    assert stream.asked == 2  # a whole scan is not kept


@pytest.mark.parametrize("token", ["Zq/9+x==!t0ken", "p ss&w=rd%41", "[a-z]+.*"])
def test_no_error_of_a_reader_shows_a_token_as_an_address_has_it(token: str) -> None:
    def scan() -> Any:
        address = f"https://x/{quote(token)}?t={quote_plus(token)}&u={quote_plus(token, safe='/=')}"
        raise RuntimeError(f"cannot reach {address} with {token}")
        yield

    reader = type("Own", (), {"scan": staticmethod(scan)})()
    with pytest.raises(SourceError) as error:
        read_all(reader_source(reader, secret=[{"token": token}]))
    for form in (token, quote(token), quote_plus(token), quote_plus(token, safe="/=")):
        assert form not in str(error.value)
    assert str(error.value).count("…") == 4


def test_records_of_a_reader_get_the_project_and_the_address_of_their_service() -> None:
    read = read_map("jira", shipped_maps())
    own = fields_given(read, "ops", "https://jira.example.org/", False)
    (document,) = read_all(named_reader(f"python:{__name__}:issues", [], read, None, own))
    assert (document.repo, document.uri) == ("ops", "https://jira.example.org/browse/OPS-41")
    with pytest.raises(SourceError, match="name these with --repo"):
        fields_given(read, "", "", True)


def issues() -> list[dict[str, Any]]:
    return [ISSUE]


def test_documents_of_llamaindex_that_are_issues_and_threads_are_read_as_such() -> None:
    class Made:
        def __init__(self, name: str, text: str, **metadata: Any) -> None:
            self.id_, self.text, self.metadata = name, text, metadata

    jira = {"issue_type": "Bug", "project": "Operations", "title": "Proxy", "reporter": "Ada"}
    gitlab = {"source": "https://x/app/-/issues/7", "state": "closed", "labels": ["bug"]}
    made = [
        Made("1", "Proxy \n None", url="https://x/browse/OPS-7", status="Open", **jira),
        Made("7", "Crash\nNone", **gitlab),
        Made("C1", "a &amp; b", channel="C1"),
        Made("C2", "", channel="C2"),  # what SlackReader gives after an error
        Made("9", "", title="An empty page", source=7),
    ]
    documents = read_all(reader_source(made, read_map("llamaindex", shipped_maps())))
    assert [(one.corpus, one.document_id, one.title, one.text) for one in documents] == [
        ("ticket", "OPS-7", "OPS-7 Proxy", "Proxy"),
        ("issue", "issues/7", "#7 Crash", "Crash"),
        ("chat", "C1", "#C1", "a & b"),
        ("wiki", "9", "An empty page", "An empty page"),
    ]
    assert [one.state for one in documents] == ["Open", "closed", None, None]
    assert documents[1].uri == "https://x/app/-/issues/7"


def test_a_reader_that_has_only_the_lazy_loading_of_llamaindexs_base_is_read() -> None:
    def lazy_load_data(self: Any, **_: Any) -> Any:
        raise NotImplementedError("Loader does not provide lazy_load_data method currently")

    lazy_load_data.__module__ = "llama_index.core.readers.base"
    reader = type("Real", (Loader,), {"lazy_load_data": lazy_load_data})("t")
    source = reader_source(reader, read_map("llamaindex", shipped_maps()), {"query": "proxies"})
    assert [one.text for one in read_all(source)] == ["about proxies"]
