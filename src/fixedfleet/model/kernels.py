"""The Triton kernels of decoder and pooling, imported where there is a GPU."""

from __future__ import annotations

from importlib import import_module

from fixedfleet.errors import require

__all__ = ["load_kernels"]


def load_kernels() -> None:
    """
    Register the kernels as ``torch.ops.fixedfleet.…``, with their gradients.

    Raises
    ------
    MissingPackageError
        If Triton is not installed.
    """
    require("triton", "network", "training on a GPU")
    for name in ("kernels_decoder", "kernels_pooling"):
        import_module(f"fixedfleet.model.{name}")
