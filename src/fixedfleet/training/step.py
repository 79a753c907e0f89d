"""
One step of training: forward pass, loss, backward pass, update of the weights.

On a GPU, a step is captured as a CUDA graph, which starts faster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, distributed

from fixedfleet.errors import InputError
from fixedfleet.model.devices import matmul_precision
from fixedfleet.training.muon import Muon

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fixedfleet.model.plan_network import PlanNetwork
    from fixedfleet.training.losses import Loss
    from fixedfleet.training.presets import TrainConfig
    from fixedfleet.training.training_data import Bucket

__all__ = ["Stepper"]

_WARM_UPS = 3  # torch requires some steps before a CUDA graph is captured


class Stepper:
    """
    Trains a network step by step; holds the optimisers and the moving average.

    Parameters
    ----------
    network
        The network, on its device.
    buckets
        The labels to train on, on the same device; see :class:`Bucket`.
    loss, config
        The loss, and the settings of the training.
    world
        The number of processes. Each trains on its share of every batch.
    """

    def __init__(
        self,
        network: PlanNetwork,
        buckets: Sequence[Bucket],
        loss: Loss,
        config: TrainConfig,
        *,
        world: int = 1,
    ) -> None:
        self.network, self.buckets = network, buckets
        self.loss, self.config, self.world = loss, config, world
        self.device = buckets[0].labels.routes.device
        on_gpu = self.device.type == "cuda"
        _freeze(network, config.freeze)
        self.optimizers = _make_optimizers(network, config, self.device)
        self.average = (
            [p.detach().clone() for p in network.parameters()] if config.ema else []
        )
        sizes = [bucket.batch_size // world for bucket in buckets]
        self.rows, self.codes = (
            [torch.zeros(size, dtype=torch.long, device=self.device) for size in sizes]
            for _ in range(2)
        )
        # These are counted on the device, so that no step has to wait for it: the steps
        # done, the first step whose loss is not finite (−1: none), and the sums of the
        # losses since the last report.
        self.step_number = torch.zeros((), dtype=torch.long, device=self.device)
        self.first_bad = torch.full_like(self.step_number, -1)
        self.sums = torch.zeros(len(loss.terms), device=self.device)
        network.fuse(on_gpu and config.compile)
        if on_gpu and config.compile:
            network.compile_parts()
        self.graphs: list[torch.cuda.CUDAGraph] = []

    def tensors(self) -> dict[str, Tensor]:
        """
        Return all tensors that a step changes, by name; they are not copies.

        They are the weights, their moving average, the optimisers' state, and the
        number of steps.
        """
        found: dict[str, Tensor] = {"step": self.step_number}
        average = iter(self.average)
        for name, p in self.network.named_parameters():
            found[f"model.{name}"] = p.detach()
            if self.average:
                found[f"average.{name}"] = next(average)
            for optimizer in self.optimizers:
                for key, value in optimizer.state.get(p, {}).items():
                    found[f"optimizer.{key}.{name}"] = value
        return found

    @torch.no_grad()
    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """
        Restore a state that :meth:`tensors` has returned earlier.

        The values are copied into the existing tensors, because a captured CUDA graph
        reads these tensors.
        """
        for name, tensor in self.tensors().items():
            tensor.copy_(tensors[name])

    def finite(self) -> bool:
        """Return whether all weights are finite."""
        norms = torch._foreach_norm([p.detach() for p in self.network.parameters()])
        return bool(torch.isfinite(torch.stack(list(norms))).all())

    def prepare(self) -> None:
        """
        On a GPU, compile a step for each bucket and capture it as a CUDA graph.

        Steps are captured only if ``config.compile`` is set and there is one process.
        Preparing makes a few steps of training. They do not count: the state from
        before is restored.
        """
        if self.device.type != "cuda":
            return
        before = {name: tensor.clone() for name, tensor in self.tensors().items()}
        pool: Any = None
        for bucket in range(len(self.buckets)):
            stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(_WARM_UPS):
                    self._body(bucket)
            torch.cuda.current_stream().wait_stream(stream)
            if self.config.compile and self.world == 1:
                self._zero_grad()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph, pool=pool):
                    self._body(bucket)
                pool = pool or graph.pool()
                self.graphs.append(graph)
        self.restore(before)
        self.first_bad.fill_(-1)
        self.sums.zero_()
        torch.cuda.synchronize(self.device)

    def step(
        self, bucket: int, rows: Tensor, codes: Tensor, learning_rate: float
    ) -> None:
        """
        Train on this process's share of a batch, without waiting for the device.

        Parameters
        ----------
        bucket
            The number of the bucket that holds the labels.
        rows
            The numbers of the labels in the bucket.
        codes
            A random whole number for each label, by which its instance is rotated or
            mirrored; see :meth:`PlanNetwork.augment`.
        learning_rate
            The learning rate of this step.
        """
        self.rows[bucket].copy_(rows, non_blocking=True)
        self.codes[bucket].copy_(codes, non_blocking=True)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                rate = learning_rate * group["factor"]
                if isinstance(group["lr"], Tensor):
                    group["lr"].fill_(rate)
                else:
                    group["lr"] = rate
        if self.graphs:
            self.graphs[bucket].replay()
        else:
            self._body(bucket)

    def _zero_grad(self) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)

    def _body(self, bucket: int) -> None:
        """
        Train one step on the labels ``self.rows[bucket]`` of a bucket.

        Nothing here may copy from the host, because a CUDA graph cannot capture a copy.
        """
        self._zero_grad()
        batch = self.buckets[bucket].labels.take(self.rows[bucket])
        if self.config.augment:
            turned = self.network.augment(
                batch.features.coordinates, self.codes[bucket]
            )
            batch = batch._replace(features=batch.features._replace(coordinates=turned))
        with matmul_precision(self.device, self.config.precision):
            output = self.network(batch.features)
        found = self.loss(output, batch)
        found["total"].backward()  # type: ignore[no-untyped-call]
        losses = torch.stack([found[name].detach() for name in self.loss.terms])
        if self.world > 1:
            losses = self._reduce(losses)
        if self.config.clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.clip)
        for optimizer in self.optimizers:
            optimizer.step()
        with torch.no_grad():
            if self.average:
                weights = [p.detach() for p in self.network.parameters()]
                torch._foreach_lerp_(self.average, weights, 1 - self.config.ema)
            self.step_number += 1
            bad = ~torch.isfinite(losses[0]) & (self.first_bad < 0)
            self.first_bad.copy_(torch.where(bad, self.step_number, self.first_bad))
            self.sums += losses

    def _reduce(self, losses: Tensor) -> Tensor:
        """
        Average gradients and losses over the processes; return the averaged losses.

        The gradients are changed in place.
        """
        grads = [p.grad for p in self.network.parameters() if p.grad is not None]
        flat = torch.cat([losses, *(grad.flatten().float() for grad in grads)])
        distributed.all_reduce(flat)
        flat /= self.world
        start = len(losses)
        for grad in grads:
            grad.copy_(flat[start : start + grad.numel()].view_as(grad))
            start += grad.numel()
        return flat[: len(losses)]

    @torch.no_grad()
    def averaged(self) -> PlanNetwork:
        """Return a copy of the network, with the averaged weights if there are any."""
        network = type(self.network)(self.network.config).to(self.device)
        weights = self.average or list(self.network.parameters())
        torch._foreach_copy_(list(network.parameters()), weights)
        return network.eval()


def _freeze(network: PlanNetwork, names: str) -> None:
    """
    Exclude weights from the training by the beginnings of their names.

    ``names`` holds these beginnings, separated by commas.

    Raises
    ------
    InputError
        If no weight's name has one of the beginnings, or if no weight is left to train.
    """
    beginnings = tuple(filter(None, names.split(",")))
    weights = dict(network.named_parameters())
    for beginning in beginnings:
        if not any(name.startswith(beginning) for name in weights):
            known = sorted({name.partition(".")[0] for name in weights})
            raise InputError(
                f"training.freeze: no weight's name begins with {beginning!r}: choose "
                f"from {', '.join(known)}"
            )
    for name, weight in weights.items():
        weight.requires_grad_(not name.startswith(beginnings))
    if not any(weight.requires_grad for weight in weights.values()):
        raise InputError("training.freeze leaves no weight to train")


def _make_optimizers(
    network: PlanNetwork, config: TrainConfig, device: torch.device
) -> list[torch.optim.Optimizer]:
    """
    Return AdamW, and Muon for the matrices of the layers if ``config.muon`` is set.

    Each parameter group has a ``factor``: :meth:`Stepper.step` multiplies the learning
    rate by it. InputError is raised if Muon is asked for and the network has no such
    matrices.
    """
    on_gpu = device.type == "cuda"
    rate = torch.tensor(0.0, device=device) if on_gpu else 0.0
    of_layers = {
        name: p
        for name, p in network.named_parameters()
        if config.muon and p.ndim == 2 and ".layers." in f".{name}"
    }
    if config.muon and not of_layers:
        raise InputError(
            "training.muon trains the matrices of a module 'layers', which this "
            "network does not have: set training.muon=0"
        )
    matrices = {name: p for name, p in of_layers.items() if p.requires_grad}
    others = [
        p
        for name, p in network.named_parameters()
        if name not in matrices and p.requires_grad
    ]
    adam = torch.optim.AdamW(
        others,
        lr=rate,
        betas=(0.9, 0.98) if config.muon else (0.9, 0.999),
        weight_decay=config.weight_decay,
        fused=on_gpu,
        capturable=on_gpu,
    )
    # Adam would make its state in the first step. It is made now, so that a checkpoint
    # can be copied into it.
    for p in others:
        adam.state[p] = {
            "step": torch.zeros((), device=device),
            "exp_avg": torch.zeros_like(p),
            "exp_avg_sq": torch.zeros_like(p),
        }
    optimizers: list[torch.optim.Optimizer] = [adam]
    adam.param_groups[0]["factor"] = 1.0
    if matrices:
        own = torch.tensor(0.0, device=device) if on_gpu else 0.0
        muon = Muon(list(matrices.values()), own, config.weight_decay)
        muon.param_groups[0]["factor"] = config.muon
        optimizers.append(muon)
    return optimizers
