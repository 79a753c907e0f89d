"""How long each step of a call took, and what it gained."""

from __future__ import annotations

import math

from fixedfleet.deadline import Deadline
from fixedfleet.solving.stages import Stages


def test_a_step_gains_on_the_one_before():
    """A start may lose; a partial plan and the first plan gain nothing."""
    stages = Stages(Deadline())
    costs = {"fleet": math.inf, "partial": 3.0, "packing": 10.0, "network": 12.0}
    for name, cost in {**costs, "auto": 8.0}.items():
        stages.close(name, lambda cost=cost: cost)
    assert [stage.gain for stage in stages.closed] == [0.0, 0.0, 0.0, -2.0, 4.0]


def test_the_time_of_a_stage_begins_where_the_last_one_ended():
    """All stages together take the time of the call."""
    now = [100.0]
    stages = Stages(Deadline(clock=lambda: now[0]))
    for spent in (1.0, 0.5, 2.0):
        now[0] += spent
        stages.close("step", lambda: 1.0)
    now[0] += 0.25
    assert [stage.seconds for stage in stages.closed] == [1.0, 0.5, 2.0]
    assert stages.seconds == 0.25
