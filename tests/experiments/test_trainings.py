"""Trainings that tables compare: made once, taken over, and drawn."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from experiments import collecting, figures
from experiments.__main__ import make
from experiments.cells import measured_cells, read_stores
from experiments.definitions import Options, load_tables
from experiments.trainings import (
    Curve,
    Training,
    find_labels,
    read_curve,
    train_missing,
)
from fixedfleet.errors import InputError
from fixedfleet.evaluate import Results, get_method
from fixedfleet.evaluate.origin import made_with
from fixedfleet.evaluate.pipeline import Pipeline

UNLOADED = {"loss.load_weight": 0, "loss.overload_weight": 0}
PLAIN = Training("paper20-plain-s1", "paper20", UNLOADED)


def leave(folder, *, checkpoint=False, weights=b"weights"):
    """Leave behind what a training of two epochs of ten steps does."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {"step": 10, "loss/total": 2.0, "rate": 500.0, "seconds": 3.0},
        {"step": 10, "validation/loss": 2.1, "validation/violation": 0.04},
        {"step": 20, "loss/total": 1.0, "rate": 500.0, "seconds": 6.0},
        {"step": 20, "validation/loss": None, "validation/violation": 0.02},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "log.jsonl").write_text(text + '{"step": 21, "loss/')
    (folder / "model.safetensors").write_bytes(weights)
    if checkpoint:
        (folder / "checkpoint.safetensors").write_bytes(b"half")


@pytest.fixture
def trained(monkeypatch):
    """Let trainings be made up; return what was asked for."""
    torch_training = pytest.importorskip("fixedfleet.training")
    asked = []

    def train(preset, labels, *, out, **options):
        asked.append(SimpleNamespace(preset=preset, labels=labels, out=out, **options))
        leave(out, checkpoint=True, weights=out.name.encode())
        return SimpleNamespace(finished=True, steps=20, seconds=6.0)

    monkeypatch.setattr(torch_training, "train", train)
    return asked


@pytest.fixture
def labels(tmp_path):
    """A folder with label files, which nobody opens here."""
    folder = tmp_path / "labels"
    folder.mkdir()
    for size in (20, 50, 100):
        (folder / f"vrp{size}_made_up.npz").touch()
    return folder


def missing(work, labels, trainings=(PLAIN,)):
    """Train what is missing, with some budget."""
    options = Options(work=work, labels=labels, epochs=2, device="cpu", seed=4)
    return train_missing(trainings, options)


def test_a_training_is_made_once(trained, tmp_path, labels):
    """The second call finds the network and its log, and trains nothing."""
    from fixedfleet.training import get_preset

    missing(tmp_path, labels)
    missing(tmp_path, labels)
    (asked,) = trained
    changes = UNLOADED | {"training.validate_every": 1, "training.epochs": 2}
    assert asked.preset == get_preset("paper20").with_settings(changes)
    assert asked.labels == [labels / "vrp20_made_up.npz"]
    assert (asked.device, asked.seed, asked.resume) == ("cpu", 4, False)


def test_a_training_of_another_kind_is_not_taken_over(trained, tmp_path, labels):
    """Another seed, budget or setting is an error; an old mark tells none of them."""
    missing(tmp_path, labels)
    done = PLAIN.folder(tmp_path) / "finished.json"
    kept = json.loads(done.read_text())
    assert (kept["seed"], kept["epochs"]) == (4, 2)
    for name, value in (("seed", 5), ("epochs", 3), ("settings", {})):
        done.write_text(json.dumps(kept | {name: value}))
        with pytest.raises(InputError, match=f"a training with {name} "):
            missing(tmp_path, labels)
        assert missing(tmp_path, None) == []  # what is there is taken
    done.write_text('{"steps": 20, "seconds": 6.0}')
    missing(tmp_path, labels)
    assert len(trained) == 1


def test_an_interrupted_training_is_resumed(trained, tmp_path, labels):
    """A checkpoint without the mark of the end is resumed."""
    leave(PLAIN.folder(tmp_path), checkpoint=True)
    assert not PLAIN.finished(tmp_path)
    missing(tmp_path, labels)
    assert trained[0].resume
    assert PLAIN.finished(tmp_path)


def test_a_training_from_another_machine_is_taken_over(trained, tmp_path):
    """Network and log suffice, without checkpoint and without labels."""
    leave(PLAIN.folder(tmp_path))
    assert missing(tmp_path, None) == []
    assert trained == []


def test_without_labels_and_trainings_the_user_is_told_what_to_give(tmp_path):
    """The message names the labels, and the folder a training could lie in."""
    with pytest.raises(InputError, match=r"vrp20_….*trainings/paper20-plain"):
        missing(tmp_path, None)


def test_labels_are_files_or_the_folder_that_label_wrote(tmp_path):
    """Files vrp20_….npz are found, and without them the folder vrp20."""
    (tmp_path / "vrp20").mkdir()
    assert find_labels(tmp_path, 20) == [tmp_path / "vrp20"]
    (tmp_path / "vrp20_seed7.npz").touch()
    assert find_labels(tmp_path, 20) == [tmp_path / "vrp20_seed7.npz"]


def test_labels_of_another_size_are_refused(trained, tmp_path):
    """A folder without labels of the size wanted is named."""
    with pytest.raises(InputError, match="no labels vrp20_"):
        missing(tmp_path, tmp_path)


def test_a_training_that_diverges_is_a_note(monkeypatch, tmp_path, labels):
    """A loss that is no number ends that training, not the table."""
    training = pytest.importorskip("fixedfleet.training")

    def train(*_arguments, **_options):
        raise training.NonFiniteLossError("the loss is not finite since step 7")

    monkeypatch.setattr(training, "train", train)
    (note,) = missing(tmp_path, labels)
    assert note.startswith("paper20-plain-s1 was not trained to the end")
    assert "step 7" in note


def test_a_network_is_named_after_its_training(tmp_path):
    """Rows tell networks apart by their training, and by the hash of their file."""
    spec = f"network:model={PLAIN.model(tmp_path)}"
    assert get_method(spec).name == "network:model=paper20-plain-s1"
    made = []
    for weights in (b"weights", b"others"):
        leave(PLAIN.folder(tmp_path), weights=weights)
        made.append(made_with(get_method(spec))["network"])
    assert made[0] != made[1]


def test_rows_are_found_without_their_network(tmp_path, make_row):
    """Where only rows were copied, a table shows them all the same."""
    name = "network:model=paper20-plain-s1"
    row = make_row(instance="test20/0", method=name, time_limit=None)
    with Results(tmp_path / "rows.jsonl") as results:
        results.append(row)
    options = Options(work=tmp_path, instances=1)
    table = load_tables(options)["losses"]
    cells, missing = measured_cells(table, "vrp20", read_stores(options), options)
    assert [cell.rows for cell in cells] == [(row,)]
    untrained = {line.training.name for line in missing if line.label.endswith("ship")}
    assert PLAIN.name not in untrained


def test_tables_share_the_training_of_a_plain_preset():
    """What both tables compare with is trained once."""
    tables = load_tables(Options())
    losses, others = (
        set(tables[name].trainings) for name in ("losses", "normalisation")
    )
    shared = {"paper20-s1", "paper20-s2", "paper20-s3"}
    assert {training.name for training in losses & others} == shared
    assert (len(losses), len(others)) == (6, 6)


def test_settings_of_every_training_are_settings_there_are():
    """Each change is one that its preset takes."""
    presets = pytest.importorskip("fixedfleet.training.presets")
    for table in load_tables(Options()).values():
        for training in table.trainings:
            preset = presets.get_preset(training.preset)
            assert preset.customers == training.customers
            assert preset.with_settings(training.settings)


def test_a_curve_counts_in_epochs(tmp_path):
    """The first report ends the first epoch; a torn line and a null are passed over."""
    leave(PLAIN.folder(tmp_path))
    curve = read_curve(PLAIN, tmp_path)
    assert curve.loss == ((1.0, 2.0), (2.0, 1.0))
    assert curve.validation == ((1.0, 2.1),)
    assert curve.violation == ((1.0, 0.04), (2.0, 0.02))
    assert curve.seconds == 6.0
    assert read_curve(Training("none", "paper20"), tmp_path) is None


def test_a_training_shorter_than_an_epoch_is_a_part_of_one(tmp_path):
    """What the log ends with says how long an epoch would have been."""
    leave(PLAIN.folder(tmp_path))
    lines = [
        {"step": 50, "loss/total": 5.0, "seconds": 10.0},
        {"step": 50, "epoch_seconds": 40.0, "seconds": 10.0},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (PLAIN.folder(tmp_path) / "log.jsonl").write_text(text)
    assert read_curve(PLAIN, tmp_path).loss == ((0.25, 5.0),)


@pytest.fixture
def made_up(monkeypatch, make_row):
    """Let rows be made up, and no method look for its network."""

    def evaluate(sets, methods, time_limits, results, *, seeds, **_options):
        for method in methods:
            for instance in sets[0].instances:
                results.append(
                    make_row(
                        set=sets[0].name,
                        instance=instance.name,
                        method=method.name,
                        time_limit=time_limits[0] if method.limits else None,
                        seed=seeds[0],
                    )
                )

    monkeypatch.setattr(collecting, "evaluate", evaluate)
    monkeypatch.setattr(Pipeline, "check", lambda _self: None)


@pytest.mark.slow
def test_losses_are_trained_evaluated_and_drawn(trained, made_up, tmp_path, labels):
    """Three trainings of each loss share a line, and Figure 3 shows their means."""
    pytest.importorskip("matplotlib")
    folders = {"out": tmp_path / "out", "work": tmp_path / "work"}
    paths = make("losses", Options(instances=2, labels=labels, **folders))
    assert len(trained) == 6
    assert [path.name for path in paths] == [
        "losses.md",
        "losses.csv",
        "rows-losses.jsonl.xz",
        "losses-paper20.png",
    ]
    page = paths[0].read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if "load: membership" in line]
    assert "over 3 trainings" in lines[0]
    (plain,) = [line for line in page.splitlines() if line.endswith("| 0.021 |")]
    assert "*plain*" in plain
    assert "not trained:" not in page
    assert "![losses-paper20](losses-paper20.png)" in page
    assert "penalty and load, seed 3" in page
    assert all(path.stat().st_size > 5000 for path in paths[3:])


@pytest.mark.slow
def test_what_is_not_trained_is_said(made_up, tmp_path):
    """One training of six is enough for a table, which shows how it ended."""
    work = tmp_path / "work"
    leave(PLAIN.folder(work))
    line = {"network": PLAIN.name, "instances": 9646, "violation": 0.0166}
    (work / "trainings" / "violation.jsonl").write_text(json.dumps(line))
    paths = make("losses", Options(instances=2, work=work, out=tmp_path / "out"))
    page = paths[0].read_text(encoding="utf-8")
    (ended,) = [line for line in page.splitlines() if "penalty, seed 1 |" in line]
    assert ended.endswith("| 0.0166 (9,646 instances) |")
    assert "paper20, plain, or plain with the penalty: membership" in page
    assert "not trained: paper20, penalty and load (`fixedfleet train paper20" in page
    assert str(tmp_path) not in page


def test_decoding_takes_the_networks_of_other_tables(made_up, tmp_path):
    """A finished training of another table has its lines; others are named."""
    options = Options(instances=1, work=tmp_path, out=tmp_path / "out")
    leave(tmp_path / "trainings" / "paper20-softassign-s1")
    page = make("decoding", options)[0].read_text(encoding="utf-8")
    assert "paper20, SoftAssign: beam 200, not repaired" in page
    assert "not trained: paper20, SoftAssign" in page


def test_networks_are_measured_on_all_sets(made_up, tmp_path):
    """A network is also run on other sizes; Uchoa's lengths are in the paper's unit."""
    options = Options(instances=2, work=tmp_path, out=tmp_path / "out")
    page = make("generalisation", options)[0].read_text(encoding="utf-8")
    uchoa = page.partition("## Uchoa100")[2]
    assert page.count("**trained on VRP20, guaranteed**") == 4
    assert "| 19.68 |" in uchoa
    assert "| 0.0080 |" in uchoa  # 8 of 1,000


def test_rows_that_another_page_keeps_are_kept_once(made_up, tmp_path):
    """Two tables share lines of a network, and its rows are in one file."""
    leave(tmp_path / "trainings" / "paper20-softassign-s1")
    options = Options(instances=2, work=tmp_path, out=tmp_path / "out")
    for name in ("normalisation", "decoding"):
        make(name, options)
    files = [Results(path) for path in sorted((tmp_path / "out").glob("rows-*"))]
    keys = [row.key for file in files for row in file.rows()]
    assert len(files) == 2
    assert len(keys) == len(set(keys))


def test_training_times_come_from_measurements(tmp_path):
    """Lines of the benchmark become seconds an epoch and hours in all."""
    pytest.importorskip("torch")
    lines = [
        {"preset": "paper20", "M": 4, "epoch_s": 4.0, "device": "a made-up GPU"},
        {"preset": "paper20", "M": 50, "epoch_s": 400.0},
        {"preset": "unknown", "epoch_s": 1.0},
        {"preset": "paper50", "note": "no time in it"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "training-times.jsonl").write_text(text)
    paths = make("training-times", Options(out=tmp_path / "out", work=tmp_path))
    page = paths[0].read_text(encoding="utf-8")
    (ours,) = [line for line in page.splitlines() if "`paper20`" in line]
    assert ours.split(" | ")[1:] == ["4 s", "60", "4 min", "a made-up GPU |"]
    theirs = [line for line in page.splitlines() if "*NeuRewriter*" in line]
    assert any("> 31 h" in line and "> 13 d" in line for line in theirs)
    numbers = paths[1].read_text(encoding="utf-8")
    assert "training-times,vrp20,measured,paper20,4.0,240.0,a made-up GPU" in numbers


def test_training_times_without_measurements_are_refused(tmp_path):
    """The message says what measures them."""
    pytest.importorskip("torch")
    with pytest.raises(InputError, match="benchmarks/train_speed"):
        make("training-times", Options(out=tmp_path, work=tmp_path))


def test_figures_refuse_what_they_cannot_draw(tmp_path):
    """Nothing at all, or more methods than colours, is no picture."""
    path = tmp_path / "picture.png"
    for drawing, said in (
        (figures.draw_vehicles, "no rows"),
        (figures.draw_gaps, "no gaps"),
    ):
        with pytest.raises(InputError, match=said):
            drawing(path, [])
    with pytest.raises(InputError, match="no trainings"):
        figures.draw_curves(path, {}, "nothing")
    curve = Curve((), (), (), 0.0)
    many = {f"training {index}": curve for index in range(9)}
    with pytest.raises(InputError, match="9 trainings, more than 8 colours"):
        figures.draw_curves(path, many, "too many")
    assert not path.exists()
