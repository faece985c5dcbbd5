"""`crosscorpus`, and `python -m dataflow`: Ctrl-C ends it with a line, while it is loaded too."""

from __future__ import annotations

import sys

INTERRUPTED = 130
_GO_ON = (["ingest"], ["sync"], ["models", "migrate"])


def main() -> None:
    """Load the command and run it."""
    try:
        from dataflow.cli import app

        app.main()
    except (KeyboardInterrupt, ImportError) as error:
        # a compiled module that is interrupted while it is loaded ends with the latter
        interrupted = isinstance(error.__cause__, KeyboardInterrupt)
        if isinstance(error, ImportError) and not interrupted:
            raise
        _tell()
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # so Typer ends, without a word
            _tell()
        raise


def _tell() -> None:
    goes_on = any(sys.argv[1 : 1 + len(names)] == names for names in _GO_ON)
    kept = "; what was stored stays, and the same command goes on" if goes_on else ""
    print(f"crosscorpus: interrupted{kept}", file=sys.stderr)


if __name__ == "__main__":
    main()
