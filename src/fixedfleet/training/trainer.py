"""Train a network on labels until the budget is used up; resume a training."""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from fixedfleet.errors import InputError, check_seed
from fixedfleet.files.atomic import write_text
from fixedfleet.model.devices import calm_threads, check_memory
from fixedfleet.model.weights import make_network, named_parts, save_model
from fixedfleet.registry import source_file
from fixedfleet.training.checkpoint import (
    CHECKPOINT,
    Position,
    read_checkpoint,
    read_weights,
    write_checkpoint,
)
from fixedfleet.training.presets import get_preset
from fixedfleet.training.ranks import Ranks
from fixedfleet.training.step import Stepper
from fixedfleet.training.training_data import gather_data, step_size
from fixedfleet.training.training_log import TrainingLog
from fixedfleet.training.validation import validate

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    from fixedfleet.model.plan_network import PlanNetwork
    from fixedfleet.training.presets import Preset, TrainConfig
    from fixedfleet.training.training_data import Labels, TrainingData
    from fixedfleet.training.validation import Validation

__all__ = ["NonFiniteLossError", "TrainResult", "train"]

_CHECK_EVERY = 50  # on a GPU, wait for its results once in this many steps
_CPU_WORK = 5e11  # a step with more operations takes a CPU core several seconds
_CHECKPOINT_SECONDS = 60.0  # the least time between two checkpoints
_CURE = (
    "the last checkpoint is from before; lower training.learning_rate, set "
    "training.clip, or use training.precision = 'fp32'"
)


class NonFiniteLossError(ArithmeticError):
    """The loss became infinite or NaN; the message names the first such step."""


@dataclass(frozen=True, repr=False)
class TrainResult:
    """
    The result of a training.

    Attributes
    ----------
    network
        The network, with the moving average of its weights if there is one.
    steps, epochs
        The numbers of steps and of whole epochs done.
    seconds
        The time of all steps in seconds, without compilation and validation.
    validation
        The result of the last validation; None if there was no validation.
    finished
        Whether the budget is used up; otherwise the training can be resumed.
    """

    network: PlanNetwork
    steps: int
    epochs: int
    seconds: float
    validation: Validation | None
    finished: bool

    def __repr__(self) -> str:
        length = "" if self.validation is None else f"length {self.validation.length:g}"
        parts = (
            f"{self.steps} steps",
            f"{self.epochs} epochs",
            f"{self.seconds:.1f} s",
            length,
            "finished" if self.finished else "can be resumed",
        )
        return f"TrainResult({', '.join(filter(None, parts))})"


def train(
    preset: str | Preset,
    labels: Labels,
    *,
    out: str | os.PathLike[str],
    resume: bool = False,
    weights: str | os.PathLike[str] | None = None,
    device: str | torch.device | None = None,
    seed: int = 0,
    display: Callable[[str], None] | None = print,
) -> TrainResult:
    """
    Train a network on labels, write it to a folder and return it.

    Under ``torchrun``, every process trains on its share of each batch.

    Parameters
    ----------
    preset
        All settings, including the budget, or the name of a preset. ``FILE.toml:NAME``
        is a preset in a file.
    labels
        Label files or folders, or a batch of instances and a batch of their plans. For
        a preset of the paper, all instances must have the same size.
    out
        Folder for ``checkpoint.safetensors``, ``model.safetensors`` and ``log.jsonl``.
    resume
        Whether to continue from the checkpoint in ``out``.
    weights
        A network to start from: its file, or the name of a shipped one. It must have
        the same settings as the preset's network. Optimiser, schedule and budget start
        anew.
    device
        Where to train. Default: a GPU if there is one.
    seed
        Seed of the first weights, the order of labels, and their random rotations.
    display
        Called with each line of progress; None prints nothing.

    Raises
    ------
    InputError
        If an argument is wrong, before anything is written.
    NonFiniteLossError
        If the loss becomes infinite or NaN.
    """
    if isinstance(preset, str):
        preset = get_preset(preset)
    check_seed(seed)
    if weights is not None and resume:
        raise InputError("resume and weights are both given: a checkpoint has weights")
    tf32 = _allow_tf32(preset.training.precision != "fp32")
    with Ranks(device) as ranks, calm_threads(ranks.device), tf32:
        data = gather_data(preset, labels, ranks.device, seed)
        trainer = _Trainer(preset, data, ranks, Path(out), seed)
        trainer.start(resume, weights)
        log = TrainingLog(
            trainer.out if ranks.first else None,
            trainer.step,
            display if ranks.first else None,
        )
        log.say(trainer.headline(resumed=resume))
        if warning := trainer.cpu_warning():
            log.say(warning)
        return trainer.run(log)


@contextlib.contextmanager
def _allow_tf32(allowed: bool) -> Iterator[None]:
    """
    Return a context manager that says whether matrix products may be computed in TF32.

    Afterwards, torch has the setting from before again, unless it was made by torch's
    newer attributes ``fp32_precision``: torch cannot report those here.
    """
    before = None
    with contextlib.suppress(RuntimeError):
        before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    try:
        yield
    finally:
        if before is not None:
            torch.set_float32_matmul_precision(before)


class _Trainer:
    """One training: its data, its network and optimiser, and its progress."""

    def __init__(
        self, preset: Preset, data: TrainingData, ranks: Ranks, out: Path, seed: int
    ) -> None:
        self.preset, self.config = preset, preset.training
        self.data, self.ranks, self.out, self.seed = data, ranks, out, seed
        self.steps_per_epoch = sum(bucket.steps for bucket in data.buckets)
        torch.manual_seed(seed)
        network = make_network(preset.network, preset.model)
        self._check_sizes(network)
        network = network.to(ranks.device)
        self.stepper = Stepper(
            network, data.buckets, preset.loss, self.config, world=ranks.world
        )
        self.step, self.seconds = 0, 0.0  # steps done in total, and their time
        self.new_steps = 0  # steps done in this process, without those before a resume
        # The step from which on the stepper sums up the losses.
        self.summed_from = 0
        self.weights: str | None = None
        self.saved, self.validated = 0.0, -1
        self.validation: Validation | None = None

    def _check_sizes(self, network: PlanNetwork) -> None:
        """
        Raise InputError if a batch size does not suit processes, labels or memory.

        The number of processes must divide the batch size, a batch must not have more
        labels than its bucket, and a step must fit into memory.
        """
        world = self.ranks.world
        for bucket in self.data.buckets:
            size = bucket.batch_size
            if size % world:
                raise InputError(
                    f"batch size {size} cannot be shared by {world} processes"
                )
            if bucket.size < size:
                raise InputError(
                    f"{bucket.size} labels to train on, fewer than a batch of {size}"
                )
            features = bucket.labels.features
            check_memory(
                network,
                size // world,
                features.nodes.shape[1],
                features.vehicles.shape[1],
                self.ranks.device,
                advice="lower training.batch_size",
            )

    @property
    def _on_cpu(self) -> bool:
        return self.ranks.device.type == "cpu"

    @property
    def progress(self) -> float:
        """The share of the budget that is used up, from 0 on; 1 ends the training."""
        if self.config.minutes is not None:
            return self.seconds / (60 * self.config.minutes)
        return self.step / (self.config.epochs * self.steps_per_epoch)

    # ------------------------------------------------------------------- start

    def start(self, resume: bool, weights: str | os.PathLike[str] | None) -> None:
        """
        Load the checkpoint or the weights to start from, and compile the network.

        The folder ``out`` is created only after everything has been read without
        errors. Compilation does not count as training time.
        """
        state, losses = self._read_state(resume, weights)
        self.out.mkdir(parents=True, exist_ok=True)
        if state is not None:
            self.stepper.restore(state)
        try:
            self.stepper.prepare()
        except torch.cuda.OutOfMemoryError as error:
            raise InputError(
                f"a step on {self.config.batch_size} instances does not fit into the "
                f"memory of {self.ranks.device}: lower training.batch_size"
            ) from error
        if losses:
            self.stepper.sums.copy_(torch.tensor(losses))

    def _read_state(
        self, resume: bool, weights: str | os.PathLike[str] | None
    ) -> tuple[dict[str, Tensor] | None, Sequence[float]]:
        """
        Return the tensors to start from (None: random weights) and sums of losses.

        With ``resume``, the tensors, the progress and the sums of the losses of the
        unfinished epoch are read from the checkpoint. Otherwise the tensors are read
        from the network ``weights``, if it is given.
        """
        path = self.out / CHECKPOINT
        if path.exists() and not resume:
            raise InputError(f"{path} exists: resume it, or train into another folder")
        if resume:
            state, position = read_checkpoint(
                path,
                self.stepper.tensors(),
                self.preset,
                seed=self.seed,
                fingerprint=self.data.fingerprint,
            )
            self.step = position.epoch * self.steps_per_epoch + position.step
            self.seconds, self.weights = position.seconds, position.weights
            self.summed_from = self.step
            if len(position.losses) != len(self.stepper.sums):  # of an older version
                return state, ()
            self.summed_from -= position.step
            return state, position.losses
        if weights is None:
            return None, ()
        self.weights = Path(weights).name
        return self.stepper.tensors() | read_weights(weights, self.preset), ()

    def headline(self, *, resumed: bool) -> str:
        """Return the first line that a training prints."""
        size = sum(p.numel() for p in self.stepper.network.parameters())
        most = int(self.data.buckets[-1].labels.features.nodes.sum(1).max()) - 1
        sizes = f"up to {most}" if self.preset.customers is None else f"{most}"
        verb = f"resumes at step {self.step}" if resumed else "begins"
        if self.weights and not resumed:
            verb = f"begins with the weights of {self.weights}"
        return (
            f"{self.preset.name} {verb}: {self._instances()} of {sizes} customers, "
            f"{size / 1e6:.2f} million weights, {self.steps_per_epoch} steps per epoch "
            f"on {self.ranks.device}"
        )

    def _instances(self) -> str:
        """
        Return a phrase with the numbers of labels and of groups of their tours.

        Example: "5,000 labels and 20,000 groups of their tours".
        """
        groups = self.data.groups
        more = f" and {groups:,} groups of their tours" if groups else ""
        return f"{self.data.labels:,} labels{more}"

    def cpu_warning(self) -> str:
        """Return a warning if the steps are too large for this CPU; otherwise ""."""
        if not self._on_cpu:
            return ""
        weights = sum(p.numel() for p in self.stepper.network.parameters())
        largest, smaller, batch_size = 0, self.config.batch_size, self.config.batch_size
        for bucket in self.data.buckets:
            features = bucket.labels.features
            shape = features.nodes.shape[1] - 1, features.vehicles.shape[1]
            most = _CPU_WORK / (6 * weights * (1 + sum(shape)))  # instances of a step
            if bucket.batch_size > most:
                mixed = self.preset.customers is None
                full = step_size(batch_size, shape) if mixed else None
                largest = max(largest, bucket.batch_size)
                smaller = min(smaller, int(batch_size * most / (full or batch_size)))
        if not largest:
            return ""
        smaller = max(1, smaller)
        return (
            f"warning: a step has up to {largest:,} instances, which is meant for a "
            "GPU; on a CPU it can take minutes, and the budget is looked at between "
            f"steps: set training.batch_size to {smaller} or less"
        )

    # ------------------------------------------------------------------- steps

    def run(self, log: TrainingLog) -> TrainResult:
        """
        Train until the budget is used up or ``training.steps`` is reached.

        Return the result. On Ctrl-C, the checkpoint is written first.
        """
        self.saved = time.monotonic()
        try:
            while self.progress < 1 and not self._stopped():
                self._epoch(log)
                often = self.config.validate_every * self.steps_per_epoch
                if self.step % often == 0:
                    self._validate(log)
        except KeyboardInterrupt:
            log.say(f"interrupted at step {self.step}")
            self._wait()
            self._save()
            raise
        finished = self.progress >= 1
        if finished and self.validated != self.step:
            self._validate(log)
        self._save()
        self._conclude(log)
        return TrainResult(
            network=self.stepper.averaged(),
            steps=self.step,
            epochs=self.step // self.steps_per_epoch,
            seconds=self.seconds,
            validation=self.validation,
            finished=finished,
        )

    def _stopped(self) -> bool:
        return self.config.steps is not None and self.step >= self.config.steps

    def _epoch(self, log: TrainingLog) -> None:
        """
        Train until the current epoch ends or the training must stop.

        A GPU computes the steps in the background. The trainer waits for its results
        and checks the time limit only after every _CHECK_EVERY steps.
        """
        begin, first, spent = time.perf_counter(), self.step, self.seconds
        often = 1 if self._on_cpu else _CHECK_EVERY
        epoch, done = divmod(self.step, self.steps_per_epoch)
        for batch in self.data.batches(epoch, self.seed, self.ranks, done):
            self.stepper.step(*batch, self._learning_rate())
            self.step += 1
            self.new_steps += 1
            # Several processes must agree on the time, which they do only below.
            if self.ranks.world == 1:
                self.seconds = spent + time.perf_counter() - begin
            ended = self._stopped()
            if self.step % often == 0:
                self._wait()
                self.seconds = self.ranks.agree(spent + time.perf_counter() - begin)
                ended |= self.config.minutes is not None and self.progress >= 1
                if self._on_cpu and self.new_steps == 1:
                    self._report_first(log, self.seconds - spent)
                if time.monotonic() - self.saved > _CHECKPOINT_SECONDS:
                    self._save()
                    log.say(f"step {self.step} saved, {self.seconds / 60:.1f} min")
            if ended:
                break
        self._wait()
        self.seconds = self.ranks.agree(spent + time.perf_counter() - begin)
        self._report(log, self.step - first, self.seconds - spent)

    def _learning_rate(self) -> float:
        return learning_rate(self.config, self.step, self.progress)

    def _wait(self) -> None:
        """
        Wait until the device has computed all steps.

        Raise NonFiniteLossError if the loss of a step was not finite.
        """
        bad = int(self.stepper.first_bad)
        if bad >= 0:
            raise NonFiniteLossError(
                f"the loss is not finite since step {bad}: {_CURE}"
            )

    # ----------------------------------------------------------------- reports

    def _report_first(self, log: TrainingLog, seconds: float) -> None:
        """
        Print how long the first step took, and estimate the time of an epoch from it.

        ``seconds`` is the time of the first step.
        """
        epoch = seconds * self.steps_per_epoch / 60
        log.say(
            f"step {self.step}: loss {self._mean_losses()['total']:.4f}, "
            f"{seconds:.2f} s; an epoch of {self.steps_per_epoch:,} such steps takes "
            f"{epoch:.1f} min"
        )

    def _mean_losses(self) -> dict[str, float]:
        """Return the mean of each loss over the steps of the current epoch."""
        steps = max(1, self.step - self.summed_from)
        means = (self.stepper.sums / steps).tolist()
        return dict(zip(self.preset.loss.terms, means, strict=True))

    def _report(self, log: TrainingLog, steps: int, seconds: float) -> None:
        """
        Print and log the mean losses of the epoch so far.

        ``steps`` is the number of steps since the last report, and ``seconds`` is the
        time that they took.
        """
        losses = self._mean_losses()
        if self.step % self.steps_per_epoch == 0:
            self.stepper.sums.zero_()
            self.summed_from = self.step
        size = len(self.data) / self.steps_per_epoch  # instances of a step, on average
        rate = steps * size / max(seconds, 1e-9)
        left = max(0.0, self.seconds * (1 / max(self.progress, 1e-9) - 1))
        log.say(
            f"epoch {math.ceil(self.step / self.steps_per_epoch)}, step {self.step}: "
            f"loss {losses['total']:.4f}, "
            f"{rate:,.0f} instances/s, {self.seconds / 60:.1f} min, "
            f"{left / 60:.1f} min left"
        )
        metrics = {f"loss/{name}": value for name, value in losses.items()}
        metrics |= {"rate": rate, "seconds": self.seconds}
        log.add(self.step, metrics | {"learning_rate": self._learning_rate()})

    def _validate(self, log: TrainingLog) -> None:
        self.validated = self.step
        if not self.ranks.first:
            return
        self.validation = found = validate(
            self.stepper.averaged(),
            *self.data.held_out,
            self.preset.loss,
            self.config.precision,
        )
        log.say(
            f"  held out: loss {found.losses['total']:.4f}; decoded: length "
            f"{found.length:.4f}, labels {found.label_length:.4f}, "
            f"{found.vehicles:.2f} vehicles, {found.solved:.1%} solved, "
            f"{found.violation:.2%} of the capacity violated per vehicle"
        )
        metrics = {f"validation/{name}": v for name, v in found.to_dict().items()}
        log.add(self.step, metrics | {"seconds": self.seconds})

    def _conclude(self, log: TrainingLog) -> None:
        """Print and log the time and the memory that the training took."""
        peak = self.ranks.peak_bytes() / 2**30
        epoch = self.seconds / max(1, self.step) * self.steps_per_epoch
        memory = f", {peak:.2f} GiB of GPU memory at the peak" if peak else ""
        log.say(
            f"{self.step} steps in {self.seconds:.1f} s: {epoch:.3f} s "
            f"per epoch of {self._instances()}{memory}"
        )
        metrics = {"epoch_seconds": epoch, "peak_GiB": peak}
        log.add(self.step, metrics | {"seconds": self.seconds})
        log.close()

    # ------------------------------------------------------------------- files

    def _save(self) -> None:
        """
        Write the checkpoint, the network, and the user's files that the network needs.

        Only the first process writes. NonFiniteLossError is raised if a weight is not
        finite.
        """
        if not self.ranks.first:
            return
        # A step can have a finite loss and still ruin the weights.
        if not self.stepper.finite():
            raise NonFiniteLossError(
                f"the weights are not finite at step {self.step}: {_CURE}"
            )
        # After Ctrl-C, `self.step` may lag behind by one. The counter on the device is
        # always right.
        epoch, step = divmod(int(self.stepper.step_number), self.steps_per_epoch)
        whole = self.summed_from == epoch * self.steps_per_epoch
        position = Position(
            epoch=epoch,
            step=step,
            seconds=self.seconds,
            seed=self.seed,
            fingerprint=self.data.fingerprint,
            weights=self.weights,
            losses=self.stepper.sums.tolist() if whole else (),
        )
        write_checkpoint(
            self.out / CHECKPOINT, self.stepper.tensors(), position, self.preset
        )
        network = self.stepper.averaged()
        save_model(network, self.out / "model.safetensors", card=self._card())
        for file in self._own_files():
            copy = self.out / file.name
            if copy.resolve() != file:
                write_text(copy, file.read_text(encoding="utf-8"))
        self.saved = time.monotonic()

    def _own_files(self) -> set[Path]:
        """
        Return the user's files that define the network, its normalisation or the loss.
        """
        network, config = self.preset.network, asdict(self.preset.model)
        named = named_parts(network, config)
        parts = [registry.get(name) for name, registry in named.items()]
        parts.append(type(self.preset.loss))
        return {file for part in parts if (file := source_file(part)) is not None}

    def _card(self) -> dict[str, Any]:
        """Return the facts about the training that are saved with the network."""
        settings = self.preset.to_dict()
        settings.pop("model")
        found = self.validation
        return {
            "preset": self.preset.name,
            "settings": settings,
            "labels": self.data.labels,
            "groups": self.data.groups,
            "fingerprint": self.data.fingerprint,
            "vehicles": self.data.buckets[-1].labels.features.vehicles.shape[1],
            "seed": self.seed,
            "weights": self.weights,
            "steps": self.step,
            "epochs": round(self.step / self.steps_per_epoch, 2),
            "minutes": round(self.seconds / 60, 2),
            "validation": None if found is None else found.to_dict(),
        }


def learning_rate(config: TrainConfig, step: int, progress: float) -> float:
    """
    Return the learning rate of the next step.

    ``step`` is the number of steps done, and ``progress`` the share of the budget used.
    """
    rate = config.learning_rate
    if config.schedule == "cosine":
        rate *= 0.5 + 0.5 * math.cos(math.pi * min(1.0, progress))
    if step < config.warmup:
        rate *= (step + 1) / config.warmup
    return rate
