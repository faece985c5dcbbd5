"""What a scan left out: in place of what the scan before it did, and only of its own scopes."""

from operators.postgres.store import Store
from operators.postgres.write.left_out import LEFT_OUT, record_left_out

SCOPES = [("docs", "org/app"), ("code", "org/app")]


def kept(store: Store) -> set[tuple[str, str, str, str]]:
    rows = store.rows(f"SELECT corpus, repo, document_id, reason FROM ({LEFT_OUT}) d")
    return {(corpus, repo, name, why) for corpus, repo, name, why in rows}


def test_a_scan_replaces_what_the_last_one_of_its_source_left_out(store: Store) -> None:
    other = ("docs", "org/other", "a.png")
    record_left_out(store, "git/3", [other[:2]], [(other, "binary")])
    first = [(("docs", "org/app", "a.md"), "binary"), (("code", "org/app", "b.py"), "too large")]
    record_left_out(store, "git/3", SCOPES, first)
    assert len(kept(store)) == 3
    record_left_out(store, "git/4", SCOPES, [(("docs", "org/app", "a.md"), "symbolic link")])
    assert kept(store) == {(*other, "binary"), ("docs", "org/app", "a.md", "symbolic link")}
    record_left_out(store, "folder/1", SCOPES, [])
    assert len(kept(store)) == 2
    record_left_out(store, "git/4", SCOPES, [])
    assert kept(store) == {(*other, "binary")}
