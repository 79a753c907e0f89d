"""Settings of a training, checked on construction, and the presets in presets.toml."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from fixedfleet.errors import InputError
from fixedfleet.model.config import ModelConfig
from fixedfleet.training.loss import LossConfig

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

__all__ = [
    "Precision",
    "Preset",
    "Schedule",
    "TrainConfig",
    "get_preset",
    "list_presets",
]

Schedule = Literal["constant", "cosine"]
Precision = Literal["bf16", "tf32", "fp32"]

_PRESETS = Path(__file__).parent / "presets.toml"
_TABLES = ("model", "loss", "training")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """
    How a network is trained. The defaults are the paper's for 20 customers.

    Parameters
    ----------
    batch_size
        Instances a step, over all processes together.
    epochs
        Passes over the labels, where no other budget is given.
    learning_rate
        Adam's, at its highest.
    schedule
        ``constant``, or ``cosine``: falling to nothing at the end of the budget.
    warmup
        Steps over which the learning rate rises from nothing.
    weight_decay
        AdamW's; 0 is Adam.
    clip
        The norm gradients are clipped to; 0 for no clipping.
    ema
        Decay a step of the moving average of the weights that is validated and
        saved; 0 for none.
    augment
        Whether each instance is turned by one of the square's symmetries at random.
    precision
        ``bf16``: matrix products in bfloat16; ``tf32``: in TensorFloat-32; ``fp32``.
    compile
        Whether the network is compiled, on a GPU.
    graph
        Whether a whole step becomes one CUDA graph, on one GPU.
    validation
        Labels held out for validation.
    validate_every
        Epochs between validations.

    Raises
    ------
    InputError
        If a setting makes no sense.
    """

    batch_size: int = 128
    epochs: int = 60
    learning_rate: float = 1e-4
    schedule: Schedule = "constant"
    warmup: int = 0
    weight_decay: float = 0.0
    clip: float = 0.0
    ema: float = 0.0
    augment: bool = False
    precision: Precision = "bf16"
    compile: bool = True
    graph: bool = True
    validation: int = 1000
    validate_every: int = 10

    def __post_init__(self) -> None:
        least = {"batch_size": 1, "epochs": 1, "warmup": 0, "validation": 1}
        for name, bound in (least | {"validate_every": 1}).items():
            value = getattr(self, name)
            if type(value) is not int or value < bound:
                raise InputError(
                    f"training setting {name} is {value!r}, not a whole number of at "
                    f"least {bound}"
                )
        for name in ("learning_rate", "weight_decay", "clip", "ema"):
            value = getattr(self, name)
            number = type(value) in (int, float)
            if not number or not 0 <= value < float("inf"):
                raise InputError(
                    f"training setting {name} is {value!r}, not a number of at least 0"
                )
        if self.ema >= 1:
            raise InputError(f"training setting ema is {self.ema:g}, not below 1")
        for name in ("augment", "compile", "graph"):
            if type(getattr(self, name)) is not bool:
                raise InputError(
                    f"training setting {name} is {getattr(self, name)!r}, not true or "
                    "false"
                )
        choices: dict[str, Any] = {"schedule": Schedule, "precision": Precision}
        for name, choice in choices.items():
            if getattr(self, name) not in get_args(choice):
                raise InputError(
                    f"training setting {name} is {getattr(self, name)!r}: choose from "
                    f"{', '.join(get_args(choice))}"
                )


@dataclass(frozen=True, kw_only=True)
class Preset:
    """
    A whole training by name.

    Parameters
    ----------
    name
        Its name.
    customers
        The number of customers it is meant for; labels of another are refused.
    model, loss, training
        The settings of its parts.
    """

    name: str
    customers: int
    model: ModelConfig
    loss: LossConfig
    training: TrainConfig

    def __post_init__(self) -> None:
        self.loss.check(self.model.normalisation)

    @classmethod
    def from_dict(cls, name: str, tables: Mapping[str, Any]) -> Preset:
        """Read a preset's tables; an unknown name in one is an error."""
        parts = {table: tables.get(table, {}) for table in _TABLES}
        if unknown := sorted(set(tables) - {*_TABLES, "customers"}):
            raise InputError(
                f"preset {name!r} has an unknown entry {unknown[0]!r}: there are "
                f"customers, {', '.join(_TABLES)}"
            )
        customers = tables.get("customers")
        if type(customers) is not int or customers < 1:
            raise InputError(
                f"preset {name!r}: customers is {customers!r}, not above 0"
            )
        return cls(
            name=name,
            customers=customers,
            model=ModelConfig(**_known(ModelConfig, "model", parts["model"])),
            loss=LossConfig(**_known(LossConfig, "loss", parts["loss"])),
            training=TrainConfig(**_known(TrainConfig, "training", parts["training"])),
        )

    def with_settings(self, settings: Mapping[str, Any]) -> Preset:
        """
        Return the preset with some settings changed.

        Parameters
        ----------
        settings
            Values by dotted name, such as ``{"model.layers": 4}``.
        """
        parts: dict[str, dict[str, Any]] = {table: {} for table in _TABLES}
        for key, value in settings.items():
            table, _, name = key.partition(".")
            if table not in parts or not name:
                raise InputError(
                    f"setting {key!r} is none of model.…, loss.…, training.…"
                )
            parts[table][name] = value
        changed: dict[str, Any] = {}
        for table, values in parts.items():
            current = getattr(self, table)
            changed[table] = replace(current, **_known(type(current), table, values))
        return replace(self, **changed)

    def to_dict(self) -> dict[str, Any]:
        """Return what :meth:`from_dict` reads."""
        tables = {table: asdict(getattr(self, table)) for table in _TABLES}
        return {"customers": self.customers, **tables}


def list_presets(path: str | os.PathLike[str] = _PRESETS) -> dict[str, Preset]:
    """Read all presets of a TOML file, by default those of the package."""
    try:
        with open(path, "rb") as file:
            tables = tomllib.load(file)
    except FileNotFoundError:
        raise InputError(f"no presets at {path}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is no TOML: {error}") from None
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InputError(f"{path}: {name} is {table!r}, not the table of a preset")
    return {name: Preset.from_dict(name, table) for name, table in tables.items()}


def get_preset(name: str) -> Preset:
    """Return a preset by name; ``FILE.toml:NAME`` takes it from a file of yours."""
    path, colon, inner = name.rpartition(":")
    presets = list_presets(path) if colon else list_presets()
    key = inner if colon else name
    if key not in presets:
        raise InputError(f"no preset {key!r}: there are {', '.join(sorted(presets))}")
    return presets[key]


def _known(kind: Any, table: str, values: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    if not isinstance(values, dict):
        raise InputError(f"{table} is {values!r}, not a table of settings")
    if unknown := sorted(set(values) - names):
        raise InputError(
            f"unknown {table} setting {unknown[0]!r}: there are "
            f"{', '.join(sorted(names))}"
        )
    return dict(values)
