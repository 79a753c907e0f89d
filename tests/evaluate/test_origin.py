"""What rows are made with, and rows of networks that were replaced."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace

import pytest

from fixedfleet import version
from fixedfleet.errors import InputError
from fixedfleet.evaluate import Method, Results, evaluate, get_method
from fixedfleet.evaluate.origin import (
    describe_mix,
    digest,
    instance_hash,
    made_with,
    without_outdated,
)
from fixedfleet.version import describe_commit, own_version, version_of


@dataclass
class Networked:
    """A stand-in for a method whose network is a file."""

    path: object
    name: str = "network"

    def network(self):
        return self.path


@pytest.fixture
def weights(tmp_path):
    """A file in place of a network."""
    path = tmp_path / "net.safetensors"
    path.write_bytes(b"weights")
    return path


def test_rows_tell_version_and_network(weights, fakes):
    """Rows carry versions, and parts of the hashes of what made the plans."""
    plain = made_with(get_method("savings"))
    assert plain.keys() - {"commit"} == {"fixedfleet"}
    assert set(made_with(fakes.FirstFit())) - set(plain) == {"source"}
    assert made_with(get_method("hgs"))["hybgensea"] == version_of("hybgensea")
    made = made_with(Networked(weights))
    assert made["network"] == digest(weights)
    assert len(made["network"]) == 8
    assert made["network_file"] == "net.safetensors"


def test_attributes_of_an_own_method_are_not_taken_for_ours():
    """A method of one's own may call anything its network, search, start or spec."""

    class Own(Method):
        def __init__(self):
            self.network, self.search, self.start, self.spec = print, len, 3, None

        def solve(self, instances, **_options):
            return []

    assert made_with(Own()).keys() - {"commit"} == {"fixedfleet", "source"}


def test_a_shipped_network_is_told_by_its_file():
    """A method that names no network is made with the shipped one, as is its name."""
    pytest.importorskip("torch")
    method = get_method("network+auto")
    assert made_with(method)["network_file"] == "universal.safetensors"
    alone = made_with(get_method("network:model=universal"))
    assert alone == made_with(get_method("network+gpu"))
    assert made_with(method) == alone | {"hybgensea": version_of("hybgensea")}
    assert "network" not in made_with(get_method("packing+auto"))


def test_rows_of_a_network_that_was_replaced_do_not_count(weights, make_row):
    """Rows that tell another network go; those that tell none, or of others, stay."""
    method = Networked(weights)
    old = make_row(method="network", made={"network": "0" * 8})
    new = make_row(method="network", made={"network": digest(weights)})
    untold = make_row(method="network")
    other = make_row(method="other", made={"network": "0" * 8})
    assert without_outdated([old, new, untold, other], [method]) == [new, untold, other]
    weights.unlink()
    assert without_outdated([old], [method]) == [old]
    assert without_outdated([old], [get_method("network:model=no/such/file")]) == [old]


def test_the_package_behind_a_lower_bound_is_recorded(make_row):
    """Rows with prove=yes tell OR-Tools' version; older rows without it count."""
    method = get_method("packing+auto:prove=yes")
    made = made_with(method)
    assert made["ortools"] == version_of("ortools")
    assert made["hybgensea"] == version_of("hybgensea")
    assert "ortools" not in made_with(get_method("packing+auto"))
    older = {key: value for key, value in made.items() if key != "ortools"}
    row = make_row(method=method.name, made=older, instance_hash="ba022f36")
    assert without_outdated([row], [method]) == [row]
    (said,) = describe_mix([(row, replace(row, made=made))])
    assert said.endswith(f"than ortools {made['ortools']}: unknown")


@pytest.mark.slow
def test_a_replaced_network_is_run_again(weights, fakes, tmp_path, make_row):
    """Its old rows stay in the file, and new ones are made."""
    path = tmp_path / "rows"
    letters = fakes.make_set(1)
    with Results(path) as results:
        fields = {"customers": 5, "floor": letters.instances[0].minimum_vehicles}
        results.append(
            make_row(
                method="first_fit", time_limit=0.5, made={"network": "0" * 8}, **fields
            )
        )
    method = fakes.WithNetwork(file=str(weights))
    done = evaluate([letters], [method], [0.5], path, processes=1)
    assert (done.new, done.found) == (1, 0)
    assert Results(path).rows()[-1].made["network"] == digest(weights)
    done = evaluate([letters], [method], [0.5], path, processes=1)
    assert (done.new, done.found) == (0, 1)


PROGRAM = "#!/bin/sh\n# {version}\nprintf 'Route #1: 1 2 3 4 5\\n' > $2\n"


def _write_program(folder, version):
    """A program that serves five customers in one tour; return its spec."""
    folder.mkdir(exist_ok=True)
    path = folder / "solver"
    path.write_text(PROGRAM.replace("{version}", version))
    path.chmod(0o755)
    return f"command:{path} {{instance}} {{solution}}"


def _write_method(folder, version):
    """A start that packs the customers, in a file of its own; return its spec."""
    folder.mkdir(exist_ok=True)
    (folder / "own.py").write_text(
        "from fixedfleet.evaluate.starts import PackingStart\n"
        f"class Mine(PackingStart):\n    version = {version!r}\n"
    )
    return f"{folder / 'own.py'}:Mine"


@pytest.mark.slow
@pytest.mark.parametrize("write", [_write_program, _write_method])
def test_rows_of_another_program_of_the_same_name_do_not_count(
    fakes, tmp_path, write, caplog
):
    """Another program or file, and an edit of one's own, is run again and told."""
    letters, path = fakes.make_set(1), tmp_path / "rows"

    def run(spec):
        caplog.clear()
        done = evaluate([letters], [spec], [0.5], path, processes=1)
        assert done.faults == 0
        return done.new, "1 run of" in caplog.text and "repeated" in caplog.text

    old = write(tmp_path / "old", "1")
    assert run(old) == (1, False)
    assert run(old) == (0, False)
    assert run(write(tmp_path / "new", "2")) == (1, True)
    assert run(write(tmp_path / "new", "3")) == (1, True)
    assert run(write(tmp_path / "new", "3")) == (0, False)


@pytest.mark.slow
def test_a_name_that_stands_for_another_method_now_is_run_again(fakes, tmp_path):
    """The rows of a named method say what it was."""
    letters, path = fakes.make_set(1), tmp_path / "rows"
    for spec, new in (("a=packing", 1), ("a=savings", 1), ("a=savings", 0)):
        assert evaluate([letters], [spec], [], path, processes=1).new == new
    assert [row.made["spec"] for row in Results(path).rows()] == ["packing", "savings"]


def test_an_instance_is_compared_by_its_data(fakes, tmp_path, monkeypatch):
    """Rows of another instance of the same name and size are refused."""
    letters, path = fakes.make_set(1), tmp_path / "rows"
    with Results(path) as results:
        first = evaluate([letters], ["packing"], [], results, processes=1).rows[0]
    (instance,) = letters.instances
    for change in (
        {"customers": instance.customers + 0.001},
        {"rounding": "round"},
        {"demands": instance.demands[::-1]},
    ):
        other = replace(letters, instances=[replace(instance, **change)])
        with pytest.raises(InputError, match="a row of another instance 'a'"):
            evaluate([other], ["packing"], [], path, processes=1)
    same = replace(instance, names=tuple("vwxyz"), vehicles=3, unit="kg")
    assert instance_hash(same) == first.instance_hash == instance_hash(instance)


def test_rows_of_other_versions_count_and_are_told(fakes, tmp_path, caplog, make_row):
    """A resumed file says which versions it mixes, and which rows tell nothing."""
    letters, path = fakes.make_set(2), tmp_path / "rows"
    floor = letters.instances[0].minimum_vehicles
    facts = {"method": "packing", "customers": 5, "time_limit": None, "floor": floor}
    old = make_row(**facts, made={"fixedfleet": "0.0.1"})
    untold = make_row(**facts, instance="b")
    with Results(path) as results:
        for row in (old, untold):
            results.append(row)
    done = evaluate([letters], ["packing"], [], path, processes=1)
    assert (done.new, done.found) == (0, 2)
    assert f"than fixedfleet {own_version()}: 0.0.1, unknown" in caplog.text
    assert "will be repeated" not in caplog.text
    assert "2 rows in the file do not record their instance's data" in caplog.text


@pytest.mark.parametrize("untold", [0, 1, 3])
def test_rows_without_the_hash_of_their_instance_are_counted(make_row, untold):
    """The sentence says exactly how many rows lack the hash; none means no sentence."""
    rows = [make_row(instance_hash="ba022f36")] * 2 + [make_row()] * untold
    said = f"{untold} rows in the file do not record their instance's data"
    assert describe_mix((row, row) for row in rows) == [said] * (untold > 0)


@pytest.mark.parametrize("key", ["network", "program", "source"])
def test_rows_that_cannot_be_compared_with_their_method_are_counted(make_row, key):
    """The sentence counts the rows where one side has a hash and the other has none."""
    plain = make_row(instance_hash="ba022f36")
    hashed = replace(plain, made={key: "0" * 8})
    pairs = [(plain, plain), (hashed, hashed), (plain, hashed), (hashed, plain)]
    (said,) = describe_mix(pairs)
    assert said.startswith("2 rows in the file cannot be compared with their methods")
    assert describe_mix(pairs[:2]) == []


def test_a_checkout_is_told_by_its_commit(tmp_path, monkeypatch):
    """Two states of uncommitted sources differ, also in a copy without Git."""
    folder = tmp_path / "src" / "fixedfleet"
    folder.mkdir(parents=True)
    monkeypatch.setattr(version, "__file__", str(folder / "version.py"))
    describe = describe_commit.__wrapped__
    assert describe() == ""  # the version that is installed says enough
    monkeypatch.setattr(version, "version_of", lambda package: "")
    copies = {describe()}
    (folder / "version.py").write_text("another")
    copies.add(describe())
    assert len(copies) == 2
    assert all(copy.startswith("sources-") for copy in copies)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    (folder / "version.py").write_text("one")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *words], check=True)
    clean = describe()
    assert len(clean) >= 7
    said = {clean}
    for text in ("two", "three"):
        (folder / "version.py").write_text(text)
        said.add(describe())
    assert len(said) == 3
    assert all(state.startswith(clean) for state in said)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert describe() == ""


def test_the_hash_of_a_plain_instance_stays_the_same(square):
    """Rows of earlier evaluations are continued; what a day adds is in its hash."""
    assert instance_hash(square) == "ba022f36"
    day = replace(square, speed=1, windows=[(0, 9)] * 4)
    assert instance_hash(day) != instance_hash(replace(day, windows=[(0, 8)] * 4))
