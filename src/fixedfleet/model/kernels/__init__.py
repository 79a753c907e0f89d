"""The Triton kernels of the decoder and of max pooling, for GPUs."""

from __future__ import annotations

from importlib import import_module

from fixedfleet.errors import require

__all__ = ["load_kernels"]


def load_kernels() -> None:
    """
    Register the kernels, with their gradients, as ``torch.ops.fixedfleet.…``.

    Raises
    ------
    MissingPackageError
        If Triton is not installed.
    """
    require("triton", "network", "training on a GPU")
    for name in ("edge_scores", "max_pooling"):
        import_module(f"fixedfleet.model.kernels.{name}")
