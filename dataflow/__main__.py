"""`crosscorpus`, and `python -m dataflow`: Ctrl-C ends it with one line, also while it loads."""

from __future__ import annotations

import sys

INTERRUPTED = 130
_RESUMABLE = (["ingest"], ["sync"], ["models", "migrate"])


def main() -> None:
    """Load the command and run it."""
    try:
        from dataflow.cli import app

        app.main()
    except (KeyboardInterrupt, ImportError) as error:
        # A compiled module that is interrupted while it loads raises an ImportError.
        interrupted = isinstance(error.__cause__, KeyboardInterrupt)
        if isinstance(error, ImportError) and not interrupted:
            raise
        _say_interrupted()
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        if end.code == INTERRUPTED:  # Typer ends so, and prints nothing
            _say_interrupted()
        raise


def _say_interrupted() -> None:
    resumable = any(sys.argv[1 : 1 + len(names)] == names for names in _RESUMABLE)
    hint = "; what was stored stays, and the same command goes on" if resumable else ""
    print(f"crosscorpus: interrupted{hint}", file=sys.stderr)


if __name__ == "__main__":
    main()
