"""From a prediction Ŷ to plans: decoding and repair, batched in torch."""

# ruff: noqa: E402  # a missing torch is to be named before anything imports it
from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from fixedfleet.errors import InputError, require

require("torch", "network", "decoding a prediction")

import torch

from fixedfleet.planning.beam import BeamOptions, beam_search
from fixedfleet.planning.decoded import Decoded, concatenate, to_plans
from fixedfleet.planning.greedy import follow, pseudo_greedy, strict_greedy
from fixedfleet.planning.membership import MembershipOptions, assign
from fixedfleet.planning.ordering import by_distance, by_prediction
from fixedfleet.planning.problem import Problem, prepare
from fixedfleet.planning.repair import Order, Repair, RepairOptions, mend, repair
from fixedfleet.planning.sampling import SampleOptions, sample
from fixedfleet.planning.scoring import best_of

if TYPE_CHECKING:
    from torch import Generator, Tensor

__all__ = [
    "BeamOptions",
    "Decoded",
    "MembershipOptions",
    "Method",
    "RepairOptions",
    "SampleOptions",
    "decode",
    "pseudo_greedy",
    "repair",
    "strict_greedy",
    "to_plans",
]

Method = Literal["greedy", "membership", "beam", "sample"]
Options = MembershipOptions | BeamOptions | SampleOptions

_OPTIONS: dict[str, type[Options] | None] = {
    "greedy": None,
    "membership": MembershipOptions,
    "beam": BeamOptions,
    "sample": SampleOptions,
}
_CHUNK = 2**28  # numbers held together, to bound the memory


def decode(
    log_probs: Tensor,
    demands: Tensor,
    capacity: Tensor,
    *,
    coordinates: Tensor | None = None,
    distances: Tensor | None = None,
    customers: Tensor | None = None,
    vehicles: Tensor | None = None,
    method: Method = "greedy",
    repair: Repair | Literal["none"] = "paper",
    guarantee: bool = False,
    order: Order = "demand",
    options: Options | None = None,
    generator: Generator | None = None,
) -> Decoded:
    """
    Turn a prediction into plans.

    An instance gets the same plan alone as within a padded batch.

    Parameters
    ----------
    log_probs
        log Ŷ, shape (B, M, N', N'), −inf where masked; no NaN.
    demands
        Whole units, shape (B, N'), the depot's being 0.
    capacity
        Whole units, shape (B,).
    coordinates
        Shape (B, N', 2), for methods that measure length.
    distances
        Shape (B, N', N'), instead of coordinates.
    customers
        Which locations are customers, shape (B, N'), in a padded batch.
    vehicles
        Which vehicles there are, shape (B, M), in a padded batch; padding last.
    method
        ``greedy``: follow the likeliest arcs. ``membership``: vehicles first, then the
        order. ``beam``: beam search. ``sample``: the best of several drawn plans.
    repair
        How customers left out are put back, ``none`` for not at all; see
        :class:`RepairOptions`.
    guarantee
        Whether the repair may open tours beyond the fleet so that everyone whose
        demand fits a vehicle is served.
    order
        Order of the repair; see :class:`RepairOptions`.
    options
        Options of the method.
    generator
        Gives the seed of ``sample``; seed 0 if left out.

    Returns
    -------
    Tours that never exceed the capacity and serve nobody twice, and whom they leave
    out.

    Raises
    ------
    InputError
        Where a tensor or a choice is wrong.
    """
    options = _check_choices(method, options, repair, guarantee)
    fix = None if repair == "none" else RepairOptions(repair, guarantee, order)
    problem = prepare(
        log_probs,
        demands,
        capacity,
        customers=customers,
        vehicles=vehicles,
        coordinates=coordinates,
        distances=distances,
    )
    seed = 0 if generator is None else _draw(generator)
    chunk = max(1, _CHUNK // _numbers(problem, options))
    parts = [
        _decode(problem.part(begin, begin + chunk), options, fix, seed)
        for begin in range(0, problem.rows, chunk)
    ]
    return concatenate(parts) if parts else _nothing(problem)


def _decode(
    problem: Problem, options: Options | None, fix: RepairOptions | None, seed: int
) -> Decoded:
    """Decode one chunk and repair it."""
    if isinstance(options, SampleOptions):
        many = problem.repeat(options.samples)
        drawn = sample(many, options, seed)
        drawn = mend(many, drawn, fix) if fix else drawn
        return best_of(many, drawn, options.samples)
    if isinstance(options, BeamOptions):
        decoded = beam_search(problem, options)
    elif isinstance(options, MembershipOptions):
        decoded = _by_membership(problem, options)
    else:
        decoded = follow(problem, problem.room)
    return mend(problem, decoded, fix) if fix else decoded


def _by_membership(problem: Problem, options: MembershipOptions) -> Decoded:
    vehicle = assign(problem, options)
    measured = options.tour == "auto" and problem.has_distances
    if measured or options.tour == "distance":
        return by_distance(problem, vehicle)
    return by_prediction(problem, vehicle)


def _check_choices(
    method: str, options: Options | None, repair: str, guarantee: bool
) -> Options | None:
    if method not in _OPTIONS:
        raise InputError(
            f"decoding method {method!r} is unknown: choose one of "
            f"{', '.join(_OPTIONS)}"
        )
    if repair != "none" and repair not in get_args(Repair):
        raise InputError(
            f"repair {repair!r} is unknown: choose one of none, "
            f"{', '.join(get_args(Repair))}"
        )
    if guarantee and repair == "none":
        raise InputError("the guarantee needs a repair, and repair is 'none'")
    kind = _OPTIONS[method]
    if options is None:
        return None if kind is None else kind()
    if kind is None or not isinstance(options, kind):
        wanted = "none" if kind is None else kind.__name__
        raise InputError(
            f"method {method!r} takes {wanted} as options, not {type(options).__name__}"
        )
    return options


def _numbers(problem: Problem, options: Options | None) -> int:
    """How many numbers an instance takes while it is decoded, roughly."""
    tours = problem.fleet * problem.size
    if isinstance(options, SampleOptions):
        return tours * options.samples
    if isinstance(options, BeamOptions):
        return problem.size * options.width * 4
    return problem.size**2 if isinstance(options, MembershipOptions) else tours


def _draw(generator: Generator) -> int:
    high = 2**62
    device = generator.device
    return int(torch.randint(high, (1,), generator=generator, device=device))


def _nothing(problem: Problem) -> Decoded:
    """No plans, for an empty batch."""
    shape = (0, problem.fleet, problem.size - 1)
    return Decoded(problem.demands.new_zeros(shape), problem.customers)
