"""The command `history`: the commits that changed a place."""

from __future__ import annotations

from typing import Annotated

import typer

from dataflow.cli.collections import print_notes
from dataflow.cli.options import AsJson, Collection, Config
from dataflow.execution.light_hamilton import import_hamilton


def history(
    place: Annotated[
        str, typer.Argument(help="src/a.py, src/a.py:10-40, a folder, or a name: Lock.release")
    ],
    config: Config = "default",
    collection: Collection = "default",
    as_json: AsJson = False,
) -> None:
    """List the commits that changed a file, a folder, lines or a definition, newest first.

    Where the working tree is at hand git says which; else the files that each commit lists.

    Example: crosscorpus history src/cache.py:10-40
    """
    import_hamilton()
    from dataflow import build_driver
    from dataflow.cli.console.terminal import OUT, print_json
    from dataflow.driver.visibility import visible_homes
    from dataflow.service.place_history import place_history

    with build_driver(config, collection) as driver:
        told = place_history(driver, visible_homes(driver.homes, driver.config), place)
    commits = told.commits.to_dicts()
    if as_json:
        print_json({"place": told.place, "commits": commits, "notes": told.notes})
        return
    for one in commits:
        date = f"{one['created_at']:%Y-%m-%d}" if one["created_at"] else "no date"
        note = f"  ({one['note']})" if one["note"] else ""
        author = one["author"] or "no author"
        OUT.out(f"{one['commit'][:10]}  {date}  {author}  {one['subject']}{note}")
    print_notes(told.notes)
