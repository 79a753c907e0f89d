"""The Attention Model: published figures, and what holds for whatever weights."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.errors import InputError
from fixedfleet.plan import PlanBatch

torch = pytest.importorskip("torch")

from experiments.attention_model import attention_model  # noqa: E402
from experiments.attention_model.attention_decoding import decode  # noqa: E402
from experiments.attention_model.attention_model import (  # noqa: E402
    AttentionModel,
)
from experiments.attention_model.attention_network import (  # noqa: E402
    AttentionNetwork,
    Settings,
)
from experiments.attention_model.attention_weights import nearest_folder  # noqa: E402

if TYPE_CHECKING:
    from pathlib import Path

torch.set_num_threads(1)  # tiny tensors want one thread

ARGUMENTS = {
    "problem": "cvrp",
    "model": "attention",
    "normalization": "batch",
    "graph_size": 20,
    "embedding_dim": 16,
    "n_encode_layers": 2,
    "tanh_clipping": 10.0,
    "run_name": "of no interest",
}


def write(folder: Path, epoch: int = 0, seed: int = 0, **arguments: Any) -> Path:
    """Write random weights as the published ones are written."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = AttentionNetwork(Settings(customers=20, width=16, layers=2))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "args.json").write_text(json.dumps(ARGUMENTS | arguments))
    torch.save({"model": network.state_dict()}, folder / f"epoch-{epoch}.pt")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the random weights of a small network."""
    return write(tmp_path_factory.mktemp("weights") / "cvrp_20")


def solve(model: AttentionModel, instance: ff.Instance, seed: int = 0) -> ff.Plan:
    """Plan a single instance."""
    return model.solve_batch(ff.InstanceBatch.of([instance]), seed=seed)[0]


@pytest.fixture
def batch() -> ff.InstanceBatch:
    """Nine instances of twelve customers."""
    return generate.uniform(12, 9, seed=5, capacity=15, vehicles=9)


@pytest.fixture(scope="module")
def published(shared: Path) -> Path:
    """The folder of the published weights, if there is."""
    if not (shared / "attention_model").is_dir():
        pytest.skip("no published weights of the Attention Model")
    return shared / "attention_model"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "length", "vehicles"),
    [(20, 6.3804, 4.05), (50, 11.1093, 6.95), (100, 16.6611, 10.82)],
)
@pytest.mark.slow
def test_published_weights_give_their_figures(
    published: Path, n: int, length: float, vehicles: float
) -> None:
    """Greedily, the first 100 test instances come out as in a run over 1,000."""
    batch = generate.test_set(n)[:100]
    plans = AttentionModel(nearest_folder(n, published)).solve_batch(batch)
    # A near tie that another processor rounds the other way moves a mean this little.
    assert plans.lengths(batch).mean() == pytest.approx(length, abs=0.004)
    assert plans.vehicles().mean() == pytest.approx(vehicles, abs=0.011)


@pytest.mark.slow
def test_sampling_the_published_weights_shortens_plans(published: Path) -> None:
    """The best of 1,280 samples is shorter than the greedy plan, on average."""
    batch = generate.test_set(20)[:20]
    greedy = AttentionModel(published / "cvrp_20").solve_batch(batch)
    sampled = AttentionModel(published / "cvrp_20", decoding="sampling")
    plans = sampled.solve_batch(batch, seed=1)
    assert plans.lengths(batch).mean() < greedy.lengths(batch).mean()


@pytest.mark.parametrize("decoding", ["greedy", "sampling"])
def test_everyone_is_served_within_capacity(
    folder: Path, batch: ff.InstanceBatch, decoding: Any
) -> None:
    """Plans lack nothing but, perhaps, vehicles."""
    model = AttentionModel(folder, decoding=decoding, samples=7)
    plans = model.solve_batch(batch)
    assert plans.feasible(batch.with_vehicles(batch.num_customers)).all()


@pytest.mark.parametrize("decoding", ["greedy", "sampling"])
def test_any_instance_with_coordinates(
    folder: Path, small: ff.Instance, decoding: Any
) -> None:
    """Whatever the metric, the scale and the amounts, only the fleet may be short."""
    model = AttentionModel(folder, decoding=decoding, samples=20)
    if not small.has_coordinates:
        with pytest.raises(InputError, match="no coordinates, which a network needs"):
            solve(model, small)
        return
    plan = solve(model, small)
    assert all(" tours for " in fault for fault in plan.check(small))


def test_amounts_too_fine_for_single_precision(folder: Path) -> None:
    """A load that exceeds the capacity in its twelfth digit alone is turned away."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[[1, 0], [0, 1]],
        demands=[0.5, 0.500000000001],
        capacity=1,
        vehicles=2,
    )
    plan = solve(AttentionModel(folder), instance)
    assert plan.check(instance) == []


def test_loads_are_added_up_as_published(folder: Path) -> None:
    """Ten tenths are more than 1 in single precision: they need a second vehicle."""
    instance = ff.Instance(
        depot=(0, 0),
        customers=[[1, 1]] * 10,
        demands=[1] * 10,
        capacity=10,
        vehicles=2,
    )
    plan = solve(AttentionModel(folder, decoding="sampling", samples=200), instance)
    assert plan.vehicles == 2


def test_same_seed_same_samples(folder: Path, batch: ff.InstanceBatch) -> None:
    """A seed gives the same plans again, another seed others."""
    model = AttentionModel(folder, decoding="sampling", samples=3)
    first, again, other = (model.solve_batch(batch, seed=s).routes for s in (4, 4, 5))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    one = [solve(model, batch[0], seed=s) for s in (4, 4)]
    assert one[0] == one[1]


def test_the_shortest_sample_is_kept(folder: Path, batch: ff.InstanceBatch) -> None:
    """Of the plans drawn with a seed, the one of least length comes back."""
    model = AttentionModel(folder, decoding="sampling", samples=30, device="cpu")
    plans = model.solve_batch(batch, seed=8)
    tensors = attention_model._as_trained(batch, model.device)
    with torch.inference_mode():
        drawn = decode(
            model.network,
            model.network.prepare(*tensors.features[:2]),
            tensors,
            samples=30,
            generator=torch.Generator().manual_seed(8),
        )
    lengths = [PlanBatch(drawn[:, s].numpy()).lengths(batch) for s in range(30)]
    assert plans.lengths(batch) == pytest.approx(np.min(lengths, axis=0), abs=1e-12)


def test_the_shortest_by_the_instances_own_distances(
    optimal_plan, folder: Path
) -> None:
    """Samples are compared by the matrix, where one is given beside coordinates."""
    matrix = np.random.default_rng(3).integers(10, 100, size=(4, 4))
    np.fill_diagonal(matrix, 0)
    instance = ff.Instance(
        depot=(0, 0),
        customers=[[0.1, 0.9], [0.5, 0.5], [0.9, 0.2]],
        matrix=matrix,
        demands=[1, 1, 1],
        capacity=3,
        vehicles=3,
    )
    model = AttentionModel(folder, decoding="sampling", samples=1000)
    plan, best = solve(model, instance), optimal_plan(instance)
    assert best is not None
    assert plan.length(instance) == best.length(instance)


def test_parts_do_not_change_greedy_plans(
    folder: Path, batch: ff.InstanceBatch
) -> None:
    """Alone, by twos or together, instances are planned alike."""
    model = AttentionModel(folder)
    together = model.solve_batch(batch)
    assert np.array_equal(
        model.solve_batch(batch, batch_size=2).routes, together.routes
    )
    alone = [solve(model, instance) for instance in batch]
    assert alone == list(together)


def test_samples_in_rounds_encode_once(
    folder: Path, batch: ff.InstanceBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where memory allows few samples at a time, embeddings are still made once."""
    monkeypatch.setattr(
        attention_model, "_NUMBERS", 4 * 9 * 13 * attention_model._DECODED
    )
    model = AttentionModel(folder, decoding="sampling", samples=10)
    prepared, rounds = [], []
    prepare = model.network.prepare

    def counted(*given: Any, samples: int, **others: Any) -> Any:
        rounds.append(samples)
        return decode(*given, samples=samples, **others)

    monkeypatch.setattr(
        model.network, "prepare", lambda *x: prepared.append(1) or prepare(*x)
    )
    monkeypatch.setattr(attention_model, "decode", counted)
    plans = model.solve_batch(batch, batch_size=9)
    assert (len(prepared), rounds) == (1, [4, 4, 2])
    assert plans.feasible(batch.with_vehicles(12)).all()


def test_coordinates_as_in_training(folder: Path, batch: ff.InstanceBatch) -> None:
    """The unit square is left alone, another square is scaled by one factor."""
    seen = attention_model._as_trained(batch, torch.device("cpu")).features.coordinates
    assert np.array_equal(seen.numpy(), batch.coordinates.astype(np.float32))
    corners = {"demands": [1] * 4, "capacity": 2, "vehicles": 4}
    points = np.array([[0, 1], [1, 1], [1, 0], [0.25, 0.75]])
    near = ff.Instance(depot=(0, 0), customers=points, **corners)
    far = ff.Instance(depot=(-512, 64), customers=1024 * points + [-512, 64], **corners)
    both = ff.InstanceBatch.of([near, far])
    seen = attention_model._as_trained(both, torch.device("cpu")).features.coordinates
    assert torch.equal(seen[0], seen[1])


def test_scores_are_those_of_the_paper() -> None:
    """A step of two vehicles, written out head by head, scores the same nodes alike."""
    torch.manual_seed(2)
    net = AttentionNetwork(Settings(customers=20, width=16, layers=1)).eval()
    at, room = torch.tensor([[3, 0]]), torch.tensor([[0.25, 1.0]])
    may = torch.tensor([[[True, True, False, False, True], [False] + [True] * 4]])
    points, demands = torch.rand(1, 5, 2), torch.rand(1, 5)
    with torch.inference_mode():
        scores = net.scores(net.prepare(points, demands), at, room, may)
        customers = net.init_embed(torch.cat((points, demands[..., None]), 2)[0, 1:])
        nodes = torch.cat((net.init_embed_depot(points[0, :1]), customers))
        nodes = net.embedder["layers"](nodes[None])[0]
        key, value, last = net.project_node_embeddings(nodes).chunk(3, dim=1)
        for s in range(2):
            context = torch.cat((nodes[at[0, s]], room[0, s, None]))
            query = net.project_fixed_context(nodes.mean(0))
            query = query + net.project_step_context(context)
            heads = []
            for h in range(8):
                part = slice(2 * h, 2 * h + 2)
                fit = key[:, part] @ query[part] / 2**0.5
                fit[~may[0, s]] = -torch.inf
                heads.append(fit.softmax(0) @ value[:, part])
            expected = 10 * torch.tanh(last @ net.project_out(torch.cat(heads)) / 4)
            assert scores[0, s][may[0, s]].tolist() == pytest.approx(
                expected[may[0, s]].tolist(), abs=1e-5
            )
            assert (scores[0, s][~may[0, s]] == -torch.inf).all()


def test_overloaded_customer(folder: Path, batch: ff.InstanceBatch) -> None:
    """A customer who fits no vehicle is an error that names it."""
    demands = np.array(batch.demands)
    demands[3, 6] = 16
    large = ff.InstanceBatch(
        depots=batch.depots,
        customers=batch.customers,
        demands=demands,
        capacity=15,
        vehicles=9,
    )
    with pytest.raises(InputError, match="customer 7 of instance 3 demands 16 of"):
        AttentionModel(folder).solve_batch(large)


def test_no_instances(folder: Path, batch: ff.InstanceBatch) -> None:
    """No instances have no plans."""
    assert len(AttentionModel(folder).solve_batch(batch[:0])) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"decoding": "beam"}, "unknown decoding 'beam': choose from greedy, sampling"),
        ({"samples": 0}, "samples is 0, not a whole number of at least 1"),
        ({"device": "gpu"}, "device is 'gpu', not cpu, cuda"),
    ],
)
def test_wrong_arguments(folder: Path, arguments: Any, message: str) -> None:
    """Wrong arguments are refused with what would be right."""
    with pytest.raises(InputError, match=message):
        AttentionModel(folder, **arguments)


@pytest.mark.parametrize("wrong", [{"batch_size": 0}, {"seed": -1}])
def test_wrong_numbers(folder: Path, batch: ff.InstanceBatch, wrong: Any) -> None:
    """Neither nothing at a time nor a seed below 0 is taken."""
    (name,) = wrong
    with pytest.raises(InputError, match=f"{name} is .*, not a whole number"):
        AttentionModel(folder).solve_batch(batch, **wrong)


def test_nearest_size(tmp_path: Path) -> None:
    """Of the folders there are the one nearest in size is read, of two the larger."""
    for size in (20, 50, 100):
        write(tmp_path / f"cvrp_{size}", graph_size=size)
    (tmp_path / "cvrp_best").mkdir()
    wanted = {1: 20, 34: 20, 35: 50, 74: 50, 80: 100, 1000: 100}
    for customers, size in wanted.items():
        assert nearest_folder(customers, tmp_path) == tmp_path / f"cvrp_{size}"
    with pytest.raises(InputError, match="holds no folders cvrp_20, cvrp_50, …"):
        nearest_folder(20, tmp_path / "cvrp_20")


def test_last_epoch_or_the_file_named(tmp_path: Path, batch: ff.InstanceBatch) -> None:
    """A folder stands for its last epoch; a file for itself."""
    for epoch in (9, 99, 100):
        write(tmp_path, epoch=epoch, seed=epoch)
    last, same, other = (
        AttentionModel(path).network.init_embed.weight
        for path in (tmp_path, tmp_path / "epoch-100.pt", tmp_path / "epoch-99.pt")
    )
    assert torch.equal(last, same)
    assert not torch.equal(last, other)


def test_reading_draws_nothing_at_random(folder: Path) -> None:
    """Whoever counts on torch's global generator finds it as it was."""
    before = torch.get_rng_state()
    AttentionModel(folder, decoding="sampling", samples=2)
    assert torch.equal(torch.get_rng_state(), before)


def test_other_parts_of_a_training_are_passed_over(tmp_path: Path) -> None:
    """A file that holds the optimiser's state too is read for its weights."""
    file = write(tmp_path) / "epoch-0.pt"
    stored = torch.load(file, weights_only=True)
    torch.save(stored | {"optimizer": {"lr": 0.1}, "rng_state": torch.zeros(3)}, file)
    assert AttentionModel(file).customers == 20


class Trap:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return open, (str(self.path), "w")


def test_corrupt_and_foreign_files(tmp_path: Path) -> None:
    """Half a file, other bytes, an object: each is refused, and nothing is run."""
    file = write(tmp_path) / "epoch-0.pt"
    whole, trap = file.read_bytes(), tmp_path / "sprung"
    for content in (
        b"",
        whole[: len(whole) // 2],
        b"no weights at all",
        pickle.dumps({"model": Trap(trap)}, protocol=2),
    ):
        file.write_bytes(content)
        with pytest.raises(InputError, match=r"epoch-0\.pt is corrupt, or holds more"):
            AttentionModel(tmp_path)
    torch.save({"model": Trap(trap)}, file)
    with pytest.raises(InputError, match="is corrupt, or holds more than tensors"):
        AttentionModel(tmp_path)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("project_out.weight"), "lacks weight project_out.weight"),
        (lambda w: w.update(new=torch.ones(1)), "has an unknown weight new"),
        (lambda w: w["init_embed.bias"].fill_(torch.nan), "init_embed.bias is not fin"),
        (lambda w: w.update(more="text"), "holds no weights under the name 'model'"),
    ],
)
def test_weights_of_another_network(tmp_path: Path, change: Any, message: str) -> None:
    """Weights that are too few, too many or no numbers are named."""
    file = write(tmp_path) / "epoch-0.pt"
    stored = torch.load(file, weights_only=True)
    change(stored["model"])
    torch.save(stored, file)
    with pytest.raises(InputError, match=message):
        AttentionModel(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"problem": "tsp"}, "describes no Attention Model: problem is 'tsp', not"),
        ({"normalization": "instance"}, "normalization is 'instance', not 'batch'"),
        (
            {"embedding_dim": 32},
            r"shape \(.*16.*\), but its settings want \(.*32",
        ),
        ({"embedding_dim": 20}, "the width is 20, not a multiple of 8"),
        ({"n_encode_layers": 3}, r"lacks weight embedder\.layers\.2"),
        ({"n_encode_layers": 1}, r"has an unknown weight embedder\.layers\.1"),
        ({"tanh_clipping": "ten"}, "describes no Attention Model"),
        ({"tanh_clipping": 0}, "the clipping is 0, not above 0"),
    ],
)
def test_arguments_of_another_network(
    tmp_path: Path, change: Any, message: str
) -> None:
    """An args.json of another problem or size is refused with both named."""
    with pytest.raises(InputError, match=message):
        AttentionModel(write(tmp_path, **change))


def test_missing_files(tmp_path: Path) -> None:
    """A folder without weights, no folder, no args.json, half of one: each is said."""
    with pytest.raises(InputError, match=r"holds no weights epoch-….pt: give a folder"):
        AttentionModel(tmp_path)
    with pytest.raises(InputError, match=r"no file or folder .*nowhere"):
        AttentionModel(tmp_path / "nowhere")
    arguments = write(tmp_path) / "args.json"
    arguments.write_text('{"problem": "cvrp"}')
    with pytest.raises(InputError, match=r"args\.json does not say 'model'"):
        AttentionModel(tmp_path)
    arguments.write_text('{"problem": ')
    with pytest.raises(InputError, match=r"args\.json describes no Attention Model"):
        AttentionModel(tmp_path)
    arguments.unlink()
    with pytest.raises(InputError, match=r"args\.json cannot be read: No such file"):
        AttentionModel(tmp_path)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu(folder: Path) -> None:
    """A GPU that is chosen and not there is an error."""
    with pytest.raises(
        InputError, match="device 'cuda' was asked for, and torch finds 0"
    ):
        AttentionModel(folder, device="cuda")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize("decoding", ["greedy", "sampling"])
def test_on_a_gpu(folder: Path, batch: ff.InstanceBatch, decoding: Any) -> None:
    """On a GPU plans are as sound, and the same seed gives the same."""
    model = AttentionModel(folder, decoding=decoding, samples=9, device="cuda")
    plans = model.solve_batch(batch, seed=3)
    assert plans.feasible(batch.with_vehicles(12)).all()
    assert np.array_equal(plans.routes, model.solve_batch(batch, seed=3).routes)
