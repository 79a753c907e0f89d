"""The settings of a training, and the presets in ``presets.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fixedfleet.errors import (
    InputError,
    above,
    at_least,
    check_settings,
    known_settings,
)
from fixedfleet.model.devices import Precision  # noqa: TC001  # checked at run time
from fixedfleet.model.plan_network import NETWORKS, make_config
from fixedfleet.training.losses import LOSSES, Loss, make_loss

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

__all__ = [
    "Preset",
    "Schedule",
    "TrainConfig",
    "get_preset",
    "list_presets",
]

Schedule = Literal["constant", "cosine"]

_TABLES = ("model", "loss", "training")
_ANY = "any"  # the number of customers in a preset for labels of all sizes
_PRESETS = Path(__file__).parent / "presets.toml"


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """
    The settings of a training. The defaults are the paper's for 20 customers.

    Parameters
    ----------
    batch_size
        Instances per step, over all processes together. For a preset of all sizes, this
        is the number for 100 customers; steps with smaller instances have more.
    epochs
        The budget as a number of passes over the labels.
    minutes
        The budget in minutes of training steps, instead of ``epochs``. Compilation and
        validation are not counted.
    steps
        Stop after this many steps in total, even if the budget is not used up. The
        training can be resumed later. The learning rate still follows the budget.
    learning_rate
        Adam's largest learning rate.
    schedule
        ``constant``, or ``cosine``: the rate falls to 0 at the end of the budget.
    warmup
        Steps over which the learning rate rises from 0.
    weight_decay
        AdamW's weight decay; with 0, AdamW is Adam.
    clip
        The largest norm of the gradients, to which they are clipped; 0: no clipping.
    ema
        Decay per step of the moving average of the weights. The averaged weights are
        validated and saved. With 0, there is no moving average.
    muon
        If above 0, the optimiser Muon trains the matrices of the layers (weights whose
        names have a part ``layers``), with a learning rate of this number times
        ``learning_rate``. With 0, Adam trains all weights.
    freeze
        Weights that are not trained: the beginnings of their names, separated by
        commas, such as ``embed,first``. Empty: all are trained.
    augment
        Whether each instance is rotated or mirrored at random, by the network's
        ``augment``: by a symmetry of the square, or by any angle for the universal
        network.
    parts
        How many groups of neighbouring tours of each label are used as additional
        labels; only for a preset of all sizes.
    precision
        Precision of matrix products: ``bf16`` for bfloat16, ``tf32`` for
        TensorFloat-32, ``fp32`` for float32.
    compile
        Whether the network is compiled, on a GPU. With one process, a whole step then
        also becomes one CUDA graph.
    validation
        Number of labels held out for validation.
    validate_every
        Epochs between validations.

    Raises
    ------
    InputError
        If a setting has the wrong type or is out of bounds.
    """

    batch_size: Annotated[int, at_least(1)] = 128
    epochs: Annotated[int, at_least(1)] = 60
    minutes: Annotated[float, above(0)] | None = None
    steps: Annotated[int, at_least(1)] | None = None
    learning_rate: Annotated[float, at_least(0)] = 1e-4
    schedule: Schedule = "constant"
    warmup: Annotated[int, at_least(0)] = 0
    weight_decay: Annotated[float, at_least(0)] = 0.0
    clip: Annotated[float, at_least(0)] = 0.0
    ema: Annotated[float, at_least(0)] = 0.0
    muon: Annotated[float, at_least(0)] = 0.0
    freeze: str = ""
    augment: bool = False
    parts: Annotated[int, at_least(0)] = 0
    precision: Precision = "bf16"
    compile: bool = True
    validation: Annotated[int, at_least(1)] = 1000
    validate_every: Annotated[int, at_least(1)] = 10

    def __post_init__(self) -> None:
        check_settings(self, "training.")
        if self.ema >= 1:
            raise InputError(f"training.ema is {self.ema:g}, not a number below 1")


@dataclass(frozen=True, kw_only=True)
class Preset:
    """
    A complete set of settings with a name.

    Parameters
    ----------
    name
        The name.
    customers
        The number of customers that the preset is for; labels of another size are
        refused. None: labels of all sizes.
    network, model
        The network by its name in :data:`fixedfleet.model.NETWORKS`, and its settings.
    loss
        The loss, with its settings.
    training
        The settings of the training.
    """

    name: str
    customers: Annotated[int, at_least(1)] | None
    network: str
    model: Any
    loss: Loss
    training: TrainConfig

    def __post_init__(self) -> None:
        check_settings(self, f"preset {self.name!r}: ")

    @classmethod
    def from_dict(cls, name: str, tables: Mapping[str, Any]) -> Preset:
        """
        Return a preset that is made from the tables of a TOML file.

        InputError is raised for an unknown key or a wrong value.
        """
        if unknown := sorted(set(tables) - {*_TABLES, "customers"}):
            raise InputError(
                f"preset {name!r} has an unknown entry {unknown[0]!r}: choose from "
                f"based_on, customers, {', '.join(_TABLES)}"
            )
        customers = tables.get("customers", _ANY)
        model, loss = (_named(table, tables.get(table, {})) for table in _TABLES[:2])
        network = model.pop("name", "edges")
        config = make_config(network, model)
        chosen = loss.pop("name", NETWORKS.get(network).default_loss)
        training = known_settings(TrainConfig, "training", tables.get("training", {}))
        return cls(
            name=name,
            customers=None if customers == _ANY else customers,
            network=network,
            model=config,
            loss=make_loss(chosen, loss),
            training=TrainConfig(**training),
        )

    def with_settings(self, settings: Mapping[str, Any]) -> Preset:
        """
        Return the preset with some settings changed, such as ``{"model.layers": 4}``.

        With ``{"customers": "any"}``, the preset takes labels of all sizes and fleets.
        If ``model.name`` or ``loss.name`` is changed, the new network or loss gets its
        own defaults instead of the preset's settings.
        """
        changes: dict[str, Any] = {}
        for key, value in settings.items():
            table, _, name = key.partition(".")
            if key == "customers":
                changes[key] = value
            elif table in _TABLES and name:
                changes.setdefault(table, {})[name] = value
            else:
                raise InputError(
                    f"setting {key!r} is not customers and does not begin with model., "
                    "loss. or training."
                )
        return Preset.from_dict(self.name, _merge(self.to_dict(), changes))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as tables that :meth:`from_dict` reads."""
        tables: dict[str, Any] = {
            "model": {"name": self.network, **asdict(self.model)},
            "loss": {"name": LOSSES.name_of(type(self.loss)), **_settings(self.loss)},
            "training": asdict(self.training),
        }
        size = _ANY if self.customers is None else self.customers
        return {"customers": size, **tables}


def get_preset(name: str) -> Preset:
    """
    Return the preset with this name.

    A name ``FILE.toml:NAME`` means the preset NAME in the file FILE.toml.
    """
    path, colon, inner = name.rpartition(":")
    presets = list_presets(path) if colon else list_presets()
    key = inner if colon else name
    if key not in presets:
        raise InputError(f"unknown preset {key!r}: choose from {', '.join(presets)}")
    return presets[key]


def list_presets(path: str | os.PathLike[str] | None = None) -> dict[str, Preset]:
    """
    Return all presets of a TOML file by name; by default, those of the package.

    A preset may be based on a preset of the package, or on one above it in the file. It
    then inherits all settings that it does not give itself.
    """
    shipped = {} if path is None else list_presets()
    presets: dict[str, Preset] = {}
    for name, tables in _read_tables(_PRESETS if path is None else path).items():
        base = tables.pop("based_on", None)
        known = shipped | presets
        if base is not None and not (isinstance(base, str) and base in known):
            raise InputError(
                f"preset {name!r} is based on {base!r}, which is not defined above "
                f"it: choose from {', '.join(known)}"
            )
        whole = tables if base is None else _merge(known[base].to_dict(), tables)
        presets[name] = Preset.from_dict(name, whole)
    return presets


def _read_tables(path: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            found = tomllib.load(file)
    except FileNotFoundError:
        raise InputError(f"no presets at {path}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}") from None
    for name, tables in found.items():
        if not isinstance(tables, dict):
            raise InputError(f"{path}: {name} is {tables!r}, not the table of a preset")
    return found


def _merge(base: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """
    Return the tables of a preset with some settings changed.

    If the changes name another network, the base's settings of its network and of its
    loss are dropped. If they name another loss, the base's settings of its loss are
    dropped.
    """
    merged = dict(base)
    for key, value in changes.items():
        known = base.get(key)
        merged[key] = value
        if isinstance(value, dict) and isinstance(known, dict):
            same = value.get("name", known.get("name")) == known.get("name")
            merged[key] = known | value if same else value
    if merged["model"].get("name") != base["model"].get("name"):
        merged["loss"] = changes.get("loss", {})
    return merged


def _named(table: str, values: Any) -> dict[str, Any]:
    """
    Return a copy of the settings of a network or of a loss.

    InputError is raised if ``values`` is not a dict, or if its ``name`` is not a
    string. ``table`` is the table's name in the message.
    """
    if not isinstance(values, dict):
        raise InputError(f"{table} is {values!r}, not a table of settings")
    if not isinstance(values.get("name", ""), str):
        raise InputError(f"{table}.name is {values['name']!r}, not the name of a part")
    return dict(values)


def _settings(loss: Loss) -> dict[str, Any]:
    """Return the settings of a loss by name; empty if it is not a dataclass."""
    return asdict(loss) if is_dataclass(loss) else {}
