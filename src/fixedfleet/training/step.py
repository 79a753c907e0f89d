"""One step of training: forward, loss, backward, update; on a GPU one CUDA graph."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, distributed

from fixedfleet.model.devices import matmul_precision
from fixedfleet.training.loss import LossParts, plan_loss

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fixedfleet.model.network import Network
    from fixedfleet.training.dataset import Dataset
    from fixedfleet.training.loss import LossConfig
    from fixedfleet.training.presets import TrainConfig

__all__ = ["Stepper"]

_WARM_UPS = 3  # steps before a graph is captured, as torch asks for


class Stepper:
    """
    Has the network, its optimiser and its moving average, and takes steps.

    Parameters
    ----------
    network
        The network, on its device.
    dataset
        The labels, on the same device.
    loss, config
        The settings of the loss and of the training.
    world
        The number of processes; each takes its share of a batch.
    """

    def __init__(
        self,
        network: Network,
        dataset: Dataset,
        loss: LossConfig,
        config: TrainConfig,
        *,
        world: int = 1,
    ) -> None:
        self.network, self.dataset = network, dataset
        self.loss, self.config, self.world = loss, config, world
        self.device = dataset.device
        on_gpu = self.device.type == "cuda"
        self.optimizer = torch.optim.AdamW(
            network.parameters(),
            lr=torch.tensor(0.0, device=self.device) if on_gpu else 0.0,
            weight_decay=config.weight_decay,
            fused=on_gpu,
            capturable=on_gpu,
        )
        self.average = (
            [p.detach().clone() for p in network.parameters()] if config.ema else []
        )
        self._begin_optimizer()
        size = config.batch_size // world
        self.rows = torch.zeros(size, dtype=torch.long, device=self.device)
        self.codes = torch.zeros(size, dtype=torch.long, device=self.device)
        # Counted on the device, so that a step need not wait: steps done, the first
        # step whose loss is not finite (-1: none), and sums of the losses.
        self.step_number = torch.zeros((), dtype=torch.long, device=self.device)
        self.first_bad = torch.full_like(self.step_number, -1)
        self.sums = torch.zeros(len(LossParts._fields), device=self.device)
        network.fuse(on_gpu and config.compile)
        self.forward: Any = network
        if on_gpu and config.compile:
            self.forward = torch.compile(network, dynamic=False)
        self.graph: torch.cuda.CUDAGraph | None = None

    def _begin_optimizer(self) -> None:
        """Make Adam's state now, so that a checkpoint can be copied into it."""
        for p in self.network.parameters():
            where = self.device if self.device.type == "cuda" else "cpu"
            self.optimizer.state[p] = {
                "step": torch.zeros((), dtype=torch.float32, device=where),
                "exp_avg": torch.zeros_like(p),
                "exp_avg_sq": torch.zeros_like(p),
            }

    def tensors(self) -> dict[str, Tensor]:
        """Return everything a step changes, by name, to save it or to copy into it."""
        found: dict[str, Tensor] = {"step": self.step_number}
        average = iter(self.average)
        for name, p in self.network.named_parameters():
            found[f"model.{name}"] = p.detach()
            if self.average:
                found[f"average.{name}"] = next(average)
            for key, value in self.optimizer.state[p].items():
                found[f"optimizer.{key}.{name}"] = value
        return found

    @torch.no_grad()
    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Copy a state into these tensors, where a captured graph reads it."""
        for name, tensor in self.tensors().items():
            tensor.copy_(tensors[name])

    def finite(self) -> bool:
        """Return whether all weights are finite."""
        norms = torch._foreach_norm([p.detach() for p in self.network.parameters()])
        return bool(torch.isfinite(torch.stack(list(norms))).all())

    def prepare(self) -> None:
        """Compile and capture a step, and undo the effects of the steps this takes."""
        if self.device.type != "cuda":
            return
        before = {name: tensor.clone() for name, tensor in self.tensors().items()}
        stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(_WARM_UPS):
                self._body()
        torch.cuda.current_stream().wait_stream(stream)
        if self.config.graph and self.world == 1:
            self.optimizer.zero_grad(set_to_none=True)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self._body()
        self.restore(before)
        self.first_bad.fill_(-1)
        self.sums.zero_()
        torch.cuda.synchronize(self.device)

    def step(self, rows: Tensor, codes: Tensor, learning_rate: float) -> None:
        """
        Take one step, without waiting for the device.

        Parameters
        ----------
        rows, codes
            This process's share of the batch, and the symmetries of its instances.
        learning_rate
            The learning rate of this step.
        """
        self.rows.copy_(rows, non_blocking=True)
        self.codes.copy_(codes, non_blocking=True)
        for group in self.optimizer.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(learning_rate)
            else:
                group["lr"] = learning_rate
        if self.graph is not None:
            self.graph.replay()
        else:
            self._body()

    def _body(self) -> None:
        """Do a step on ``rows``; nothing here may copy from the host (CUDA graph)."""
        self.optimizer.zero_grad(set_to_none=True)
        batch = self.dataset.batch(
            self.rows, self.codes if self.config.augment else None
        )
        with matmul_precision(self.device, self.config.precision):
            log_probs = self.forward(batch.features)
        parts = plan_loss(log_probs, batch, self.loss)
        parts.total.backward()  # type: ignore[no-untyped-call]
        losses = torch.stack([part.detach() for part in parts])
        if self.world > 1:
            losses = self._reduce(losses)
        if self.config.clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        self.optimizer.step()
        with torch.no_grad():
            if self.average:
                weights = [p.detach() for p in self.network.parameters()]
                torch._foreach_lerp_(self.average, weights, 1 - self.config.ema)
            self.step_number += 1
            bad = ~torch.isfinite(losses[0]) & (self.first_bad < 0)
            self.first_bad.copy_(torch.where(bad, self.step_number, self.first_bad))
            self.sums += losses

    def _reduce(self, losses: Tensor) -> Tensor:
        """Average gradients and losses over the processes."""
        grads = [p.grad for p in self.network.parameters() if p.grad is not None]
        flat = torch.cat([losses, *(grad.flatten().float() for grad in grads)])
        distributed.all_reduce(flat)
        flat /= self.world
        start = len(losses)
        for grad in grads:
            grad.copy_(flat[start : start + grad.numel()].view_as(grad))
            start += grad.numel()
        return flat[: len(losses)]

    @contextlib.contextmanager
    def averaged(self) -> Any:
        """Put the moving average into the network within this context."""
        if not self.average:
            yield self.network
            return
        weights = [p.detach() for p in self.network.parameters()]
        own = [p.clone() for p in weights]
        torch._foreach_copy_(weights, self.average)
        try:
            yield self.network
        finally:
            torch._foreach_copy_(weights, own)
