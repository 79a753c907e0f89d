"""The commands ``solvers`` and ``models``, which list what is available here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fixedfleet.errors import MissingPackageError, require
from fixedfleet.version import version_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fixedfleet.cli.options import Arguments, Commands

__all__ = ["add_command"]


def add_command(commands: Commands) -> None:
    """Add the commands ``solvers`` and ``models`` to the parser."""
    solvers = commands.add_parser("solvers", help="list the outside solvers")
    solvers.set_defaults(run=_solvers)
    models = commands.add_parser("models", help="list the shipped networks")
    models.set_defaults(run=_models)


def _solvers(_arguments: Arguments) -> int:
    from fixedfleet.search import SEARCHES

    for name in SEARCHES.outside():
        try:
            SEARCHES.get(name)
        except MissingPackageError as error:
            print(f"{name}: not available: {error}")
            continue
        abilities = SEARCHES.abilities(name)
        version = _version(abilities.package)
        print(f"{name}: {version}; limitations: {abilities.limitations}")
    return 0


def _version(package: str) -> str:
    if not package:
        return "available"
    version = version_of(package)  # "" if it can be imported but is not installed
    return f"{package} {version}" if version else f"{package}, version unknown"


def _models(_arguments: Arguments) -> int:
    require("torch", "network", "a network")
    require("safetensors", "network", "a network")
    from fixedfleet.model.weights import list_models

    models = list_models()
    for model in models:
        print(f"{model.name}: {_training(model.card)}{model.size / 2**20:.1f} MiB")
    if not models:
        print("no network is shipped; 'fixedfleet train' makes one")
    return 0


def _training(card: Mapping[str, Any]) -> str:
    """
    Return how a network was trained, in words, as far as its file records it.

    ``card`` has the facts that the file records, such as the number of epochs.
    """
    labels = "trained on {:,} labels"
    if groups := card.get("groups"):
        labels += f" and {groups:,} groups of their tours"
    elif "groups" not in card and card.get("preset") == "universal":
        labels += " and groups of their tours"  # older files do not count them apart
    facts = {
        "preset": "preset {}, ",
        "labels": f"{labels}, ",
        "weights": "from the weights of {} (their training is not counted), ",
        "epochs": "{:.0f} epochs, ",
        "minutes": "{:.1f} minutes, ",
    }
    known = {key: said for key, said in facts.items() if card.get(key) is not None}
    return "".join(said.format(card[key]) for key, said in known.items())
