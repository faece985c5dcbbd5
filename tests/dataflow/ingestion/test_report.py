from __future__ import annotations

from dataflow.ingestion.report import IngestReport
from operators.sources.protocol import ReadIssue


def test_only_a_run_in_which_no_work_failed_is_a_success() -> None:
    skipped = ReadIssue("a.bin", "binary", failed=False)
    assert IngestReport(skipped=[skipped], notes=[skipped], known_failures=2).ok
    assert not IngestReport(failed=[ReadIssue("a.pdf", "damaged")]).ok


def test_the_record_of_runs_gets_numbers_alone() -> None:
    report = IngestReport(documents_new=3, chunks=7, failed=[ReadIssue("a.pdf", "damaged")])
    counts = report.counts()
    assert (counts["documents_new"], counts["chunks"], counts["failed"]) == (3, 7, 1)
    assert {type(value) for value in counts.values()} == {int}
