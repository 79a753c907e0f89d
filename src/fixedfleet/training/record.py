"""What a training says and keeps: progress lines, a log of metrics, TensorBoard."""

from __future__ import annotations

import importlib.util
import json
import math
from typing import TYPE_CHECKING, Any

from fixedfleet.files.atomic import write_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Record"]


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
        if importlib.util.find_spec("tensorboard") is not None:
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

    def close(self) -> None:
        """Finish what is being written."""
        if self.board is not None:
            self.board.close()


def _step_of(line: str) -> float:
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf  # half a line, from a training that was killed
