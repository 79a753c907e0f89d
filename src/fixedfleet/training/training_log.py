"""The log of a training: progress lines, ``log.jsonl`` and TensorBoard."""

from __future__ import annotations

import contextlib
import json
import math
from typing import TYPE_CHECKING, Any

from fixedfleet.files.atomic import write_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["TrainingLog"]


class TrainingLog:
    """
    Prints lines, and writes metrics to ``log.jsonl`` and, if installed, to TensorBoard.

    Parameters
    ----------
    folder
        The folder of the log; None writes nothing.
    step
        The step that the training starts from. Entries of an existing log after this
        step are removed: an interrupted training wrote them after its last checkpoint.
    display
        Called with each line; None prints nothing.
    """

    def __init__(
        self, folder: Path | None, step: int, display: Callable[[str], None] | None
    ) -> None:
        self.path = None if folder is None else folder / "log.jsonl"
        self.display = display
        self.board: Any = None
        if self.path is None:
            return
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        kept = [line for line in lines if _step_of(line) <= step] if step else []
        write_text(self.path, "".join(f"{line}\n" for line in kept))
        with contextlib.suppress(ImportError):  # TensorBoard is optional
            from torch.utils.tensorboard import SummaryWriter

            self.board = SummaryWriter(str(self.path.parent), purge_step=step + 1)

    def say(self, line: str) -> None:
        """Print a progress line."""
        if self.display is not None:
            self.display(line)

    def add(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Write the metrics of a step to the log files."""
        if self.path is None:
            return
        # JSON has no NaN and no infinity, so they become null.
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

    def close(self) -> None:
        """Close the log files."""
        if self.board is not None:
            self.board.close()


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf  # half a line, from a training that was killed
