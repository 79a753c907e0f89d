"""What a plan cost and gained, step by step."""

from __future__ import annotations

import math

from fixedfleet.result import Stage, with_gains


def test_a_step_gains_on_the_one_before():
    """A start may lose; a partial plan and the first plan gain nothing."""
    costs = {"fleet": math.inf, "partial": 3.0, "packing": 10.0, "network": 12.0}
    stages = [Stage(name, 0.1, cost) for name, cost in costs.items()]
    gains = [stage.gain for stage in with_gains([*stages, Stage("auto", 1.0, 8.0)])]
    assert gains == [0.0, 0.0, 0.0, -2.0, 4.0]
