"""Plans that get better group by group."""

from __future__ import annotations

import numpy as np

import fixedfleet as ff
from fixedfleet.generate import uniform
from fixedfleet.planning.tour_groups import replan_groups
from fixedfleet.search import improve


def packed(batch: ff.InstanceBatch) -> ff.PlanBatch:
    """Plans that are feasible, and far too long."""
    return ff.PlanBatch.from_plans(
        improve(one, search="ruin_recreate", iterations=1).plan for one in batch
    )


def searched(batch: ff.InstanceBatch) -> ff.PlanBatch:
    """Better plans, as a network would make them."""
    return ff.PlanBatch.from_plans(
        improve(one, search="ruin_recreate", iterations=300).plan for one in batch
    )


def test_each_pass_keeps_what_is_shorter():
    """Plans stay feasible, get shorter, and never longer."""
    batch = uniform(50, 4, seed=11)
    plans = packed(batch)
    once = replan_groups(batch, plans, searched, 1)
    more = replan_groups(batch, plans, searched, 3)
    assert once.feasible(batch).all()
    assert more.feasible(batch).all()
    assert (once.lengths(batch) < plans.lengths(batch)).all()
    assert (more.lengths(batch) <= once.lengths(batch) + 1e-9).all()


def test_what_is_not_better_changes_nothing():
    """Plans that are infeasible or no shorter are not taken over."""
    batch = uniform(20, 3, seed=12)
    plans = packed(batch)

    def nothing(groups: ff.InstanceBatch) -> ff.PlanBatch:
        return ff.PlanBatch(np.zeros((len(groups), 1), dtype=np.int64))

    assert list(replan_groups(batch, plans, nothing, 2)) == list(plans)
    assert list(replan_groups(batch, plans, packed, 0)) == list(plans)


def test_a_network_plans_better_in_passes():
    """The shipped network's plans get shorter, and stay within the fleet."""
    from fixedfleet.planning import plan_by_network

    batch = uniform(50, 3, seed=13)
    once = plan_by_network(batch)
    more = plan_by_network(batch, passes=2)
    assert more.plans.feasible(batch).all()
    assert more.plans.lengths(batch).sum() < once.plans.lengths(batch).sum()
    assert more.seconds["passes"] > 0
