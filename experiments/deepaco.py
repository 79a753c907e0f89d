"""Plans of DeepACO, by its authors' code and weights, which are not included.

H. Ye, J. Wang, Z. Cao, H. Liang and Y. Li: "DeepACO: Neural-enhanced Ant Systems for
Combinatorial Optimization", NeurIPS 2023.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fixedfleet.errors import (
    InputError,
    MissingPackageError,
    at_least,
    check_settings,
    require,
)
from fixedfleet.evaluate import Start
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from fixedfleet.instance import Instance

__all__ = ["DeepAco"]

_MODULES = ("net", "aco", "utils")
_EPS = 1e-10  # as in the authors' scripts: an edge that is rated 0 stays possible


@dataclass(frozen=True, kw_only=True)
class DeepAco(Start):
    """
    Plans of an ant colony that follows a network's rating of the edges.

    The environment variable ``DEEPACO`` names the folder of a checkout of
    https://github.com/henry-yeh/DeepACO, which needs the package torch_geometric.
    Instances are planned as in the authors' test scripts, with their weights for this
    number of customers. There is no bound on the fleet.

    Parameters
    ----------
    ants
        Number of plans per iteration.
    iterations
        Number of iterations. The authors' scripts end with 100, and with 10 for
        ``local_search``.
    local_search
        Whether the best plans of each iteration are improved by the authors' local
        search: their folder ``cvrp_nls`` instead of ``cvrp``.
    control
        Whether the ants follow the inverse distances instead of the network.
    """

    ants: Annotated[int, at_least(1)] = 20
    iterations: Annotated[int, at_least(1)] = 100
    local_search: bool = False
    control: bool = False

    def __post_init__(self) -> None:
        check_settings(self)

    def check(self) -> None:
        """Raise an error unless the checkout and the packages that it needs exist."""
        _import_authors(self._folder())

    def plans(self, instances: Sequence[Instance], seed: int) -> list[Plan | None]:
        """Return a plan per instance, which may exceed the fleet."""
        import torch

        plans: list[Plan | None] = []
        for instance in instances:
            with torch.random.fork_rng(devices=[]), torch.no_grad():
                torch.manual_seed(seed)
                path = self._path(instance).tolist()
            tours = [list(part) for stop, part in groupby(path, bool) if stop]
            plans.append(Plan(tours))
        return plans

    def _path(self, instance: Instance) -> Tensor:
        """Return the stops of the best plan, with 0 for the depot between tours."""
        import torch

        instance.require_plain("DeepACO")
        places = torch.tensor(instance.coordinates)
        if places.min() < 0 or places.max() > 1:
            raise InputError("DeepACO's networks know the unit square only")
        folder = self._folder()
        _, aco, utils = _import_authors(folder)
        demands = torch.tensor([0.0, *instance.demands], dtype=torch.float64)
        distances = utils.gen_distance_matrix(places)  # (N + 1, N + 1)
        if self.local_search:
            demands /= instance.capacity
            options = {"swapstar": True, "positions": places, "inference": True}
        else:
            demands, distances = demands.float(), distances.float()
            options = {"capacity": instance.capacity}
        if self.control:
            heuristic = (1 / distances).fill_diagonal_(_EPS)
        else:
            heuristic = self._heuristic(folder, demands, distances)
        colony = aco.ACO(
            distances=distances,
            demand=demands,
            n_ants=self.ants,
            heuristic=heuristic,
            **options,
        )
        colony.run(self.iterations)
        path: Tensor = colony.shortest_path
        return path

    def _heuristic(self, folder: Path, demands: Tensor, distances: Tensor) -> Tensor:
        """Return the network's rating of each edge, shape (N + 1, N + 1)."""
        customers = len(demands) - 1
        _, _, utils = _import_authors(folder)
        network = _load_network(folder, customers)
        if self.local_search:
            nearest = max(customers // 5, 4)
            graph = utils.gen_pyg_data(demands, distances, "cpu", k_sparse=nearest)
            rating: Tensor = network.reshape(graph, network(graph))
        else:
            graph = utils.gen_pyg_data(demands, distances, "cpu")
            rating = network(graph).reshape(distances.shape)
        return rating + _EPS

    def _folder(self) -> Path:
        checkout = os.environ.get("DEEPACO", "")
        folder = Path(checkout) / ("cvrp_nls" if self.local_search else "cvrp")
        if not checkout or not (folder / "net.py").is_file():
            raise InputError(
                f"DeepACO needs its authors' code, and {str(folder)!r} does not have "
                "it: git clone https://github.com/henry-yeh/DeepACO, and set the "
                "environment variable DEEPACO to its folder"
            )
        return folder.resolve()


@cache
def _import_authors(folder: Path) -> list[Any]:
    """
    Import the authors' modules net, aco and utils from a folder.

    They import one another by these names and look for the library of their local
    search in the working directory. Afterwards the names are free again.
    """
    require("torch", "network", "DeepACO")
    names = (*_MODULES, "swapstar")
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, str(folder))
    try:
        with contextlib.chdir(folder):
            return [importlib.import_module(name) for name in _MODULES]
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"DeepACO needs the package {error.name!r}, which is not installed: pip "
            f"install {error.name}"
        ) from None
    except OSError as error:
        raise InputError(f"DeepACO's local search: {error}") from None
    finally:
        sys.path.remove(str(folder))
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(before)


@cache
def _load_network(folder: Path, customers: int) -> Any:
    import torch

    file = folder.parent / "pretrained" / folder.name / f"cvrp{customers}.pt"
    if not file.is_file():
        sizes = ", ".join(sorted(path.name for path in file.parent.glob("*.pt")))
        raise InputError(
            f"DeepACO has no weights for {customers} customers, only {sizes}"
        )
    network = _import_authors(folder)[0].Net()
    network.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
    return network.eval()
