"""``train``: a network from labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fixedfleet.cli.console import DIVERGED, say_error
from fixedfleet.cli.options import add_options
from fixedfleet.errors import InputError, require

if TYPE_CHECKING:
    import argparse

    from fixedfleet.cli.options import Arguments, Commands
    from fixedfleet.training import Fresh

__all__ = ["add_command", "parse_setting"]


def add_command(commands: Commands) -> None:
    """Add the command ``train``."""
    # PyTorch takes seconds to load, so the parser knows the names without it.
    parser = commands.add_parser("train", help="train a network on labels")
    add = parser.add_argument
    add(
        "preset",
        help="paper20, paper50, paper100, best20, best50, best100, or FILE.toml:NAME",
    )
    add(
        "--out",
        required=True,
        metavar="FOLDER",
        help="folder for the network and its checkpoints",
    )
    _add_data(parser)
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--minutes", type=float, help="minutes of training steps")
    budget.add_argument("--epochs", type=int, help="number of epochs")
    add("--steps", type=int, help="stop after this many steps in total")
    start = parser.add_mutually_exclusive_group()
    start.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="CHECKPOINT",
        help="continue from the checkpoint in --out, or from another one",
    )
    start.add_argument(
        "--weights",
        metavar="FILE",
        help="start with the weights of a network instead of random ones",
    )
    add("--device", help="cpu, cuda, cuda:1, …; default: a GPU if there is one")
    add_options(parser, "--seed")
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a setting of the preset, such as model.layers=4",
    )
    parser.set_defaults(run=_train)


def _add_data(parser: argparse.ArgumentParser) -> None:
    data = parser.add_argument_group("what to train on")
    data.add_argument(
        "--labels", nargs="+", metavar="PATH", help="label files or folders of one size"
    )
    data.add_argument(
        "--fresh",
        type=int,
        metavar="COUNT",
        help="number of uniform instances to draw and label while training",
    )
    data.add_argument(
        "--renew",
        type=int,
        metavar="EPOCHS",
        help="replace the fresh labels after this many epochs; default: never",
    )
    data.add_argument(
        "--fresh-iterations",
        type=int,
        metavar="K",
        help="iterations of the search that labels; default: 500 per customer",
    )
    data.add_argument(
        "--fresh-teacher",
        default="gpu",
        choices=("gpu", "ruin_recreate"),
        help="where that search runs: on the GPU (default) or on one core",
    )
    data.add_argument(
        "--fresh-capacity", type=int, metavar="Q", help="capacity of fresh instances"
    )
    data.add_argument(
        "--fresh-vehicles", type=int, metavar="M", help="fleet of fresh instances"
    )


def parse_setting(text: str) -> tuple[str, Any]:
    """Read ``model.layers=4``: a dotted name and a TOML value, or a bare word."""
    import tomllib  # only here, as the parser of every command loads this file

    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"setting {text!r} is not of the form model.layers=4")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()


def _train(arguments: Arguments) -> int:
    require("torch", "network", "training")
    from fixedfleet.training import NonFiniteLossError, get_preset, train

    settings = dict(map(parse_setting, arguments.set))
    for name in ("minutes", "epochs", "steps"):
        if getattr(arguments, name) is not None:
            settings[f"training.{name}"] = getattr(arguments, name)
    resume = arguments.resume
    if resume == "":
        resume = Path(arguments.out) / "checkpoint.safetensors"
    try:
        train(
            get_preset(arguments.preset).with_settings(settings),
            arguments.labels,
            out=arguments.out,
            fresh=_fresh(arguments),
            resume=resume,
            weights=arguments.weights,
            device=arguments.device,
            seed=arguments.seed,
            display=lambda line: print(line, flush=True),
        )
    except NonFiniteLossError as error:
        return say_error(str(error), DIVERGED)
    return 0


def _fresh(arguments: Arguments) -> Fresh | None:
    """Return how fresh labels are to be made, or None if none are wanted."""
    from fixedfleet.training import Fresh

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
