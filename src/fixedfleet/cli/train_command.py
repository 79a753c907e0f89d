"""``train``: a network from labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fixedfleet.cli.console import DIVERGED, INTERRUPTED, say_error
from fixedfleet.cli.options import add_options, parse_setting
from fixedfleet.errors import InputError, known_settings, require

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
        help="change a setting of the preset, such as model.layers=4, or of --fresh, "
        "such as fresh.iterations=5000",
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
    fresh = _fresh(arguments, settings)
    try:
        train(
            get_preset(arguments.preset).with_settings(settings),
            arguments.labels,
            out=arguments.out,
            fresh=fresh,
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


def _fresh(arguments: Arguments, settings: dict[str, Any]) -> Fresh | None:
    """Return how fresh labels are to be made; take their settings out of the others."""
    from fixedfleet.training import Fresh

    names = [key for key in settings if key.startswith("fresh.")]
    own = {name.removeprefix("fresh."): settings.pop(name) for name in names}
    if arguments.renew is not None:
        own["renew"] = arguments.renew
    if arguments.fresh is not None:
        own["count"] = arguments.fresh
        return Fresh(**known_settings(Fresh, "fresh", own))
    for name in own:
        raise InputError(f"{name!r} is for fresh labels: give --fresh COUNT too")
    return None
