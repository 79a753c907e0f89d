"""``train``: a network from labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fixedfleet.cli.console import DIVERGED, INTERRUPTED, say_error
from fixedfleet.cli.options import add_options, parse_setting
from fixedfleet.errors import InputError, require

if TYPE_CHECKING:
    import argparse

    from fixedfleet.cli.options import Arguments, Commands
    from fixedfleet.training import Fresh

__all__ = ["add_command"]


def add_command(commands: Commands) -> None:
    """Add the command ``train``."""
    # PyTorch takes seconds to load, so the parser knows the names without it.
    parser = commands.add_parser("train", help="train a network on labels")
    add = parser.add_argument
    add(
        "preset",
        help="universal, paper20, paper50, paper100, or FILE.toml:NAME",
    )
    add(
        "--out",
        required=True,
        metavar="FOLDER",
        help="folder for the network and its checkpoints",
    )
    _add_data(parser)
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--minutes", type=float, help="minutes to train")
    budget.add_argument("--epochs", type=int, help="number of epochs")
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
        "--labels",
        nargs="+",
        metavar="PATH",
        help="label files or folders; of one number of customers, unless the preset is "
        "universal",
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
        "--fresh-vehicles",
        type=int,
        metavar="M",
        help="number of vehicles of fresh instances",
    )


def _train(arguments: Arguments) -> int:
    settings = dict(map(parse_setting, arguments.set))
    checkpoint = Path(arguments.out) / "checkpoint.safetensors"
    if arguments.resume == "":
        arguments.resume = str(checkpoint)
    require("torch", "network", "training")
    from fixedfleet.training import NonFiniteLossError, get_preset, train

    for name in ("minutes", "epochs"):
        if getattr(arguments, name) is not None:
            settings[f"training.{name}"] = getattr(arguments, name)
    try:
        train(
            get_preset(arguments.preset).with_settings(settings),
            arguments.labels,
            out=arguments.out,
            fresh=_fresh(arguments),
            resume=arguments.resume,
            weights=arguments.weights,
            device=arguments.device,
            seed=arguments.seed,
            display=lambda line: print(line, flush=True),
        )
    except NonFiniteLossError as error:
        return say_error(str(error), DIVERGED)
    except KeyboardInterrupt:
        kept = "nothing was trained yet"
        if checkpoint.exists():
            kept = (
                f"{checkpoint} holds the training so far; the same command with "
                "--resume continues it"
            )
        return say_error(f"interrupted: {kept}", INTERRUPTED)
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
