"""``train`` and ``models``: networks, for which PyTorch is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.errors import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.cli.common import Arguments, Commands

__all__ = ["add_commands", "train"]


def add_commands(commands: Commands) -> None:
    """Add the commands of this file."""
    # Only for the list of commands: `main` hands the arguments to the trainer's parser.
    commands.add_parser("train", help="train a network on labels", add_help=False)
    commands.add_parser("models", help="list the shipped networks").set_defaults(
        run=_models
    )


def train(argv: Sequence[str]) -> int:
    """Train as the trainer's own command line says."""
    require("torch", "network", "training")
    from fixedfleet.training.__main__ import main

    try:
        return main(argv, prog="fixedfleet train")
    except SystemExit as end:  # its --help, or what its parser refuses
        return int(end.code or 0)


def _models(_arguments: Arguments) -> int:
    require("torch", "network", "a network")
    require("safetensors", "network", "a network")
    from fixedfleet.model.weights import list_models

    models = list_models()
    for model in models:
        facts = ", ".join(f"{key} {value}" for key, value in model.card.items())
        print(f"{model.name}: {model.size / 2**20:.1f} MiB; {facts or 'no card'}")
    if not models:
        print("no network is shipped; 'fixedfleet train' makes one")
    return 0
