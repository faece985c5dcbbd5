"""Keeps Hamilton's loggers from printing query texts.

When a node fails, Hamilton logs the node's inputs: query texts, frames, objects that hold a DSN.
The error itself reaches the caller with the node's name; the log record is dropped. Only records of
our own runs are dropped: other Hamilton graphs in the same process log as before.
"""

import contextlib
import contextvars
import logging
from collections.abc import Iterator

_LOGGERS = ("hamilton.execution.graph_functions", "hamilton.driver", "hamilton.graph")
_ours: contextvars.ContextVar[bool] = contextvars.ContextVar("inside crosscorpus", default=False)


def _not_ours(record: logging.LogRecord) -> bool:
    return not _ours.get()


@contextlib.contextmanager
def quiet_hamilton() -> Iterator[None]:
    """Drop Hamilton's log records while the block runs, in its thread and in its workers."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_not_ours)
    token = _ours.set(True)
    try:
        yield
    finally:
        _ours.reset(token)
