"""What a training says and keeps: progress lines, a log of metrics, TensorBoard."""

from __future__ import annotations

import importlib.util
import json
import math
from typing import TYPE_CHECKING, Any

from fixedfleet.files.atomic import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from fixedfleet.training.validation import Validation

__all__ = ["Record", "has_tensorboard"]


class Record:
    """
    Writes metrics to ``log.jsonl`` and, where it is installed, to TensorBoard.

    Parameters
    ----------
    folder
        Where the log is; None writes nothing.
    step
        The step the training goes on from; what a log has after it is dropped.
    display
        Takes a line of progress; None for silence.
    """

    def __init__(
        self, folder: Path | None, step: int, display: Callable[[str], None] | None
    ) -> None:
        self.path = None if folder is None else folder / "log.jsonl"
        self.display = display
        self.board: Any = None
        if self.path is None:
            return
        self._keep_until(self.path, step)
        if has_tensorboard():
            from torch.utils.tensorboard import SummaryWriter

            self.board = SummaryWriter(str(self.path.parent), purge_step=step + 1)

    @staticmethod
    def _keep_until(path: Path, step: int) -> None:
        lines = path.read_text().splitlines() if path.exists() else []
        kept = [line for line in lines if _step_of(line) <= step] if step else []
        write_text(path, "".join(f"{line}\n" for line in kept))

    def say(self, line: str) -> None:
        """Show a line of progress."""
        if self.display is not None:
            self.display(line)

    def add(self, step: int, metrics: dict[str, Any]) -> None:
        """Keep the metrics of a step."""
        if self.path is None:
            return
        # JSON knows no NaN.
        clean = {
            key: None
            if isinstance(value, float) and not math.isfinite(value)
            else value
            for key, value in metrics.items()
        }
        with self.path.open("a") as file:
            file.write(json.dumps({"step": step, **clean}) + "\n")
        if self.board is not None:
            for key, value in clean.items():
                if isinstance(value, int | float):
                    self.board.add_scalar(key, value, step)

    def labels(self, step: int, news: Mapping[str, float] | None) -> None:
        """Say and keep what there is to know about new labels, if there are any."""
        if news is None:
            return
        self.say(
            f"  round {news['round']}: {news['labels']:,} new labels in "
            f"{news['seconds']:.1f} s, mean length {news['length']:.4f}"
        )
        self.add(step, {f"fresh/{name}": value for name, value in news.items()})

    def epoch(
        self,
        step: int,
        epoch: int,
        losses: Mapping[str, float],
        *,
        rate: float,
        seconds: float,
        left: float,
        learning_rate: float,
    ) -> None:
        """
        Say and keep the losses of an epoch, or of the part of it that was left.

        Parameters
        ----------
        step, epoch
            Steps done in all, and the number of the epoch.
        losses
            The mean loss, ``total``, and its parts by name.
        rate
            Instances a second.
        seconds, left
            Time spent in steps, and what the budget leaves of it.
        learning_rate
            That of the next step.
        """
        self.say(
            f"epoch {epoch}, step {step}: loss {losses['total']:.4f}, "
            f"{rate:,.0f} instances/s, {seconds / 60:.1f} min, {left / 60:.1f} min left"
        )
        metrics = {f"loss/{name}": value for name, value in losses.items()}
        metrics |= {"rate": rate, "seconds": seconds, "learning_rate": learning_rate}
        self.add(step, metrics)

    def validation(self, step: int, seconds: float, result: Validation) -> None:
        """Say and keep a validation."""
        self.say(
            f"  held out: loss {result.losses['total']:.4f}; decoded: length "
            f"{result.length:.4f}, labels {result.label_length:.4f}, "
            f"{result.vehicles:.2f} vehicles, {result.solved:.1%} solved, "
            f"{result.violation:.2%} of the capacity violated a vehicle"
        )
        metrics = {f"validation/{name}": v for name, v in result.to_dict().items()}
        self.add(step, metrics | {"seconds": seconds})

    def conclusion(
        self, step: int, seconds: float, epoch_seconds: float, labels: int, peak: int
    ) -> None:
        """
        Say and keep what the training took.

        Parameters
        ----------
        step, seconds
            Steps done in all, and the time spent in them.
        epoch_seconds, labels
            Time an epoch takes, and the labels it goes through.
        peak
            Bytes of GPU memory in use at the peak; 0 without a GPU.
        """
        memory = f", {peak / 2**30:.2f} GiB of GPU memory at the peak" if peak else ""
        self.say(
            f"{step} steps in {seconds:.1f} s: {epoch_seconds:.3f} s an epoch of "
            f"{labels:,} labels{memory}"
        )
        metrics = {"epoch_seconds": epoch_seconds, "peak_GiB": peak / 2**30}
        self.add(step, metrics | {"seconds": seconds})

    def close(self) -> None:
        """Finish what is being written."""
        if self.board is not None:
            self.board.close()


def has_tensorboard() -> bool:
    """Whether TensorBoard is installed."""
    return importlib.util.find_spec("tensorboard") is not None


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf  # half a line, from a training that was killed
