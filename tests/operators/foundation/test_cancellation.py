"""A switch ends what runs, refuses what would begin, and leaves others alone."""

from __future__ import annotations

import contextvars
import threading
import time

import pytest

from operators.foundation.cancellation import Cancelled, Switch, check, waiting


def test_a_thrown_switch_stops_what_runs_and_refuses_what_would_begin() -> None:
    switch, stopped = Switch(), list[str]()
    with switch.stopping_by(lambda: stopped.append("a")):
        with switch.stopping_by(lambda: stopped.append("ended before")):
            pass
        switch.throw()
    assert stopped == ["a"]
    with pytest.raises(Cancelled), switch.stopping_by(lambda: None):
        raise AssertionError("it began")


def test_what_can_not_be_stopped_does_not_keep_the_others_running() -> None:
    switch, stopped = Switch(), list[str]()

    def lost() -> None:
        raise OSError("the connection is lost")

    with switch.stopping_by(lost), switch.stopping_by(lambda: stopped.append("b")):
        switch.throw()
    assert stopped == ["b"]


def test_who_does_not_wait_by_a_switch_is_not_stopped() -> None:
    switch = Switch()
    switch.throw()
    check()

    def inside() -> None:
        waiting.set(switch)
        check()

    with pytest.raises(Cancelled, match="waits no more"):
        contextvars.copy_context().run(inside)
    check()


def test_a_stop_ends_before_the_block_does() -> None:
    """Else a statement of the next user of a connection would be stopped."""
    switch, order = Switch(), list[str]()

    def stop() -> None:
        time.sleep(0.1)
        order.append("stopped")

    with switch.stopping_by(stop):
        thrower = threading.Thread(target=switch.throw)
        thrower.start()
        while not switch.thrown:
            time.sleep(0.001)
    order.append("block ended")
    thrower.join()
    assert order == ["stopped", "block ended"]
