"""The commands that make judged queries."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dataflow.cli.options import AsJson, Collection, filled, written

judge_app = typer.Typer(no_args_is_help=True, help="Make judged queries for `evaluate`.")


@judge_app.command("git")
def judge_git(
    path: Annotated[Path, typer.Argument(help="A git working tree with its history.")],
    out: Annotated[Path, written("--out", "-o", help="Directory for queries and judgements.")],
    issues: Annotated[
        list[Path] | None,
        typer.Option(
            help="Issues as `gh api` writes them, whose texts are the questions; else the "
            "commits' messages are. May be given repeatedly."
        ),
    ] = None,
    repo: Annotated[
        str | None,
        typer.Option(callback=filled, help="Repository name; else owner/name of `origin`."),
    ] = None,
    most_files: Annotated[
        int, typer.Option(min=1, help="Leave out commits that touch more files outside tests.")
    ] = 5,
    snapshots: Annotated[
        int,
        typer.Option(
            min=0,
            help="Lay out at most so many trees as they were before a fix, under OUT/trees, and "
            "ask each question of its own; 0: ask the tree as it is now.",
        ),
    ] = 0,
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """Make a benchmark of a repository's fixed issues: questions, and the files that were changed.

    A commit that says `fixes #12` (or closes, resolves) and touches few files gives one. Writes
    queries.jsonl and qrels.tsv, and prints the commands that measure with them.

    Example: crosscorpus judge git ~/src/app --issues issues.json --snapshots 10 --out judged
    """
    import shlex

    from dataflow.cli.console.terminal import print_result
    from dataflow.evaluation.git_judgements import judge_git as run
    from operators.sources.git.fixed_issues import told_skips

    made = run(
        path, out, issues=issues or (), repo=repo, most_files=most_files, snapshots=snapshots
    )
    into = ["-C", collection]
    files = ["--only-corpus", "code", "--only-corpus", "docs"]
    commands = [
        ["ingest", "git", str(tree), "--repo", name, *files, *into]
        for name, tree in made.trees.items()
    ]
    judged = ["--queries", str(made.queries), "--qrels", str(made.qrels)]
    measures = [part for cut in (1, 5, 10) for part in ("--measure", f"Acc@{cut}")]
    measured = ["--unit", "file", *measures, "--out", str(out / "measured")]
    commands.append(["evaluate", "default", *into, *judged, *measured])
    plain = [shlex.join(["crosscorpus", *words]) for words in commands]

    def show() -> None:
        trees = "the trees before the fixes" if snapshots else "the tree as it is, fixes included"
        skips = f"; left out: {reasons}" if (reasons := told_skips(made.skipped)) else ""
        typer.echo(f"{made.questions} questions of {made.commits} commits, asked of {trees}{skips}")
        for line in plain:
            typer.echo(line)

    print_result(as_json, asdict(made) | {"commands": plain}, show)
