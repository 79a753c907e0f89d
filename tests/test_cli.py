"""The command line, as a user types it."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.cli import main
from fixedfleet.files import read_batch, read_plan
from fixedfleet.labels import load_labels

EXAMPLE = Path(__file__).parent.parent / "examples" / "leipzig_parcels.csv"
PNG = b"\x89PNG\r\n\x1a\n"
# No bound tells whether four vehicles of 24 carry these; no packing into four exists.
HARD = [7, 6, 10, 11, 5, 7, 7, 5, 6, 10, 11, 10]
SQUARE = "x,y,demand,name\n0,0,,hub\n1,1,1,a\n1,-1,1,b\n-1,-1,1,c\n-1,1,1,d\n"
VRP = """NAME : two-k1
TYPE : CVRP
DIMENSION : 3
EDGE_WEIGHT_TYPE : EUC_2D
CAPACITY : 5
NODE_COORD_SECTION
1 0 0
2 3 4
3 6 8
DEMAND_SECTION
1 0
2 2
3 2
DEPOT_SECTION
1
-1
EOF
"""


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run a command in an empty folder; return code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*argv):
        code = main([str(argument) for argument in argv])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def csv(run, tmp_path):
    """A file with four customers around the depot, its fleet not said."""
    (tmp_path / "square.csv").write_text(SQUARE)
    return "square.csv"


def refused(answer, *words):
    """Whether a command ended with code 2 and one line that has these words."""
    code, out, err = answer
    assert code == 2
    assert out == ""
    assert err.startswith("fixedfleet: error: ")
    assert err.count("\n") == 1
    assert all(word in err for word in words), err
    return True


def make(tmp_path, name, text):
    """Write a file and return its name."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return name


FLEET = ("--vehicles", 2, "--capacity", 2)
FAST = (*FLEET, "--time-limit", 0.1)


def test_version_and_help(run):
    """The version and the list of commands are there for the asking."""
    assert run("--version") == (0, f"fixedfleet {ff_version()}\n", "")
    code, out, _ = run("--help")
    assert code == 0
    commands = ("solve", "fleet", "plot", "generate", "label", "solvers", "train")
    assert all(f"\n    {command} " in out for command in (*commands, "models"))
    assert run("solve", "--help")[0] == 0


def ff_version():
    """The version that is installed."""
    return importlib.metadata.version("fixedfleet")


def test_the_console_script_and_the_module_start_light():
    """Asking for the version loads no compiler, solver, network or plot."""
    code = (
        "import sys\nfrom fixedfleet.cli import main\nmain(['--version'])\n"
        "heavy = {'numba', 'torch', 'ortools', 'matplotlib', 'ray', 'pyvrp', 'scipy'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[1:] == [""]
    script = shutil.which("fixedfleet", path=Path(sys.executable).parent)
    for command in ([sys.executable, "-m", "fixedfleet"], [script] if script else []):
        if command:
            done = subprocess.run(
                [*command, "--version"], capture_output=True, text=True, check=True
            )
            assert done.stdout == f"fixedfleet {ff_version()}\n"


def test_solve_prints_tours_table_and_verdict(run, csv):
    """A plan comes with its tours by name, a table, the total and the verdict."""
    code, out, err = run("solve", csv, *FAST)
    assert (code, err) == (0, "")
    assert "note: fleet of 2 vehicles given by the caller" in out
    assert "note: distances not rounded" in out
    stops = out.split("tour 1: ")[1].splitlines()[0].split(" → ")
    assert set(stops) < {"a", "b", "c", "d"}
    table = out[out.index("tour  stops") :].splitlines()
    assert table[0].split() == ["tour", "stops", "load", "utilisation", "length"]
    assert table[1].split() == ["1", "2", "2", "100.0%", "4.82843"]
    assert table[3].split() == ["all", "4", "4", "100.0%", "9.65685"]
    assert "total: 2 of 2 vehicles, length 9.65685\n" in out
    assert "2 vehicles: feasible" in out


def test_cost_v_is_printed_where_a_vehicle_costs(run, csv):
    """With a vehicle cost the total says Cost_v too."""
    cost = ("--objective", "cost-v", "--vehicle-cost", 50)
    code, out, _ = run("solve", csv, *FAST, *cost)
    assert code == 0
    assert "Cost_v 109.65685 at 50 each" in out
    assert refused(run("solve", csv, *FAST, "--objective", "cost-v"), "--vehicle-cost")


def test_vrplib_says_its_fleet_and_rounding_aloud(run, tmp_path):
    """What a VRPLIB file leaves to conventions is said."""
    code, out, _ = run("solve", make(tmp_path, "two.vrp", VRP), "--time-limit", 0.1)
    assert code == 0
    assert "rounded to the nearest whole number" in out
    assert "fleet of 1 vehicle taken from the name two-k1" in out


def test_json_is_one_document(run, csv):
    """With --json, standard output is one JSON document and nothing else."""
    code, out, err = run("solve", csv, *FAST, "--json", "--search", "none")
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document["feasible"] is True
    assert document["verdict"]["status"] == "feasible"
    plan = ff.Plan(tour["customers"] for tour in document["tours"])
    instance = ff.read(csv, 2, capacity=2)
    assert plan.is_feasible(instance)
    assert document["length"] == plan.length(instance)
    code, out, _ = run("solve", csv, "--vehicles", 1, "--capacity", 2, "--json")
    document = json.loads(out)
    assert code == 3
    assert document["tours"] is document["length"] is None
    (tour,) = document["partial"]["tours"]
    assert sorted(tour["customers"] + document["unserved"]) == [1, 2, 3, 4]
    assert set(document["partial"]["unserved_names"]) < {"a", "b", "c", "d"}


def test_quiet_prints_nothing(run, csv):
    """With --quiet only the exit code and the files speak."""
    assert run("solve", csv, *FAST, "--quiet", "--output", "p.sol") == (0, "", "")
    assert read_plan("p.sol").vehicles == 2


@pytest.mark.parametrize("name", ["plan.json", "plan.sol", "plan.csv"])
def test_a_plan_is_written_and_read_back(run, csv, tmp_path, name):
    """Each format of --output holds the plan, whole, and serves as a start again."""
    code, out, _ = run("solve", csv, *FAST, "--search", "none", "--output", name)
    assert code == 0
    assert f"written: {name}" in out
    assert read_plan(name).is_feasible(ff.read(csv, 2, capacity=2))
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([csv, name])
    again = run("solve", csv, *FAST, "--search", "none", "--start", name, "--json")
    tours = [tour["customers"] for tour in json.loads(again[1])["tours"]]
    assert ff.Plan(tours) == read_plan(name)


def test_too_small_a_fleet_is_proven_so(run, csv):
    """A fleet that cannot carry the demands ends with 3, the proof, and no file."""
    code, out, _ = run(
        "solve", csv, "--vehicles", 1, "--capacity", 2, "--output", "p.sol"
    )
    assert code == 3
    assert "1 vehicle: impossible, the demands sum to 4 of 2" in out
    assert "no file was written" in out
    assert not Path("p.sol").exists()
    assert "tour 1: " in out
    left_out = out.split("with 1 vehicle 2 of 4 customers are left out: ")[1]
    assert set(left_out.strip().split(", ")) < {"a", "b", "c", "d"}


def test_the_guarantee_plans_for_the_smallest_fleet(run, csv):
    """With --guarantee there is a plan, and 3 says that the fleet is too small."""
    one = ("--vehicles", 1, "--capacity", 2, "--guarantee", "--time-limit", 0.1)
    code, out, _ = run("solve", csv, *one, "--output", "p.json")
    assert code == 3
    assert "this plan is for the smallest fleet that suffices, 2 vehicles" in out
    assert "with 1 vehicle 2 of 4 customers would be left out: " in out
    assert read_plan("p.json").is_feasible(ff.read(csv, 2, capacity=2))
    assert run("solve", csv, *FAST, "--guarantee")[0] == 0


def hard(tmp_path):
    """Write the instance that no bound decides."""
    rows = "".join(f"{i},{i % 3},{q}\n" for i, q in enumerate(HARD, 1))
    return make(tmp_path, "hard.csv", f"x,y,demand\n0,0,\n{rows}")


def test_fleet_answers_in_three_ways(run, csv, tmp_path):
    """0, 3 and 4 mean enough, proven too few, and undecided in time."""
    code, out, _ = run("fleet", csv, *FLEET)
    assert (code, "2 vehicles: feasible" in out) == (0, True)
    code, out, _ = run("fleet", csv, "--vehicles", 1, "--capacity", 2)
    assert (code, "smallest fleet that suffices: 2 vehicles" in out) == (3, True)
    four = ("fleet", hard(tmp_path), "--vehicles", 4, "--capacity", 24)
    code, out, _ = run(*four, "--time-limit", 0)
    assert (code, "4 to 5 vehicles, undecided" in out) == (4, True)
    code, out, _ = run(*four, "--time-limit", 30, "--json")
    assert (code, json.loads(out)["smallest"]) == (3, 5)


def test_no_plan_in_time_is_code_4(run, tmp_path, monkeypatch):
    """Where neither a plan nor a proof was found, the code is 4."""
    module = importlib.import_module("fixedfleet.solve.work")
    real = module.assess_fleet
    hasty = lambda instance, time_limit: real(instance, time_limit=0)  # noqa: E731
    monkeypatch.setattr(module, "assess_fleet", hasty)
    limits = ("--vehicles", 4, "--capacity", 24, "--time-limit", 0.1)
    code, out, _ = run("solve", hard(tmp_path), *limits, "--search", "ruin_recreate")
    assert code == 4
    assert "no plan" in out
    assert "with 4 vehicles 1 of 12 customers is left out: " in out
    code, out, _ = run("solve", hard(tmp_path), *limits, "--guarantee")
    assert code == 4
    assert "no plan for 4 vehicles was found: this plan is for" in out


@pytest.mark.parametrize("command", ["solve", "fleet"])
def test_a_demand_above_the_capacity_is_bad_input(run, csv, command):
    """A customer that no vehicle can serve is named, whatever the fleet."""
    answer = run(command, csv, "--vehicles", 9, "--capacity", 0.5)
    assert refused(answer, "square.csv", "customer a alone exceeds", "1 of 0.5")


BAD = {
    "empty.csv": ("", "empty"),
    "junk.csv": (bytes(range(256)) * 9, "text"),
    "junk.vrp": (b"\x00\x01\x02\xff" * 99, ""),
    "nan.csv": ("x,y,demand\n0,0,\nnan,1,1\n", "line 3: x"),
    "infinite.csv": ("x,y,demand\n0,0,\n1,inf,1\n", "line 3: y"),
    "negative.csv": ("x,y,demand\n0,0,\n1,1,-1\n", "line 3: demand is -1"),
    "missing.csv": ("x,y,demand\n0,0,\n1,1,\n", "line 3: demand is missing"),
    "column.csv": ("x,y\n0,0\n1,1\n", "'demand'"),
    "ragged.json": ('{"matrix": [[0, 1], [1]], "demands": [1]}', "matrix[1]"),
    "twice.vrp": (VRP.replace("DEPOT_S", "DEMAND_SECTION\n2 2\nDEPOT_S"), "DEMAND"),
    "huge.vrp": (VRP.replace("DIMENSION : 3", "DIMENSION : 10000000"), "10000000"),
    "short.vrp": (VRP.replace("3 2\nDEPOT", "DEPOT"), ""),
    "list.json": ("[]", "not an object"),
    "what.xls": ("", "'.xls'"),
}


@pytest.mark.parametrize("command", ["solve", "fleet", "plot"])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_gets_one_line(run, tmp_path, name, command):
    """A file that is wrong is refused with its name and the place, no traceback."""
    text, word = BAD[name]
    more = ("--output", "p.png") if command == "plot" else ()
    answer = run(command, make(tmp_path, name, text), *FLEET, *more)
    assert refused(answer, name, word)
    assert not Path("p.png").exists()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--vehicles", 0, "--capacity", 2), "vehicles"),
        (("--vehicles", -3, "--capacity", 2), "vehicles"),
        (("--vehicles", "two", "--capacity", 2), "--vehicles"),
        (("--vehicles", 2, "--capacity", 0), "capacity"),
        (("--vehicles", 2, "--capacity", "nan"), "capacity"),
        (("--vehicles", 2), "capacity"),
        (("--capacity", 2), "vehicles"),
        ((*FLEET, "--depot", "nowhere"), "nowhere"),
        ((*FLEET, "--rounding", "up"), "--rounding"),
        ((*FLEET, "--time-limit", 0), "time limit"),
        ((*FLEET, "--time-limit", -1), "time limit"),
        ((*FLEET, "--time-limit", "nan"), "time limit"),
        ((*FLEET, "--search", "magic"), "magic"),
        ((*FLEET, "--objective", "beauty"), "beauty"),
        ((*FLEET, "--vehicle-cost", -1), "vehicle cost"),
        ((*FLEET, "--start", "other.sol"), "the start is no plan"),
        ((*FLEET, "--start", "nothing.sol"), "nothing.sol: No such file"),
        ((*FLEET, "--output", "plan.txt"), ".txt"),
        ((*FLEET, "--output", "no/plan.sol"), "no folder no"),
        ((*FLEET, "--plot", "plan.sol"), ".sol"),
        ((*FLEET, "--frobnicate"), "--frobnicate"),
    ],
)
def test_a_bad_option_gets_one_line(run, csv, tmp_path, options, word):
    """An option that is wrong is refused before any time is spent."""
    make(tmp_path, "other.sol", "Route #1: 1 2 3 4 5\nCost 1\n")
    assert refused(run("solve", csv, *options), word)


def test_a_missing_file_and_a_missing_command(run):
    """A file that is not there and a command left out are said in one line."""
    assert refused(run("solve", "no\nsuch.csv"), "No such file")
    assert refused(run(), "COMMAND")
    assert refused(run("frobnicate"), "frobnicate")


def test_a_missing_package_is_named(run, csv, monkeypatch):
    """A search whose package is missing says what to install."""
    monkeypatch.setenv("PATH", "")
    assert refused(run("solve", csv, *FAST, "--search", "lkh"), "LKH")
    monkeypatch.setitem(sys.modules, "cupy", None)
    gpu = importlib.import_module("fixedfleet.search.gpu")
    monkeypatch.setattr(gpu, "_cupy", gpu._cupy.__wrapped__)
    assert refused(run("solve", csv, *FAST, "--search", "gpu"), "fixedfleet[gpu]")


def interrupted(*argv):
    """Start a command on a terminal, press Ctrl-C when it has a plan, see it end."""
    terminal, end = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "fixedfleet", *map(str, argv)],
        stdout=subprocess.PIPE,
        stderr=end,
        text=True,
    )
    os.close(end)
    said = b""
    while b"best cost" not in said:
        said += os.read(terminal, 1024)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    os.close(terminal)
    return process.returncode, out


@pytest.mark.skipif(sys.platform == "win32", reason="no terminals of this kind")
@pytest.mark.parametrize("search", ["auto", "hgs"])
def test_ctrl_c_keeps_the_best_plan(tmp_path, search):
    """Ctrl-C prints and writes the best plan so far, and ends with 130."""
    path = tmp_path / "plan.sol"
    options = ("--time-limit", 300, "--output", path, "--search", search)
    code, out = interrupted("solve", EXAMPLE, *options)
    assert code == 130
    assert "interrupted: this is the best found so far" in out
    assert read_plan(path).is_feasible(ff.read(EXAMPLE))


def test_ctrl_c_before_the_search(run, csv, monkeypatch):
    """Ctrl-C while the search cannot hear it still leaves the packing or the start."""
    planning = importlib.import_module("fixedfleet.cli.planning")

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(planning, "solve", interrupt)
    code, out, _ = run("solve", csv, *FAST, "--output", "p.sol")
    assert code == 130
    assert "2 of 2 vehicles" in out
    assert read_plan("p.sol").is_feasible(ff.read(csv, 2, capacity=2))
    Path("s.sol").write_text("Route #1: 1 3\nRoute #2: 2 4\nCost 9\n")
    assert run("solve", csv, *FAST, "--start", "s.sol", "--output", "p.sol")[0] == 130
    assert read_plan("p.sol") == read_plan("s.sol")
    one = ("--vehicles", 1, "--capacity", 2, "--guarantee")
    code, out, _ = run("solve", csv, *one)
    assert code == 130
    assert "total: 2 of 2 vehicles" in out
    assert "1 vehicle will not do" in out
    assert "would be left out: " in out


def test_a_reader_that_goes_away():
    """A pipe that is closed early ends the command without a traceback."""
    process = subprocess.Popen(
        [sys.executable, "-m", "fixedfleet", "fleet", str(EXAMPLE), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == ""
    process.stderr.close()


def test_the_live_line_is_for_terminals(run, csv, monkeypatch):
    """On a terminal a line says time, cost and vehicles, and is cleared at the end."""
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True)
    code, _, err = run("solve", csv, *FAST, "--search", "ruin_recreate")
    assert code == 0
    assert " s  best cost 9.65685, vehicles 2 of 2" in err
    assert err.endswith("\r\x1b[K")
    assert run("solve", csv, *FAST, "--quiet")[2] == ""


def test_the_example_fills_seven_vans(run):
    """The shipped example needs its seven vans, more than nine tenths full."""
    instance = ff.read(EXAMPLE)
    assert instance.vehicles == instance.minimum_vehicles == 7
    used = sum(instance.demands) / (7 * instance.capacity)
    assert 0.9 < used < 0.96
    code, out, _ = run("solve", EXAMPLE, "--time-limit", 0.5, "--plot", "p.png")
    assert code == 0
    assert "total: 7 of 7 vehicles" in out
    assert Path("p.png").read_bytes().startswith(PNG)


def test_plot_draws_instances_and_plans(run, csv, tmp_path):
    """A picture is written, and the faults of a plan that has some are said."""
    code, out, _ = run("plot", csv, *FLEET, "--output", "i.png")
    assert (code, "written: i.png" in out) == (0, True)
    plan = make(tmp_path, "p.sol", "Route #1: 1 2 3\nCost 1\n")
    code, _, err = run("plot", csv, plan, *FLEET, "--output", "p.png")
    assert code == 0
    assert "fault of the plan: customer 4 missing" in err
    for name in ("i.png", "p.png"):
        assert Path(name).read_bytes().startswith(PNG)
    other = make(tmp_path, "o.sol", "Route #1: 9\nCost 1\n")
    assert refused(run("plot", csv, other, *FLEET, "--output", "o.png"), "customer 9")
    matrix = '{"matrix": [[0, 1], [1, 0]], "demands": [1], "capacity": 1}'
    answer = run(
        "plot", make(tmp_path, "m.json", matrix), "--vehicles", 1, "--output", "m.png"
    )
    assert refused(answer, "no coordinates")


def test_generate_label_load(run):
    """Instances drawn by one command are labelled by the next and load again."""
    drawn = run(
        "generate", "uniform", 20, "--count", 3, "--seed", 5, "--output", "a.npz"
    )
    assert drawn[:2] == (0, "written: a.npz, 3 instances of 20 customers, 4 vehicles\n")
    teach = ("--teacher", "ruin_recreate", "--iterations", 50, "--processes", 1)
    code, out, err = run("label", "a.npz", *teach, "--output", "labels")
    assert code == 0
    assert out.startswith("labels: 3 of 3 instances labelled (3 new in ")
    assert "3 of 3 instances (100.0 %)" in err
    batch, plans, labelled = load_labels("labels")
    assert batch == read_batch("a.npz")
    assert labelled.all()
    assert plans.feasible(batch).all()
    again = ("--uniform", 20, "--count", 3, "--seed", 5, "--output", "more")
    code, out, err = run("label", *again, *teach, "--quiet")
    assert (code, err) == (0, "")
    assert load_labels("more")[0] == batch
    other = run("label", "a.npz", *teach[:3], 60, "--output", "labels")
    assert refused(other, "labels")


def test_generate_writes_single_instances_and_the_test_set(run):
    """A single instance is the batch's first, and the test set is the public one."""
    assert run("generate", "uchoa", 15, "--seed", 3, "--output", "u.npz")[0] == 0
    assert run("generate", "uchoa", 15, "--seed", 3, "--output", "u.vrp")[0] == 0
    one, same = ff.read("u.vrp"), read_batch("u.npz")[0]
    assert np.array_equal(one.coordinates, same.coordinates)
    assert (one.vehicles, one.capacity) == (same.vehicles, same.capacity)
    assert run("generate", "uniform", 20, "--test-set", "--output", "t.npz")[0] == 0
    batch = read_batch("t.npz")
    assert len(batch) == 9646
    assert batch.depots[0].tolist() == [0.1915194503788923, 0.6221087710398319]


def test_generate_takes_a_distribution_of_the_user(run, tmp_path):
    """A function in a file draws instances like the distributions built in."""
    make(
        tmp_path,
        "rings.py",
        "from fixedfleet import generate\n"
        "def draw(n, count, *, seed, vehicles):\n"
        "    drawn = generate.uniform(n, count, seed=seed)\n"
        "    return list(drawn.with_vehicles(vehicles))",
    )
    options = ("--count", 2, "--vehicles", 5, "--output", "r.npz")
    assert run("generate", "rings.py:draw", 20, *options)[0] == 0
    assert read_batch("r.npz") == generate.uniform(20, 2, seed=0).with_vehicles(5)
    options = ("--vehicles", 5, "--route-size", 5, "--output", "r.npz")
    assert refused(run("generate", "rings.py:draw", 20, *options), "'route_size'")
    assert refused(run("generate", "rings.py:draw", 20, *options[-2:]), "'vehicles'")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("uniform", 30, "--output", "a.npz"), "capacity"),
        (("uniform", 0, "--output", "a.npz"), "n is 0"),
        (("uniform", 20, "--count", 0, "--output", "a.npz"), "--count"),
        (("uniform", 20, "--count", 2, "--output", "a.vrp"), ".npz"),
        (("uniform", 20, "--seed", -1, "--output", "a.npz"), "seed"),
        (("uniform", 20, "--test-set", "--seed", 1, "--output", "a.npz"), "--seed"),
        (("uniform", 20, "--output", "a.txt"), ".txt"),
        (("uchoa", 20, "--demand", "huge", "--output", "a.npz"), "--demand"),
        (("uchoa", 20, "--vehicles", 0, "--output", "a.npz"), "vehicles"),
        (("uniform", 20, "--demand", "1-10", "--output", "a.npz"), "'demand'"),
        (("uchoa", 20, "--test-set", "--output", "a.npz"), "--test-set"),
        (("rings", 20, "--output", "a.npz"), "uniform, uchoa"),
        (("squares.py:draw", 20, "--output", "a.npz"), "no file 'squares.py'"),
    ],
)
def test_generate_refuses_in_one_line(run, options, word):
    """What cannot be drawn or written is said, and no file is left."""
    assert refused(run("generate", *options), word)
    assert list(Path().iterdir()) == []


class Harm:
    """Makes a folder when it is unpickled carelessly."""

    def __reduce__(self):
        return os.mkdir, ("harm",)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("evil.pkl", "--vehicles", 2, "--teacher", "hgs"), "run code"),
        (("a.npz", "--teacher", "nobody"), "nobody"),
        (("a.npz", "--teacher", "hgs", "--iterations", 5), "iterations"),
        (("a.npz", "--teacher", "ruin_recreate"), "iterations or a time_limit"),
        (("--teacher", "hgs"), "--uniform"),
        (("a.npz", "--count", 5, "--teacher", "hgs"), "--count"),
        (("--uniform", 20, "--teacher", "hgs"), "--count"),
        (("a.npz", "--teacher", "hgs", "--processes", 0), "processes"),
        (("a.npz", "--teacher", "hgs", "--seed", -1), "seed"),
        (("broken.npz", "--teacher", "hgs"), "broken.npz"),
    ],
)
def test_label_refuses_in_one_line(run, tmp_path, options, word):
    """What cannot be labelled is said, a pickle runs nothing, and no folder is made."""
    (tmp_path / "evil.pkl").write_bytes(pickle.dumps([Harm()]))
    make(tmp_path, "broken.npz", b"PK\x03\x04 not quite")
    run("generate", "uniform", 20, "--output", "a.npz")
    assert refused(run("label", *options, "--output", "labels"), word)
    assert not Path("harm").exists()
    assert not Path("labels").exists()


def test_solvers_are_listed_with_their_limits(run):
    """Each outside solver has a line with its version and what it cannot do."""
    code, out, _ = run("solvers")
    lines = dict(line.split(": ", 1) for line in out.splitlines())
    assert code == 0
    assert list(lines) == ["hgs", "pyvrp", "ortools", "vroom", "lkh", "exact"]
    assert lines["hgs"].startswith("hybgensea ")
    assert "limits: " in lines["exact"]


def test_train_and_models_reach_their_own_rooms(run):
    """Training parses its own options, and the shipped networks are listed."""
    pytest.importorskip("torch")
    code, out, _ = run("train", "--help")
    assert (code, "--labels" in out) == (0, True)
    code, _, err = run("train", "nothing", "--labels", "no", "--out", "o")
    assert (code, err.count("\n")) == (2, 1)
    assert run("models")[0] == 0
