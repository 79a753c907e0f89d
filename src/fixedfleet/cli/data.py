"""``generate``: random instances into a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from fixedfleet import generate
from fixedfleet.cli.common import Parser, check_target
from fixedfleet.errors import InputError
from fixedfleet.files import write_batch, write_instance

if TYPE_CHECKING:
    import argparse

    from fixedfleet.cli.common import Arguments, Commands
    from fixedfleet.instance import InstanceBatch

__all__ = ["add_commands"]

_BATCHES = (".npz", ".pkl")
_INSTANCES = (".vrp", ".csv", ".json")


def add_commands(commands: Commands) -> None:
    """Add the command of this file."""
    parser = commands.add_parser("generate", help="draw random instances")
    kinds = parser.add_subparsers(
        title="kinds", metavar="KIND", required=True, parser_class=Parser
    )
    uniform = kinds.add_parser("uniform", help="in the unit square, demands 1 to 9")
    _add_common(uniform)
    uniform.add_argument("--capacity", type=int, metavar="Q")
    uniform.add_argument(
        "--no-reject",
        action="store_true",
        help="keep instances whose demands exceed the fleet's capacity too",
    )
    uniform.add_argument(
        "--test-set",
        action="store_true",
        help="the public test set of 10,000 instances with seed 1234; N is 20, 50, 100",
    )
    uniform.set_defaults(run=_uniform)
    uchoa = kinds.add_parser("uchoa", help="as Uchoa et al. (2017) drew the set X")
    _add_common(uchoa)
    for option, kind in (
        ("--depot", generate.DepotPosition),
        ("--customers", generate.CustomerPosition),
        ("--demand", generate.Demand),
    ):
        uchoa.add_argument(option, choices=get_args(kind), help="default: drawn too")
    uchoa.add_argument("--route-size", type=float, metavar="R", help="default: drawn")
    uchoa.set_defaults(run=_uchoa)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("n", type=int, metavar="N", help="number of customers")
    parser.add_argument("--count", type=int, help="number of instances (default: 1)")
    parser.add_argument("--seed", type=int, help="default: 0")
    parser.add_argument("--vehicles", type=int, metavar="M")
    parser.add_argument(
        "--output",
        required=True,
        metavar="FILE",
        help="a batch: .npz or .pkl; a single instance: .vrp, .csv or .json",
    )


def _uniform(arguments: Arguments) -> int:
    _check_output(arguments)
    if not arguments.test_set:
        batch = generate.uniform(
            arguments.n,
            1 if arguments.count is None else arguments.count,
            seed=arguments.seed or 0,
            capacity=arguments.capacity,
            vehicles=arguments.vehicles,
            reject=not arguments.no_reject,
        )
        return _write(arguments, batch)
    for option in ("count", "seed", "capacity", "vehicles"):
        if getattr(arguments, option) is not None:
            raise InputError(f"--test-set has its own {option}: leave --{option} out")
    return _write(
        arguments, generate.test_set(arguments.n, reject=not arguments.no_reject)
    )


def _uchoa(arguments: Arguments) -> int:
    _check_output(arguments)
    batch = generate.uchoa_batch(
        arguments.n,
        1 if arguments.count is None else arguments.count,
        seed=arguments.seed or 0,
        depot=arguments.depot,
        customers=arguments.customers,
        demand=arguments.demand,
        route_size=arguments.route_size,
    )
    if arguments.vehicles is not None:
        batch = batch.with_vehicles(arguments.vehicles)
    return _write(arguments, batch)


def _check_output(arguments: Arguments) -> None:
    check_target("--output", arguments.output, (*_BATCHES, *_INSTANCES))
    if arguments.count is not None and arguments.count < 1:
        raise InputError(f"--count is {arguments.count}, not at least 1")
    many = arguments.count not in (None, 1) or getattr(arguments, "test_set", False)
    if many and Path(arguments.output).suffix.lower() in _INSTANCES:
        raise InputError(
            f"--output {arguments.output} holds one instance: write many to .npz"
        )


def _write(arguments: Arguments, batch: InstanceBatch) -> int:
    if Path(arguments.output).suffix.lower() in _BATCHES:
        write_batch(arguments.output, batch)
    else:
        named = replace(batch[0], name=Path(arguments.output).stem)
        write_instance(named, arguments.output)
    fleets = sorted({int(fleet) for fleet in batch.vehicles})
    span = f"{fleets[0]} to {fleets[-1]}" if len(fleets) > 1 else str(*fleets)
    print(
        f"written: {arguments.output}, {len(batch):,} "
        f"{'instance' if len(batch) == 1 else 'instances'} of "
        f"{batch.num_customers} customers, {span} vehicles"
    )
    return 0
