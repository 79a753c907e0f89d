"""Tests of what processes and searches share about Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from fixedfleet.interrupts import interrupts_deferred


def test_ctrl_c_comes_after_what_must_not_be_interrupted():
    """It is raised at the end of the block, once, and the handler is back."""
    before = signal.getsignal(signal.SIGINT)
    done = []
    with pytest.raises(KeyboardInterrupt), interrupts_deferred():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("the rest of the block")
    assert done == ["the rest of the block"]
    assert signal.getsignal(signal.SIGINT) is before
    with interrupts_deferred():
        pass


def test_other_threads_are_let_alone():
    """Only the main thread hears Ctrl-C, so others have nothing to defer."""
    done = []

    def work():
        with interrupts_deferred():
            done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [1]


def test_an_error_within_is_not_lost():
    """What the block raises comes out, and the handler is back."""
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="within"), interrupts_deferred():
        raise ValueError("within")
    assert signal.getsignal(signal.SIGINT) is before
