"""The command ``solve``."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fixedfleet as ff
from fixedfleet.files import read_plan
from fixedfleet.progress import ProgressPrinter

from .cli_helpers import EXAMPLE, FAST, FLEET, PNG, VRP, hard, make, refused


def test_solve_prints_tours_table_and_verdict(run, csv):
    """A plan comes with its tours by name, a table, the total and the verdict."""
    code, out, err = run("solve", csv, *FAST)
    assert (code, err) == (0, "")
    assert "note: fleet of 2 vehicles, as asked for" in out
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
    code, out, _ = run("solve", csv, *FAST, "--vehicle-cost", 50)
    assert code == 0
    assert "Cost_v 109.65685 at 50 each" in out


def test_vrplib_says_its_fleet_and_rounding_aloud(run, tmp_path):
    """What a VRPLIB file leaves to conventions is said."""
    code, out, _ = run("solve", make(tmp_path, "two.vrp", VRP), "--time-limit", 0.1)
    assert code == 0
    assert "rounded to the nearest whole number" in out
    assert "fleet of 1 vehicle taken from the name two-k1" in out


def test_locked_tours_are_kept(run, csv, tmp_path):
    """With --locked, the tours of a file stay as they are."""
    locked = make(tmp_path, "locked.sol", "Route #1: 1 3\n")
    code, out, _ = run("solve", csv, *FAST, "--locked", locked)
    assert code == 0
    assert "tour 1: a → c\n" in out
    locked = make(tmp_path, "wrong.sol", "Route #1: 1 2 3\n")
    assert refused(run("solve", csv, *FAST, "--locked", locked), "tour 1 carries 3")


@pytest.mark.parametrize("option", ["--locked", "--start"])
def test_yesterdays_tours_are_found_by_name(run, csv, tmp_path, option):
    """After a row was inserted, the tours of a file have the customers they had."""
    plan = "tour,stop,customer,name\n1,1,1,a\n1,2,3,c\n"
    yesterday = make(tmp_path, "yesterday.csv", plan)
    rows = Path(csv).read_text().replace("1,-1,1,b", "2,2,1,new\n1,-1,1,b")
    today = make(tmp_path, "today.csv", rows.replace("-1,1,1,d\n", ""))
    if option == "--start":  # a start serves everybody
        make(tmp_path, "yesterday.csv", plan + "2,1,2,b\n2,2,4,new\n")
    code, out, _ = run("solve", today, *FAST, "--search", "none", option, yesterday)
    assert code == 0
    assert "tour 1: a → c\n" in out
    make(tmp_path, "yesterday.csv", plan.replace("1,a", "1,x"))
    refusal = run("solve", today, *FAST, option, yesterday)
    assert refused(refusal, "yesterday.csv: row 2: 'x' is not among the customers")


def test_a_start_takes_new_customers_in(run, csv, tmp_path):
    """Yesterday's plan starts today's search, with today's new customers in it."""
    plan = "tour,stop,customer,name\n1,1,1,a\n2,1,3,c\n2,2,4,d\n"
    start = make(tmp_path, "yesterday.csv", plan)
    code, out, err = run("solve", csv, *FAST, "--search", "none", "--start", start)
    assert code == 0
    assert "tour 1: a → b\n" in out or "tour 1: b → a\n" in out
    assert err == "fixedfleet: warning: 1 customer added to the start: b\n"
    # Without room, it is refused as before.
    full = ("--vehicles", 1, "--capacity", 3, "--start", start)
    assert refused(run("solve", csv, *full), "the start is not a plan")


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


def test_prove_says_that_no_plan_is_shorter(run, csv):
    """With --prove, the report and the document have the bound and the proof."""
    proof = ("--prove", "--time-limit", 600)  # it ends when it is proven
    code, out, err = run("solve", csv, *FLEET, *proof)
    assert (code, err) == (0, "")
    assert "total: 2 of 2 vehicles, length 9.65685\nproven: no plan is shorter\n" in out
    code, out, _ = run("solve", csv, *FLEET, *proof, "--json", "--vehicle-cost", 1)
    document = json.loads(out)
    assert code == 0
    assert document["is_optimal"] is True
    assert document["lower_bound"] == pytest.approx(document["cost"])
    assert document["gap"] == pytest.approx(0, abs=2e-7)
    assert document["proof"] == "proven: no plan is cheaper"
    assert document["stages"][-1]["name"] == "bound"


def test_without_prove_there_is_no_bound(run, csv):
    """The document of a plain plan says that no bound is known."""
    _, out, _ = run("solve", csv, *FAST, "--json", "--search", "none")
    document = json.loads(out)
    assert document["lower_bound"] is document["gap"] is None
    assert (document["is_optimal"], document["proof"]) == (False, "")


def test_prove_without_a_plan_says_why_there_is_no_bound(run, csv):
    """A fleet that is too small ends with 3, and there is nothing to bound."""
    fleet = ("--vehicles", 1, "--capacity", 2, "--time-limit", 0.1)
    code, out, _ = run("solve", csv, *fleet, "--prove")
    assert code == 3
    assert "no lower bound: there is no plan to compare with\n" in out


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
    """A fleet that cannot carry the demands ends with 3, and the proof."""
    code, out, _ = run("solve", csv, "--vehicles", 1, "--capacity", 2)
    assert code == 3
    assert "1 vehicle: impossible, the demands sum to 4, but the fleet carries 2" in out
    assert "tour 1: " in out
    left_out = out.split("with 1 vehicle 2 of 4 customers are left out: ")[1]
    assert set(left_out.strip().split(", ")) < {"a", "b", "c", "d"}


@pytest.mark.parametrize("name", ["p.csv", "p.xlsx", "p.json", "p.sol"])
def test_without_a_plan_the_file_is_todays_nevertheless(run, csv, name):
    """If the fleet is too small, the best partial plan replaces yesterday's file."""
    Path(name).write_text("yesterday's plan")
    small = ("--vehicles", 1, "--capacity", 2, "--time-limit", 0.1)
    code, out, _ = run("solve", csv, *small, "--output", name, "--plot", "p.png")
    assert code == 3
    remark = "(not a whole plan: 2 of 4 customers are not served)"
    assert f"written: {name} {remark}\nwritten: p.png {remark}\n" in out
    assert Path("p.png").read_bytes().startswith(PNG)
    plan = read_plan(name)
    assert plan.vehicles == 1
    assert len(plan.unserved(ff.read(csv, 1, capacity=2))) == 2
    if name == "p.csv":
        assert Path(name).read_text("utf-8-sig").count("\nunserved,,") == 2


def test_after_an_error_the_old_file_is_said_to_be_old(run, csv):
    """If nothing is written, the error says that the file was not changed."""
    Path("p.csv").write_text("yesterday's plan")
    answer = run("solve", csv, "--vehicles", 0, "--capacity", 2, "--output", "p.csv")
    assert refused(answer, "vehicles", "p.csv was not changed")
    assert Path("p.csv").read_text() == "yesterday's plan"


def test_an_order_above_every_vehicle_is_left_out(run, tmp_path):
    """One order that no vehicle can carry costs itself, not the plan of the others."""
    table = "x,y,demand,name\n0,0,,hub\n1,1,1,a\n1,-1,9,big\n-1,-1,1,c\n"
    path = make(tmp_path, "big.csv", table)
    code, out, err = run("solve", path, *FAST, "--output", "p.csv")
    assert (code, err) == (3, "")
    assert "customer big alone exceeds a vehicle: it demands 9 of 2" in out
    assert "1 of 3 customers is left out: big" in out
    assert read_plan("p.csv").unserved(ff.read(path, 2, capacity=2)) == [2]


def test_a_plan_is_printed_even_if_it_cannot_be_written(run, csv, monkeypatch):
    """A full disk costs the file, not the plan."""
    command = importlib.import_module("fixedfleet.cli.solve_command")

    def full(*_, **__):
        raise OSError(28, "No space left on device", "p.csv")

    monkeypatch.setattr(command, "write_plan", full)
    code, out, err = run("solve", csv, *FAST, "--output", "p.csv")
    assert (code, "tour 1: " in out, "written" in out) == (2, True, False)
    assert err == "fixedfleet: error: p.csv: No space left on device\n"


def test_an_excel_file_is_refused_at_once_without_its_package(run, csv, monkeypatch):
    """No time is spent on a plan that cannot be written."""
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    answer = run("solve", csv, *FAST, "--output", "p.xlsx")
    assert refused(answer, "pip install 'fixedfleet[excel]'")


def other_names(path):
    """The same file by other names: spelled differently, by links."""
    os.symlink(path, "link.csv")
    os.link(path, "hard.csv")
    return [path, f"./{path}", str(Path(path).absolute()), "link.csv", "hard.csv"]


def test_an_output_that_is_an_input_is_refused(run, csv, tmp_path):
    """Neither the customers nor a start is ever overwritten, whatever its name."""
    before = Path(csv).read_bytes()
    for name in other_names(csv):
        answer = run("solve", csv, *FAST, "--output", name)
        assert refused(answer, "--output", "would be overwritten: choose another name")
    assert refused(run("solve", "link.csv", *FAST, "--output", csv), "overwritten")
    assert Path(csv).read_bytes() == before
    plan = make(tmp_path, "plan.csv", "tour,stop,customer\n1,1,1\n1,2,2\n")
    for option in ("--start", "--locked"):
        answer = run("solve", csv, *FAST, option, plan, "--output", plan)
        assert refused(answer, "would be overwritten")
    for command in ("plot", "predict"):
        Path(csv).rename("in.png")  # a table under another name
        answer = run(command, "in.png", *FLEET, "--output", "in.png")
        assert answer[0] == 2
        assert Path("in.png").read_bytes() == before
        Path("in.png").rename(csv)
    assert refused(run("predict", csv, *FLEET, "--output", csv), "overwritten")


def test_doubtful_rows_are_shown_before_planning(run, tmp_path):
    """A row with swapped coordinates is a warning that names it; it can be left out."""
    text = EXAMPLE.read_text().replace("51.3372,12.3744", "12.3744,51.3372")
    wrong = make(tmp_path, "wrong.csv", text)
    code, out, err = run("solve", wrong, "--time-limit", 0.1)
    assert code == 0
    assert err.splitlines() == [
        "fixedfleet: warning: row 7 (Café Petersstraße 28): latitude and longitude "
        "look swapped",
        "fixedfleet: warning: correct these rows, or leave them out with --leave-out "
        "doubtful",
    ]
    assert run("solve", wrong, "--time-limit", 0.1, "--quiet") == (0, "", err)
    code, out, said = run("solve", wrong, "--strict", "--output", "p.csv")
    assert (code, out, Path("p.csv").exists()) == (2, "", False)
    error = "fixedfleet: error: wrong.csv: 1 warning (--strict)\n"
    assert said == err + error
    good = ("--leave-out", "doubtful", "--strict", "--quiet", "--time-limit", 0.1)
    assert run("solve", wrong, *good) == (0, "", "")
    for row in ("doubtful", "7"):
        code, out, err = run("fleet", wrong, "--leave-out", row)
        assert (code, err) == (0, "")
        assert "note: 1 customer left out: Café Petersstraße 28" in out
    code, out, _ = run("fleet", wrong, "--json")
    (doubt,) = json.loads(out)["doubts"]
    assert (doubt["kind"], doubt["customers"]) == ("swapped", [2])
    code, out, _ = run("solve", wrong, "--time-limit", 0.1, "--json")
    assert json.loads(out)["doubts"] == [doubt]
    said = "there is no customer in row 5 to leave out"
    assert refused(run("fleet", wrong, "--leave-out", "5"), said)  # the depot
    assert refused(run("fleet", wrong, "--leave-out", "all"), "not 'doubtful'")


def test_rows_that_cannot_be_read_do_not_stop_the_file(run, tmp_path):
    """All of them are warnings at once; each can be corrected or left out."""
    table = "name,x,y,demand\nHub,0,0,\nAda,1,1,1\nBob,1,2,2 kg\n"
    table += "Cay,,,1\nDom,2,2,\nZoe,,,3\nEve,3,3,1\nFay,4,4,1\nGus,5,5,1\n"
    path = make(tmp_path, "raw.csv", table)
    fleet = ("--vehicles", 2, "--capacity", 9)
    code, out, err = run("fleet", path, *fleet)
    assert code == 0
    assert [
        line.removeprefix("fixedfleet: warning: ") for line in err.splitlines()
    ] == [
        "row 5 (Cay): x is empty; y is empty",
        "row 6 (Dom): demand is empty, and only the depot has no demand",
        "row 7 (Zoe): x is empty; y is empty",
        "rows that cannot be read are left out: correct them, as with --correct",
    ]
    assert "note: rows left out, because they cannot be read: 3" in out
    assert run("fleet", path, *fleet, "--strict")[0] == 2
    decided = (
        "--correct",
        "5:x=7",
        "5:y=7",
        "6:demand=2",
        "--leave-out",
        7,
        "--strict",
    )
    code, out, err = run("fleet", path, *fleet, *decided, "--strict", "--json")
    assert (code, err, json.loads(out)["customers"]) == (0, "", 7)
    assert run("fleet", path, *fleet, "--leave-out", "doubtful", "--strict")[0] == 0
    assert refused(run("fleet", path, *fleet, "--correct", "5"), "14:demand=12")


def test_a_sheet_is_chosen_by_name(run, tmp_path):
    """If several sheets have customers, --sheet says which."""
    import openpyxl

    book = openpyxl.Workbook()
    for title, demand in (("Mo", 1), ("Di", 2)):
        sheet = book.create_sheet(title)
        for row in (["x", "y", "demand"], [0, 0, None], [1, 1, demand]):
            sheet.append(row)
    book.save(tmp_path / "week.xlsx")
    fleet = ("week.xlsx", "--vehicles", 1, "--capacity", 9)
    answer = run("fleet", *fleet)
    assert refused(answer, "'Mo', 'Di' look alike: choose one with --sheet")
    code, out, _ = run("fleet", *fleet, "--sheet", "Di")
    assert code == 0 and "sheet" not in out


def test_rows_are_numbers_of_customers_where_there_are_no_rows(run, tmp_path):
    """In a VRPLIB file, --leave-out takes the numbers of customers."""
    path = make(tmp_path, "two.vrp", VRP)
    code, out, _ = run("fleet", path, "--leave-out", 2)
    assert (code, "1 customer left out: 2" in out) == (0, True)
    assert refused(run("fleet", path, "--leave-out", 3), "no customer 3 to leave out")


def test_many_warnings_are_cut_short(run, tmp_path):
    """More than twenty warnings are counted instead of printed."""
    rows = "".join(f"1,{i % 30},1,a\n" for i in range(60))
    table = make(tmp_path, "twice.csv", f"x,y,demand,name\n0,0,,hub\n{rows}")
    _, _, err = run("fleet", table, "--vehicles", 9, "--capacity", 9)
    lines = err.splitlines()
    assert len(lines) == 22
    assert "row 32 (a) has the same name, place and demand as row 2" not in lines[0]
    assert lines[20] == "fixedfleet: warning: and 10 more warnings"


def test_the_table_of_a_german_excel(run):
    """A German table is planned, and the plan is written like it, with its columns."""
    shops = EXAMPLE.parent / "getraenke_koeln.csv"
    fleet = ("--vehicles", 4, "--capacity", 950, "--time-limit", 0.2)
    code, out, err = run("solve", shops, *fleet, "--output", "plan.csv")
    assert (code, err) == (0, "")
    assert out.startswith("42 customers, 4 vehicles of capacity 950 kg\n")
    assert "note: further columns: Straße, Telefon, Bemerkung" in out
    assert "tour  stops  load kg  utilisation  length km" in out
    text = Path("plan.csv").read_bytes().decode("utf-8-sig")
    assert text.startswith("tour;stop;customer;name;demand;lat;lon;Straße;Telefon;Be")
    assert ";Café Eigelstein;66,4;50,9487;6,9568;Eigelstein 87;0221 4710 102;" in text


def test_headings_and_units_of_ones_own(run, tmp_path):
    """--columns names headings; --unit and --length-unit name units."""
    table = "Nord;Ost;Paletten\n51,5;12,5;\n51,25;12,25;3\n"
    path = make(tmp_path, "own.csv", table)
    fleet = ("--vehicles", 1, "--capacity", 9)
    assert refused(run("fleet", path, *fleet), "say which they are, with --columns")
    own = ("--columns", "lat=Nord", "lon=Ost", "demand=Paletten")
    units = ("--unit", "pallets", "--length-unit", "mi")
    code, out, _ = run("solve", path, *fleet, *own, *units, "--time-limit", 0.1)
    assert code == 0
    assert "1 vehicle of capacity 9 pallets" in out
    assert "load pallets  utilisation  length mi\n" in out
    code, few, _ = run("fleet", path, "--vehicles", 1, "--capacity", 2, *own, *units)
    assert code == 3 and "it demands 3 of 2 pallets" in few
    assert "length 40.7248 mi (straight line)\n" in out
    assert refused(run("fleet", path, *fleet, "--columns", "Nord"), "demand=Paletten")


def test_equal_names_can_be_told_apart(run, tmp_path):
    """Customers that share a name are printed with their numbers."""
    table = "x,y,demand,name\n0,0,,hub\n1,0,1,Rewe\n2,0,1,Aldi\n3,0,1,Rewe\n"
    path = make(tmp_path, "chain.csv", table)
    fleet = ("--vehicles", 1, "--capacity", 3, "--time-limit", 0.1)
    _, out, _ = run("solve", path, *fleet)
    (tour,) = [line for line in out.splitlines() if line.startswith("tour 1: ")]
    stops = tour.removeprefix("tour 1: ").split(" → ")
    assert set(stops) == {"Rewe (1)", "Aldi", "Rewe (3)"}


def test_the_guarantee_plans_for_the_smallest_fleet(run, csv):
    """With --guarantee there is a plan, and 3 says that the fleet is too small."""
    one = ("--vehicles", 1, "--capacity", 2, "--guarantee", "--time-limit", 0.1)
    code, out, _ = run("solve", csv, *one, "--output", "p.json")
    assert code == 3
    assert "this plan is for the smallest fleet that suffices, 2 vehicles" in out
    assert "with 1 vehicle 2 of 4 customers would be left out: " in out
    assert read_plan("p.json").is_feasible(ff.read(csv, 2, capacity=2))
    assert run("solve", csv, *FAST, "--guarantee")[0] == 0


def test_no_plan_in_time_is_code_4(run, tmp_path, monkeypatch):
    """Where neither a plan nor a proof was found, the code is 4."""
    module = importlib.import_module("fixedfleet.solving.solve")
    real = module.assess_fleet
    hasty = lambda instance, **_limits: real(instance, time_limit=0)  # noqa: E731
    monkeypatch.setattr(module, "assess_fleet", hasty)
    limits = ("--vehicles", 4, "--capacity", 24, "--time-limit", 0.1)
    code, out, _ = run("solve", hard(tmp_path), *limits, "--search", "ruin_recreate")
    assert code == 4
    assert "no plan" in out
    assert "with 4 vehicles 1 of 12 customers is left out: " in out
    code, out, _ = run("solve", hard(tmp_path), *limits, "--guarantee")
    assert code == 4
    assert "no plan for 4 vehicles was found: this plan is for" in out


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
        ((*FLEET, "--vehicle-cost", "beauty"), "beauty"),
        ((*FLEET, "--vehicle-cost", -1), "vehicle cost"),
        ((*FLEET, "--start", "other.sol"), "the start is not a plan"),
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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no terminals of this kind")
@pytest.mark.parametrize("search", ["auto", "hgs"])
def test_ctrl_c_keeps_the_best_plan(tmp_path, search):
    """Ctrl-C prints and writes the best plan so far, and ends with 130."""
    path = tmp_path / "plan.sol"
    options = ("--time-limit", 300, "--output", path, "--search", search)
    code, out = interrupted("solve", EXAMPLE, *options)
    assert code == 130
    assert "interrupted: this is the best plan found so far" in out
    assert read_plan(path).is_feasible(ff.read(EXAMPLE))


def test_ctrl_c_before_the_search(run, csv, monkeypatch):
    """Ctrl-C during the verdict still leaves the packing or the start."""
    planning = importlib.import_module("fixedfleet.solving.solve")

    def interrupt(*args, **options):
        signal.raise_signal(signal.SIGINT)
        return ff.assess_fleet(*args, **options)

    monkeypatch.setattr(planning, "assess_fleet", interrupt)
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
    assert "1 vehicle does not suffice" in out
    assert "would be left out: " in out


def test_the_live_line_is_for_terminals(run, csv, monkeypatch):
    """On a terminal a line says time, cost and vehicles, and is cleared at the end."""
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True)
    always = lambda interval: ProgressPrinter(interval=0)  # noqa: E731
    monkeypatch.setattr("fixedfleet.cli.solve_command.ProgressPrinter", always)
    code, _, err = run("solve", csv, *FAST, "--search", "ruin_recreate")
    assert code == 0
    assert " s  best cost 9.65685, vehicles 2 of 2" in err
    assert err.endswith("\r\x1b[K")
    assert run("solve", csv, *FAST, "--quiet")[2] == ""


@pytest.mark.slow
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


def test_a_search_of_the_users_own(run, csv, tmp_path):
    """--search takes module.py:Name, and an error names a file that is missing."""
    mine = (
        "def mine(task):\n"
        "    print('from', task.initial_plan.vehicles, 'tours')\n"
        "    yield task.initial_plan\n"
    )
    make(tmp_path, "search.py", mine)
    code, out, _ = run("solve", csv, *FAST, "--search", "search.py:mine")
    assert code == 0
    assert out.startswith("from 2 tours\n")
    assert refused(run("solve", csv, *FAST, "--search", "no.py:mine"), "'no.py'")


DAY = """name;x;y;Menge;Minuten;von;bis
hub;0;0;;;;
a;10;0;3;5;08:00;09:00
b;20;0;3;;;
c;0;10;2;10;;12:00
"""
VANS = "Fahrzeug;Anzahl;Nutzlast;Fixkosten;von;bis\nSprinter;1;6;;07:00;12:00\n"
VANS += "Laster;1;9;30;07:00;12:00\n"
TIMED = ("--speed", 60, "--minutes-per-stop", 3)


def test_a_day_is_printed_with_vehicles_and_times(run, tmp_path):
    """The table of tours has the vehicle, when it leaves and when it is back."""
    make(tmp_path, "day.csv", DAY)
    make(tmp_path, "vans.csv", VANS)
    code, out, _ = run(
        *("solve", "day.csv", "--vehicle-types", "vans.csv", *TIMED, "--search"),
        *("none", "--output", "plan.csv"),
    )
    assert code == 0
    assert "3 customers, 2 vehicles of 2 types" in out
    assert "note: fleet of 2 vehicles of 2 vehicle types, as asked for" in out
    assert "note: travel times from distances at 60 per hour" in out
    assert "note: 3 minutes per stop where the file has none" in out
    assert "note: windows from column von, bis" in out
    head = next(line for line in out.splitlines() if line.startswith("tour  stops"))
    assert head.split()[-4:] == ["vehicle", "departs", "returns", "waits"]
    assert "cost " in out
    rows = (tmp_path / "plan.csv").read_text(encoding="utf-8-sig").splitlines()
    assert "vehicle;arrival;service begins;departure;window" in rows[0]


def test_times_that_are_not_considered_are_said_also_with_quiet(run, tmp_path):
    """Without a speed nothing is timed, and a warning says which columns."""
    make(tmp_path, "day.csv", DAY)
    _, _, err = run("solve", "day.csv", *FAST, "--capacity", 9, "--quiet")
    assert "columns 'Minuten' and 'von' and 'bis' look like times" in err
    _, _, err = run("fleet", "day.csv", *FLEET, "--capacity", 9, "--shift", "8h")
    assert "shifts are not considered: give a speed" in err


@pytest.mark.parametrize(
    ("shift", "said"),
    [
        ("8h", "the shift does not say when it begins"),
        ("ab 8", "--shift ab 8: give its begin and end"),
        ("late", "--shift is 'late', not one window"),
    ],
)
def test_a_shift_that_cannot_be_meant_is_refused(run, tmp_path, shift, said):
    """A length is enough only if no customer has a window."""
    make(tmp_path, "day.csv", DAY)
    fleet = ("--vehicles", 2, "--capacity", 9)
    assert refused(run("solve", "day.csv", *fleet, *TIMED, "--shift", shift), said)


def test_a_fleet_that_is_too_slow_is_said_with_the_proof(run, tmp_path):
    """Nobody can be back within the shift, so no fleet suffices."""
    table = "name,x,y,demand\nhub,0,0,\na,10,0,3\n"
    make(tmp_path, "far.csv", table)
    fleet = ("--vehicles", 2, "--capacity", 9, "--speed", 60, "--shift", "15 min")
    code, out, _ = run("fleet", "far.csv", *fleet)
    assert code == 3
    assert (
        "customer a is too far for any shift: a vehicle would be back at 00:20" in out
    )


def test_the_table_of_vehicles_is_not_overwritten(run, tmp_path):
    """It is one of the files that the command reads."""
    make(tmp_path, "day.csv", DAY)
    make(tmp_path, "vans.csv", VANS)
    command = ("solve", "day.csv", "--vehicle-types", "vans.csv", *TIMED)
    assert refused(run(*command, "--output", "vans.csv"), "would be overwritten")
