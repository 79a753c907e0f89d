"""``fixedfleet train PRESET --labels …``, or ``python -m fixedfleet.training …``."""

from __future__ import annotations

import argparse
import sys
import tomllib
from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.training.fresh import Fresh
from fixedfleet.training.presets import list_presets
from fixedfleet.training.trainer import NonFiniteLossError, train

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "parse_setting"]


def parse_setting(text: str) -> tuple[str, Any]:
    """Read ``model.layers=4``: a dotted name and a TOML value, or a bare word."""
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"setting {text!r} is not of the form model.layers=4")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()


def _parser(prog: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog or "python -m fixedfleet.training",
        description="Train a network on labels, on fresh ones, or on both.",
    )
    parser.add_argument(
        "preset", help=f"one of {', '.join(list_presets())}, or FILE.toml:NAME"
    )
    parser.add_argument("--out", required=True, metavar="FOLDER")
    _add_data(parser)
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--minutes", type=float, help="budget in minutes of steps")
    budget.add_argument("--epochs", type=int, help="budget in epochs")
    parser.add_argument("--steps", type=int, help="stop after so many steps in all")
    begin = parser.add_mutually_exclusive_group()
    begin.add_argument(
        "--resume",
        nargs="?",
        const=True,
        default=False,
        metavar="CHECKPOINT",
        help="go on from the checkpoint in --out, or from another",
    )
    begin.add_argument(
        "--weights",
        metavar="FILE",
        help="begin with a network's weights instead of random ones",
    )
    parser.add_argument("--device", help="cpu, cuda, cuda:1, …; default: a GPU if any")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a setting of the preset, such as model.layers=4",
    )
    return parser


def _add_data(parser: argparse.ArgumentParser) -> None:
    data = parser.add_argument_group("what to train on")
    data.add_argument(
        "--labels", nargs="+", metavar="PATH", help="label files or folders of one size"
    )
    data.add_argument(
        "--fresh",
        type=int,
        metavar="COUNT",
        help="uniform instances to be drawn and labelled while training",
    )
    data.add_argument(
        "--renew",
        type=int,
        metavar="EPOCHS",
        help="epochs after which other fresh labels take their place; default: never",
    )
    data.add_argument(
        "--fresh-iterations",
        type=int,
        metavar="K",
        help="iterations of the search that labels them; default: 500 a customer",
    )
    data.add_argument(
        "--fresh-teacher",
        default="gpu",
        choices=("gpu", "ruin_recreate"),
        help="where that search runs: on the GPU (default) or on one core",
    )
    data.add_argument("--fresh-capacity", type=int, metavar="Q")
    data.add_argument("--fresh-vehicles", type=int, metavar="M")


def _fresh(arguments: argparse.Namespace) -> Fresh | None:
    """Read the recipe of fresh labels, if any are wanted."""
    settings = {
        "iterations": arguments.fresh_iterations,
        "renew": arguments.renew,
        "capacity": arguments.fresh_capacity,
        "vehicles": arguments.fresh_vehicles,
    }
    if arguments.fresh is not None:
        return Fresh(count=arguments.fresh, teacher=arguments.fresh_teacher, **settings)
    if given := [name for name, value in settings.items() if value is not None]:
        option = given[0] if given[0] == "renew" else f"fresh-{given[0]}"
        raise InputError(f"--{option} is for fresh labels: give --fresh COUNT too")
    return None


def main(argv: Sequence[str] | None = None, prog: str | None = None) -> int:
    """
    Train as the command line says; 0 if all went well, 2 if the input is wrong.

    Parameters
    ----------
    argv
        The arguments; those of the process if left out.
    prog
        What the user typed to get here, for the usage line.
    """
    arguments = _parser(prog).parse_args(argv)
    try:
        train(
            arguments.preset,
            arguments.labels,
            fresh=_fresh(arguments),
            out=arguments.out,
            minutes=arguments.minutes,
            epochs=arguments.epochs,
            steps=arguments.steps,
            resume=arguments.resume,
            weights=arguments.weights,
            device=arguments.device,
            seed=arguments.seed,
            settings=dict(map(parse_setting, arguments.set)),
            display=lambda line: print(line, flush=True),
        )
    except (InputError, MissingPackageError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except NonFiniteLossError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
