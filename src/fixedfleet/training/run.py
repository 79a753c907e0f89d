"""One training: epochs over resident labels within a budget, resumable at any step."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from fixedfleet.errors import InputError
from fixedfleet.model.network import Network
from fixedfleet.model.predict import check_memory
from fixedfleet.model.weights import save_model
from fixedfleet.training.budget import Budget
from fixedfleet.training.checkpoint import (
    Position,
    read_checkpoint,
    read_weights,
    write_checkpoint,
)
from fixedfleet.training.loss import LossParts
from fixedfleet.training.record import Record
from fixedfleet.training.result import NonFiniteLossError, TrainResult
from fixedfleet.training.step import Stepper
from fixedfleet.training.validation import validate

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from torch import Tensor

    from fixedfleet.training.dataset import TrainingData
    from fixedfleet.training.presets import Preset
    from fixedfleet.training.processes import Processes
    from fixedfleet.training.validation import Validation

__all__ = ["Run"]

_CHECK_EVERY = 50  # steps between waits for the device
_CHECKPOINT_SECONDS = 60.0  # between checkpoints, at least
_CURE = (
    "the last checkpoint is from before; lower training.learning_rate, set "
    "training.clip, or use training.precision = 'fp32'"
)


class Run:
    """One training: its state, its budget, and what it leaves behind."""

    def __init__(
        self,
        preset: Preset,
        source: TrainingData,
        processes: Processes,
        out: Path,
        minutes: float | None,
        seed: int,
        display: Callable[[str], None] | None,
    ) -> None:
        config = preset.training
        if config.batch_size % processes.world:
            raise InputError(
                f"batch size {config.batch_size} cannot be shared by "
                f"{processes.world} processes"
            )
        self.preset, self.config, self.seed = preset, config, seed
        self.processes, self.out = processes, out
        self.source, self.data = source, source.train
        self.steps_per_epoch = len(self.data) // config.batch_size
        if not self.steps_per_epoch:
            raise InputError(
                f"{len(self.data)} labels to train on, fewer than a batch of "
                f"{config.batch_size}"
            )
        check_memory(
            preset.model,
            config.batch_size // processes.world,
            self.data.num_customers + 1,
            self.data.vehicles,
            processes.device,
            advice="lower training.batch_size",
        )
        self.budget = Budget(config, self.steps_per_epoch, minutes)
        # For the whole process, so it is set either way.
        high = "highest" if config.precision == "fp32" else "high"
        torch.set_float32_matmul_precision(high)
        torch.manual_seed(seed)
        network = Network(preset.model).to(processes.device)
        self.stepper = Stepper(
            network, self.data, preset.loss, config, world=processes.world
        )
        self.display = display if processes.rank == 0 else None
        self.epoch, self.step_in_epoch, self.seconds = 0, 0, 0.0
        self.saved, self.validated = 0.0, -1
        self.validation: Validation | None = None
        self.weights: str | None = None

    @property
    def step(self) -> int:
        """Steps done in all."""
        return self.epoch * self.steps_per_epoch + self.step_in_epoch

    @property
    def checkpoint(self) -> Path:
        return self.out / "checkpoint.safetensors"

    def begin(
        self,
        resume: bool | str | os.PathLike[str],
        weights: str | os.PathLike[str] | None,
    ) -> None:
        """Start anew, or from a file; compile before the clock starts."""
        stored = self._read(resume, weights)
        news = self.source.renew(self.epoch)
        self.out.mkdir(parents=True, exist_ok=True)
        if stored is not None:
            self.stepper.restore(stored)
        try:
            self.stepper.prepare()
        except torch.cuda.OutOfMemoryError as error:
            raise InputError(
                f"a step on {self.config.batch_size} instances does not fit into the "
                f"memory of {self.processes.device}: lower training.batch_size"
            ) from error
        first = self.processes.rank == 0
        self.record = Record(self.out if first else None, self.step, self.display)
        self.record.say(self._headline(resume is not False))
        self.record.labels(self.step, news)

    def _read(
        self,
        resume: bool | str | os.PathLike[str],
        weights: str | os.PathLike[str] | None,
    ) -> dict[str, Tensor] | None:
        """Read the state to begin with and take its position; None to begin anew."""
        path = self.checkpoint if isinstance(resume, bool) else Path(resume)
        own = resume is not False and path.resolve() == self.checkpoint.resolve()
        if self.checkpoint.exists() and not own:
            raise InputError(
                f"{self.checkpoint} exists: resume it, or train into another folder"
            )
        if resume is not False:
            stored, position = read_checkpoint(
                path,
                self.stepper.tensors(),
                self.preset,
                seed=self.seed,
                fingerprint=self.source.fingerprint,
            )
            self.epoch, self.step_in_epoch = position.epoch, position.step
            self.seconds, self.weights = position.seconds, position.weights
            return stored
        if weights is None:
            return None
        self.weights = Path(weights).name
        return self.stepper.tensors() | read_weights(weights, self.preset.model)

    def _headline(self, resumed: bool) -> str:
        size = sum(p.numel() for p in self.stepper.network.parameters())
        verb = f"resumes at step {self.step}" if resumed else "begins"
        if self.weights and not resumed:
            verb = f"begins with the weights of {self.weights}"
        return (
            f"{self.preset.name} {verb}: {len(self.data)} labels of "
            f"{self.data.num_customers} customers, {size / 1e6:.2f} million weights, "
            f"{self.steps_per_epoch} steps an epoch on {self.processes.device}"
        )

    def go(self, steps: int | None) -> TrainResult:
        """Train until the budget or ``steps`` is used up."""
        every = self.config.validate_every
        self.saved = time.monotonic()
        try:
            while self._progress() < 1 and (steps is None or self.step < steps):
                self.record.labels(self.step, self.source.renew(self.epoch))
                self._epoch(steps)
                if not self.step_in_epoch and self.epoch % every == 0:
                    self._validate()
        except KeyboardInterrupt:
            self.record.say(f"interrupted at step {self.step}")
            self._settle()
            self._save()
            raise
        finished = self._progress() >= 1
        if finished and self.validated != self.step:
            self._validate()
        self._save()
        self.record.conclusion(
            self.step,
            self.seconds,
            self._epoch_seconds(),
            len(self.data),
            self.processes.peak_bytes(),
        )
        self.record.close()
        return self._result(finished)

    def _epoch(self, steps: int | None) -> None:
        """Go through the rest of an epoch, waiting for the device now and then."""
        generator = torch.Generator().manual_seed(_mix(self.seed, self.epoch))
        order = torch.randperm(len(self.data), generator=generator)
        codes = torch.randint(8, (len(order),), generator=generator)
        device, size = self.processes.device, self.config.batch_size
        order, codes = order.to(device), codes.to(device)
        begin, first = time.perf_counter(), self.step
        spent = self.seconds
        ended = False
        while self.step_in_epoch < self.steps_per_epoch and not ended:
            start = self.step_in_epoch * size + self.processes.rank
            share = slice(start, (self.step_in_epoch + 1) * size, self.processes.world)
            self.stepper.step(order[share], codes[share], self._rate())
            self.step_in_epoch += 1
            if self.processes.world == 1:  # several take the first one's time, below
                self.seconds = spent + time.perf_counter() - begin
            if self.step % _CHECK_EVERY == 0:
                self._settle()
                self.seconds = self.processes.agree(spent + time.perf_counter() - begin)
                ended = self.budget.minutes is not None and self._progress() >= 1
                if time.monotonic() - self.saved > _CHECKPOINT_SECONDS:
                    self._save()
            ended = ended or (steps is not None and self.step >= steps)
        self._settle()
        self.seconds = self.processes.agree(spent + time.perf_counter() - begin)
        self._report(self.step - first, self.seconds - spent)
        if self.step_in_epoch == self.steps_per_epoch:
            self.epoch, self.step_in_epoch = self.epoch + 1, 0

    def _settle(self) -> None:
        """Wait for the device and stop where the loss is not finite."""
        bad = int(self.stepper.first_bad)
        if bad >= 0:
            raise NonFiniteLossError(
                f"the loss is not finite since step {bad}: {_CURE}"
            )

    def _progress(self) -> float:
        return self.budget.progress(self.step, self.seconds)

    def _rate(self) -> float:
        return self.budget.rate(self.step, self.seconds)

    def _epoch_seconds(self) -> float:
        return self.seconds / max(1, self.step) * self.steps_per_epoch

    def _report(self, steps: int, seconds: float) -> None:
        """Say and keep the mean losses since the last report."""
        means = (self.stepper.sums / max(1, steps)).tolist()
        self.stepper.sums.zero_()
        self.record.epoch(
            self.step,
            self.epoch + 1,
            dict(zip(LossParts._fields, means, strict=True)),
            rate=steps * self.config.batch_size / max(seconds, 1e-9),
            seconds=self.seconds,
            left=max(0.0, self.seconds * (1 / max(self._progress(), 1e-9) - 1)),
            learning_rate=self._rate(),
        )

    def _validate(self) -> None:
        self.validated = self.step
        if self.processes.rank != 0:
            return
        with self.stepper.averaged() as network:
            self.validation = validate(
                network,
                self.source.held_out,
                precision=self.config.precision,
                loss=self.preset.loss,
            )
        self.record.validation(self.step, self.seconds, self.validation)

    def _save(self) -> None:
        if self.processes.rank != 0:
            return
        # The loss may be a number at the very step that ruins the weights.
        if not self.stepper.finite():
            raise NonFiniteLossError(
                f"the weights are not finite at step {self.step}: {_CURE}"
            )
        # The device knows what it has done, also where an interrupt came in between.
        epoch, step = divmod(int(self.stepper.step_number), self.steps_per_epoch)
        position = Position(
            epoch=epoch,
            step=step,
            seconds=self.seconds,
            seed=self.seed,
            fingerprint=self.source.fingerprint,
            weights=self.weights,
        )
        write_checkpoint(self.checkpoint, self.stepper.tensors(), position, self.preset)
        with self.stepper.averaged() as network:
            # For use, not for shipping: a shipped network keeps to the limit.
            save_model(
                network, self.out / "model.safetensors", card=self._card(), limit=None
            )
        self.saved = time.monotonic()

    def _card(self) -> dict[str, Any]:
        settings = self.preset.to_dict()
        settings.pop("model")
        return {
            "preset": self.preset.name,
            "settings": settings,
            "labels": len(self.data),
            "fingerprint": self.source.fingerprint,
            "vehicles": self.data.vehicles,
            "seed": self.seed,
            "weights": self.weights,
            "steps": self.step,
            "epochs": round(self.step / self.steps_per_epoch, 2),
            "minutes": round(self.seconds / 60, 2),
            "epoch_seconds": round(self._epoch_seconds(), 3),
            "peak_GiB": round(self.processes.peak_bytes() / 2**30, 2),
            "validation": None
            if self.validation is None
            else self.validation.to_dict(),
        }

    def _result(self, finished: bool) -> TrainResult:
        network = Network(self.preset.model).to(self.processes.device)
        with self.stepper.averaged() as trained:
            network.load_state_dict(trained.state_dict())
        return TrainResult(
            network=network.eval(),
            steps=self.step,
            epochs=self.epoch,
            seconds=self.seconds,
            epoch_seconds=self._epoch_seconds(),
            peak_bytes=self.processes.peak_bytes(),
            validation=self.validation,
            finished=finished,
        )


def _mix(seed: int, epoch: int) -> int:
    """One seed from two, so that no epoch of one training is another's of the next."""
    return (seed * 1_000_003 + epoch * 7_919 + 12_345) % 2**63
