"""The command ``generate``, which draws random instances."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fixedfleet import generate
from fixedfleet.cli.options import add_options, check_writable, parse_setting
from fixedfleet.errors import InputError
from fixedfleet.files import (
    BATCH_EXTENSIONS,
    INSTANCE_EXTENSIONS,
    write_batch,
    write_instance,
)
from fixedfleet.wording import count

if TYPE_CHECKING:
    from fixedfleet.cli.options import Arguments, Commands
    from fixedfleet.instance import InstanceBatch

__all__ = ["add_command"]


def add_command(commands: Commands) -> None:
    """Add the command ``generate`` to the parser."""
    parser = commands.add_parser("generate", help="draw random instances")
    parser.add_argument(
        "distribution",
        metavar="DISTRIBUTION",
        help=f"{', '.join(generate.DISTRIBUTIONS.names())}, or your own function as "
        "module.py:name",
    )
    parser.add_argument("n", type=int, metavar="N", help="number of customers")
    parser.add_argument("--count", type=int, help="number of instances (default: 1)")
    add_options(parser, "--seed", default=None)
    parser.add_argument(
        "--output",
        required=True,
        metavar="FILE",
        help="a batch: .npz, .rl4co.npz, .pkl or .pt; a single instance: .vrp, .csv or "
        ".json",
    )
    add_options(parser, "--vehicles", help="number of vehicles")
    add_options(parser, "--capacity", type=int, help="what one vehicle carries")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the distribution, such as modes=5 of clustered or "
        "demand=1-10 of uchoa (docs/generators.md)",
    )
    parser.add_argument(
        "--test-set",
        action="store_true",
        help="uniform: the public test set of 10,000 instances with seed 1234; N is "
        "20, 50 or 100",
    )
    parser.set_defaults(run=_generate)


def _generate(arguments: Arguments) -> int:
    _check_output(arguments)
    given = dict(map(parse_setting, arguments.set))
    for name in ("vehicles", "capacity"):
        if getattr(arguments, name) is not None:
            given[name] = getattr(arguments, name)
    if arguments.test_set:
        return _write(arguments, _test_set(arguments, given))
    batch = generate.draw(
        arguments.distribution,
        arguments.n,
        1 if arguments.count is None else arguments.count,
        seed=arguments.seed or 0,
        **given,
    )
    return _write(arguments, batch)


def _test_set(arguments: Arguments, given: dict[str, Any]) -> InstanceBatch:
    if arguments.distribution != "uniform":
        raise InputError("--test-set belongs to the distribution uniform")
    for option in ("count", "seed"):
        if getattr(arguments, option) is not None:
            given[option] = getattr(arguments, option)
    reject = given.pop("reject", True)
    for option in given:
        raise InputError(f"--test-set has its own {option}: leave --{option} out")
    return generate.test_set(arguments.n, reject=reject)


def _check_output(arguments: Arguments) -> None:
    check_writable("--output", arguments.output, BATCH_EXTENSIONS + INSTANCE_EXTENSIONS)
    if arguments.count is not None and arguments.count < 1:
        raise InputError(f"--count is {arguments.count}, not at least 1")
    many = arguments.count not in (None, 1) or arguments.test_set
    if many and Path(arguments.output).suffix.lower() in INSTANCE_EXTENSIONS:
        raise InputError(
            f"--output {arguments.output} holds one instance: write many to .npz"
        )


def _write(arguments: Arguments, batch: InstanceBatch) -> int:
    if Path(arguments.output).suffix.lower() in BATCH_EXTENSIONS:
        write_batch(arguments.output, batch)
    else:
        named = replace(batch[0], name=Path(arguments.output).stem)
        write_instance(named, arguments.output)
    fleets = sorted({int(fleet) for fleet in batch.vehicles})
    span = f"{fleets[0]} to {fleets[-1]}" if len(fleets) > 1 else str(*fleets)
    print(
        f"written: {arguments.output}, {count(len(batch), 'instance')} of "
        f"{batch.num_customers} customers, {span} vehicles"
    )
    return 0
