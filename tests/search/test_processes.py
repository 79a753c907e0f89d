"""Work over processes."""

from __future__ import annotations

import os
import signal

import pytest

from fixedfleet.search.processes import over_cores


def double(job, stop):
    """Twice a number, and the threads a library may use."""
    if job == 13:
        raise ValueError("thirteen")
    return 2 * job, os.environ.get("OMP_NUM_THREADS")


def press_ctrl_c(job, stop):
    """Press Ctrl-C in this process."""
    os.kill(os.getpid(), signal.SIGINT)
    return job, stop()


def die(job, stop):
    """End the process on the spot."""
    os._exit(3)


@pytest.mark.parametrize("processes", [1, 2])
def test_every_job_is_done_once(processes):
    """Answers of all jobs come back, whatever the number of processes."""
    answers = []
    assert not over_cores(double, range(9), processes, answers.append)
    assert sorted(number for number, _ in answers) == list(range(0, 18, 2))
    if processes > 1:
        assert {threads for _, threads in answers} == {"1"}


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_comes_through(processes):
    """What a job raises is raised here."""
    with pytest.raises(ValueError, match="thirteen"):
        over_cores(double, [13], processes, print)


def test_ctrl_c_ends_after_the_job_at_hand():
    """In one process, the job that runs is told, and no other begins."""
    answers = []
    assert over_cores(press_ctrl_c, range(5), 1, answers.append)
    assert answers == [(0, True)]


def test_ctrl_c_keeps_what_is_done():
    """With several processes, answers of the jobs that run are still taken."""
    answers = []

    def note(answer):
        answers.append(answer)
        if len(answers) == 1:
            raise KeyboardInterrupt

    assert over_cores(double, range(1000), 2, note)
    assert 1 <= len(answers) < 20


def test_a_process_that_dies_is_told():
    """A worker's death is an error with a hint, not a hang."""
    with pytest.raises(RuntimeError, match="__name__ == '__main__'"):
        over_cores(die, range(4), 2, print)
