"""
Triton kernel: the loads of the pseudo-greedy plans of a batch.

A pseudo-greedy plan follows the likeliest edges and ignores the capacity.
"""
# mypy: ignore-errors

import triton
import triton.language as tl

__all__ = ["walk_greedily"]


@triton.jit
def walk_greedily(
    log_probs_ptr,
    demand_ptr,
    customer_ptr,
    vehicle_ptr,
    load_ptr,
    n: tl.constexpr,
    m: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """
    Write the loads of the vehicles in the plan that follows the likeliest edges.

    The capacity is ignored. Each program computes the plan of one instance, and each of
    its lanes is a location. The vehicles drive one after the other. From each location,
    a vehicle goes to the likeliest location among the depot and the unserved customers.
    Its tour ends at the depot. Of equal scores, the first location is taken; NaN counts
    as the lowest score. Every step but the last of a tour serves a customer, so the
    loops end for any scores.
    """
    instance = tl.program_id(0).to(tl.int64)
    log_probs_ptr += instance * m * n * n
    lane = tl.arange(0, BLOCK)
    inside = lane < n
    demand = tl.load(demand_ptr + instance * n + lane, mask=inside, other=0)
    free = tl.load(customer_ptr + instance * n + lane, mask=inside, other=0)
    free = tl.where(lane == 0, 1, free.to(tl.int32))  # the depot is always free
    for vehicle in range(m):
        here = -1 + tl.load(vehicle_ptr + instance * m + vehicle).to(tl.int32)
        load = tl.sum(tl.zeros_like(demand), axis=0)
        while here >= 0:
            arcs = log_probs_ptr + (vehicle * n + here) * n
            score = tl.load(arcs + lane, mask=inside, other=float("-inf"))
            score = score.to(tl.float32)
            possible = (free > 0) & (score == score)
            score = tl.where(possible, score, float("-inf"))
            here = tl.argmax(score, axis=0).to(tl.int32)
            load += tl.sum(tl.where(lane == here, demand, 0), axis=0)
            free = tl.where((lane == here) & (lane > 0), 0, free)
            here = tl.where(here == 0, -1, here)
        tl.store(load_ptr + instance * m + vehicle, load)
