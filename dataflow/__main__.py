"""`crosscorpus`, and `python -m dataflow`: Ctrl-C and SIGTERM end it with one line.

Both release the embedded server, and both work while the command still loads.
"""

import atexit
import gc
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED, TERMINATED = 130, 143
_RESUMABLE = (["ingest"], ["sync"])


def main() -> None:
    """Load the command and run it."""
    if sys.argv[1:2] == ["query"]:  # it ends soon: a fifth of its CPU went into looking for garbage
        gc.disable()
        atexit.register(gc.freeze)  # nor does the end of Python look for it
    received = []

    def end(number: int, frame: FrameType | None) -> None:
        for each in (signal.SIGINT, signal.SIGTERM):  # what ends already is not interrupted again
            signal.signal(each, signal.SIG_IGN)
        received.append(number)
        raise KeyboardInterrupt

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end)
    try:
        from dataflow.cli import app

        gc.set_threshold(50_000)  # with 700, an ingestion looks for garbage for 7 % of its CPU
        app.main()
    except (KeyboardInterrupt, ImportError) as error:
        # A compiled module that is interrupted while it loads raises an ImportError.
        interrupted = isinstance(error.__cause__, KeyboardInterrupt)
        if isinstance(error, ImportError) and not interrupted:
            raise
        _end(signal.SIGTERM in received)
    except SystemExit as error:
        if error.code == INTERRUPTED:  # Typer ends so, and prints nothing
            _end(signal.SIGTERM in received)
        raise


def _end(terminated: bool) -> NoReturn:
    resumable = sys.argv[1:2] in _RESUMABLE
    hint = "; what was stored stays, and the same command goes on" if resumable else ""
    print(f"crosscorpus: {'terminated' if terminated else 'interrupted'}{hint}", file=sys.stderr)
    sys.exit(TERMINATED if terminated else INTERRUPTED)


if __name__ == "__main__":
    main()
