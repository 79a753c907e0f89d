"""The command ``train``, which trains a network on labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fixedfleet.cli.console import DIVERGED, INTERRUPTED, say_error
from fixedfleet.cli.options import add_options, parse_setting
from fixedfleet.errors import require

if TYPE_CHECKING:
    from fixedfleet.cli.options import Arguments, Commands

__all__ = ["add_command"]


def add_command(commands: Commands) -> None:
    """Add the command ``train`` to the parser."""
    # PyTorch takes seconds to load, so the names of presets are written out here.
    parser = commands.add_parser("train", help="train a network on labels")
    add = parser.add_argument
    add(
        "preset",
        help="universal, paper20, paper50, paper100, finetune, finetune20, or "
        "FILE.toml:NAME",
    )
    add(
        "--out",
        required=True,
        metavar="FOLDER",
        help="folder for the network and its checkpoints",
    )
    add(
        "--labels",
        nargs="+",
        required=True,
        metavar="PATH",
        help="label files or folders; of one number of customers, unless the preset "
        "takes all sizes (--set customers=any)",
    )
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--minutes", type=float, help="minutes to train")
    budget.add_argument("--epochs", type=int, help="number of epochs")
    start = parser.add_mutually_exclusive_group()
    start.add_argument(
        "--resume",
        action="store_true",
        help="continue from the checkpoint in --out",
    )
    start.add_argument(
        "--weights",
        metavar="FILE",
        help="start with the weights of a network instead of random ones",
    )
    add("--device", help="cpu, cuda, cuda:1, …; default: a GPU if there is one")
    add_options(parser, "--seed", "--parts")
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change a setting of the preset, such as model.layers=4",
    )
    parser.set_defaults(run=_train)


def _train(arguments: Arguments) -> int:
    settings = dict(map(parse_setting, arguments.set))
    checkpoint = Path(arguments.out) / "checkpoint.safetensors"
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
