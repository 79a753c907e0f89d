"""The rows in results/ give the pages beside them; other pages repeat their figures."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks import cores, days, lower_bounds
from experiments import RESULTS, proven
from experiments.__main__ import main
from fixedfleet.evaluate import Results, compare, get_set, summarise
from fixedfleet.evaluate.origin import instance_hash
from fixedfleet.evaluate.tables import show_mean
from fixedfleet.files import read_solution_cost
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from pathlib import Path

ROOT = RESULTS.parent
CARD = ROOT / "src" / "fixedfleet" / "model" / "shipped" / "universal.md"
# Pages that no command renders. Tests below compare them with rows or measurements.
BY_HAND = {
    "universal.md", "cvrplib-x-all.md", "cvrplib-xxl.md", "fixed-fleets.md",
    "training-times.md",
}  # fmt: skip
OF_BENCHMARKS = {
    "cores.md", "days.md", "fine-tuning.md", "lower-bounds.md", "proven.md",
}  # fmt: skip
# The lines of universal.md by their methods, with and without the names of the options.
NETWORK = {
    "one view": "network",
    "one view, four passes": "network:passes=4",
    "eight views": "network:symmetries=8",
    "eight views, four passes": "network:passes=4,symmetries=8",
    "control: the sweep's assignment through the same decoding": "sweep:decoded=yes",
    "control: savings": "savings",
    "control: the Attention Model, greedy, its plans within the fleet": "am-greedy",
    "control: the Attention Model, best of 1,280 samples, those within the fleet": (
        "am-sampling"
    ),
}
SETS = ("vrp20", "vrp50", "vrp100")
FAR_SETS = ("uchoa100", "clustered100", "uniform200")  # without kept reference plans


def read_tables(path: Path) -> list[list[list[str]]]:
    """Return the tables of a page, each a list of rows of cells."""
    text = path.read_text(encoding="utf-8")
    return [
        [[cell.strip() for cell in row.strip("|").split("|")] for row in part]
        for block in text.split("\n\n")
        if (part := [line for line in block.splitlines() if line.startswith("|")])
    ]


@pytest.mark.slow
def test_every_page_is_what_its_rows_give(tmp_path, capsys):
    """Each committed page and CSV is rendered again, byte by byte."""
    pytest.importorskip("matplotlib")  # a page names its pictures
    pytest.importorskip("torch")  # for the networks that rows are compared with
    assert main(["all", "--render-only", "--quiet", "--out", str(tmp_path)]) == 0
    made = {path.name for path in tmp_path.iterdir() if path.suffix in (".md", ".csv")}
    assert {"paper.md", "decoding.csv", "reference.md", "by-version.md"} <= made
    for name in sorted(made):
        assert (RESULTS / name).read_bytes() == (tmp_path / name).read_bytes(), name
    others = {path.name for path in RESULTS.glob("*.md")} - made
    assert others == BY_HAND | OF_BENCHMARKS
    capsys.readouterr()


def test_the_page_of_lower_bounds_is_what_its_rows_give():
    """The table of gaps and proofs is rendered again, byte by byte."""
    rows = lower_bounds.read_rows(RESULTS / "lower-bounds.jsonl")
    page = (RESULTS / "lower-bounds.md").read_text(encoding="utf-8")
    assert page == lower_bounds.page(rows)


def test_the_page_of_cores_is_what_its_rows_give(capsys, monkeypatch):
    """Its command prints the page again, byte by byte."""
    rows = str(RESULTS / "cores.jsonl.xz")
    monkeypatch.setattr("sys.argv", ["cores.py", "--page", rows])
    cores.main()
    assert (RESULTS / "cores.md").read_text(encoding="utf-8") == capsys.readouterr().out


def test_runs_on_more_cores_than_there_are_processors_are_refused(
    capsys, monkeypatch, tmp_path
):
    """They would wait for ever for processors that are free."""
    monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: {0, 1})
    rows = ["--rows", str(tmp_path / "rows.jsonl")]
    monkeypatch.setattr("sys.argv", ["cores.py", *rows, "--runs", "2x1", "3x1"])
    with pytest.raises(SystemExit):
        cores.main()
    assert "3x1: there are only 2 processors" in capsys.readouterr().err


def test_without_runs_there_are_no_tables_of_cores():
    """A page may lack some of its groups, and the time may end before any run."""
    assert cores.tables([]) == "There are no runs.\n"
    assert cores.page([]).count("There are no runs.") == 4


def test_the_page_of_days_is_what_its_rows_give():
    """The table of mixed fleets and time windows is rendered again, byte by byte."""
    rows = days.read_rows(RESULTS / "days.jsonl")
    assert (RESULTS / "days.md").read_text(encoding="utf-8") == days.page(rows)


def test_the_readme_repeats_the_page_of_days():
    """Mixed fleets after 10 s, and 1,000 customers with windows after 60 s."""
    page = (RESULTS / "days.md").read_text(encoding="utf-8")
    readme = " ".join((RESULTS.parent / "README.md").read_text("utf-8").split())
    for row, sentence in {
        "| mixed | all | 10 |": "{} % after 10 s on one core (PyVRP {} %)",
        "| windows | all | 60 |": "{} % after 60 s (PyVRP {} %;",
    }.items():
        (line,) = (line for line in page.splitlines() if line.startswith(row))
        ours, pyvrp = (cell.strip() for cell in line.split("|")[5:7])
        assert sentence.format(ours, pyvrp) in readme


@pytest.mark.slow
def test_proven_plans_are_as_long_as_their_rows_say():
    """Each is feasible and as long as its row says; a proven one meets its bound."""
    rows = Results(RESULTS / "rows-proven.jsonl.xz").rows()
    sets = {name: get_set(name, 10_000) for name in {row.set for row in rows}}
    instances = {one.name: one for part in sets.values() for one in part.instances}
    assert {row.instance for row in rows} <= set(instances)
    assert {row.instance for row in rows if row.set == "vrp20"} == {
        one.name for one in sets["vrp20"].instances
    }
    for row in rows:
        plan, instance = Plan(row.tours), instances[row.instance]
        assert plan.is_feasible(instance)
        assert plan.length(instance) == pytest.approx(row.length)
        gap = 1 - row.details["lower_bound"] / row.length
        assert gap >= -1e-12
        assert not row.details["is_optimal"] or gap <= 1.1e-7


def test_no_known_plan_is_shorter_than_a_lower_bound():
    """All plans of the test instances that are kept are as long as the bound."""
    bounds = {
        row.instance: row.details["lower_bound"]
        for row in Results(RESULTS / "rows-proven.jsonl.xz").rows()
    }
    compared = 0
    for name in ("reference", "anytime", "universal"):
        for row in Results(RESULTS / f"rows-{name}.jsonl.xz").rows():
            # With the smallest fleet, there are fewer plans.
            instance = row.instance.replace("tight", "test", 1)
            if row.within and instance in bounds:
                assert row.length > bounds[instance] * (1 - 1e-7), row.instance
                compared += 1
    assert compared > 10_000


@pytest.mark.slow
def test_the_page_of_proven_plans_is_what_its_rows_give():
    """Its tables of proofs, of references and of gaps are rendered again."""
    text = (RESULTS / "proven.md").read_text(encoding="utf-8")
    assert text == proven.page()


def test_the_documentation_repeats_the_page_of_proven_plans():
    """The counts of proven plans, and of references that are not optimal."""
    proofs, references = read_tables(RESULTS / "proven.md")[:2]
    text = (ROOT / "docs" / "bound.md").read_text(encoding="utf-8")
    for name, instances, computed, optimal, *_ in proofs[2:]:
        if instances == computed == optimal:
            assert f"all {instances} instances of {name}" in text
        else:
            assert f"{optimal} of {computed} instances of {name}" in text
    for name, _, known, worse, _, largest in references[2:]:
        assert f"{worse} of {known} in {name} (by {largest} at most)" in text


def test_the_notes_repeat_what_the_network_is_worth_as_a_start():
    """The paired differences, and by how much the network is ahead at most."""
    notes = (RESULTS / "notes" / "search.md").read_text(encoding="utf-8")
    rows = Results(RESULTS / "rows-starts.jsonl.xz").rows()
    limits = sorted({row.time_limit for row in rows})
    best = 0.0
    for name in dict.fromkeys(row.set for row in rows):
        chosen = get_set(name, 300)
        pairs = compare(rows, chosen, "network+auto", "packing+auto")
        shown = {one.time_limit: one.difference for one in pairs}
        cells = [show_mean(shown.get(limit), 3) for limit in limits]
        assert f"| {name} | {' | '.join(cells)} |" in notes
        if name.startswith("vrp"):  # on the 300 further instances it is not ahead
            best = min([best, *(one.value for one in shown.values())])
        else:
            assert all(one.value > 0 for one in shown.values())
    assert f"ahead by {-best:.2f} %" in notes
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"up to chance ({-best:.2f} %)" in readme


@pytest.mark.slow
def test_reference_plans_have_the_lengths_in_their_rows():
    """Each plan is feasible for its instance and as long as its row says."""
    rows = Results(RESULTS / "rows-reference.jsonl.xz").rows()
    sets = {
        name: get_set(name, 1000) for name in dict.fromkeys(row.set for row in rows)
    }
    assert len(rows) == 1000 * len(sets) == 6000
    instances = {one.name: one for part in sets.values() for one in part.instances}
    for row in rows:
        plan, instance = Plan(row.tours), instances[row.instance]
        assert plan.is_feasible(instance)
        assert plan.length(instance) == pytest.approx(row.length)
        assert plan.vehicles == row.vehicles
        assert row.instance_hash == instance_hash(instance)


def read_shipped_network():
    """Return the tables of universal.md, each by its lines, without their options."""
    return [
        {re.sub(r" \(`.*`\)", "", label): cells for label, *cells in table}
        for table in read_tables(RESULTS / "universal.md")
    ]


def read_rows_of_networks():
    """Return the rows behind universal.md by method, without its device and batch."""
    rows = defaultdict(list)
    for file in ("universal", "attention-model"):
        for row in Results(RESULTS / f"rows-{file}.jsonl.xz").rows():
            method = re.sub(r"(batch=\d+|device=cuda),?", "", row.method).rstrip(":,")
            rows[method].append(row)
    return rows


def count_within(rows):
    """Return the number of rows, and before it their share within the fleet."""
    share = sum(row.within for row in rows) / len(rows)
    return ("" if share == 1 else f"{100 * share:.1f} % of ") + f"{len(rows):,}"


@pytest.mark.slow
def test_the_page_of_the_shipped_network_has_the_figures_of_its_rows():
    """The gaps on the test sets are recomputed from the rows that are kept.

    The plans to which the gaps on the other sets refer were not kept.
    """
    lines, _ = read_shipped_network()
    rows = read_rows_of_networks()
    sets = [get_set(name, 1000, RESULTS / "rows-reference.jsonl.xz") for name in SETS]
    assert set(lines) == {"", "---", *NETWORK}
    for label, method in NETWORK.items():
        for part, cell in zip(sets, lines[label], strict=False):
            names = set(part.names)
            own = [row for row in rows[method] if row.instance in names]
            gap = show_mean(summarise(own, part).gap, 2)
            assert cell == f"{gap} ({count_within(own)})", label
        for name, cell in zip(FAR_SETS, lines[label][3:], strict=True):
            own = [row for row in rows[method] if row.instance.startswith(name)]
            assert cell.endswith(f"({count_within(own)})" if own else ""), label
            assert bool(cell) == bool(own)


def test_the_page_of_the_shipped_network_has_the_times_of_its_rows():
    """Seconds of the GPU for each test set, and docs/results.md has one of them."""
    _, lines = read_shipped_network()
    rows = read_rows_of_networks()
    for label, cells in list(lines.items())[2:]:
        for size, cell in zip((20, 50, 100), cells, strict=True):
            own = [r for r in rows[NETWORK[label]] if f"test{size}/" in r.instance]
            assert len(own) == 1000
            assert cell == f"{sum(row.seconds for row in own):.3f}", label
    text = " ".join((ROOT / "docs" / "results.md").read_text("utf-8").split())
    seconds = float(lines["one view"][2])
    assert f"One H200 plans 1,000 VRP100 instances in {seconds:.2f} s" in text


def test_the_card_of_the_shipped_network_repeats_its_page():
    """The card has the gaps of results/universal.md, without their intervals."""
    page, _ = read_shipped_network()
    (card,) = [table for table in read_tables(CARD) if len(table[0]) == 7]
    assert card[0][1:] == page[""]
    assert len(card) == 6
    for label, *cells in card[2:]:
        assert cells == [cell.partition(" ")[0] for cell in page[label]], label


def test_the_results_repeat_the_page_of_the_shipped_network():
    """docs/results.md has the same gaps of the test sets, and those of controls."""
    page, _ = read_shipped_network()
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    part = " ".join(text.partition("## Without a search")[2].split())
    for label, digits in zip(NETWORK, (2, 2, 2, 2, 0, 1), strict=False):
        gaps = [float(cell.partition(" ")[0]) for cell in page[label][:3]]
        small, middle, large = (f"{gap:.{digits}f}" for gap in gaps)
        assert f"{small}, {middle} and {large} %" in part, label


def test_the_page_of_fixed_fleets_has_the_figures_of_its_rows():
    """Ours: mean length and Cost_v, the share beyond the fleet, and how many."""
    (table,) = read_tables(RESULTS / "fixed-fleets.md")
    ours, counts = table[-2:]
    rows = defaultdict(list)
    for row in Results(RESULTS / "rows-fixed-fleets.jsonl.xz").rows():
        rows[f"N = {row.customers}, M = {row.fleet}"].append(row)
    assert list(rows) == table[0][1:]
    for own, cell, count in zip(rows.values(), ours[1:], counts[1:], strict=True):
        within = [row for row in own if row.within]
        length, cost_v = (
            sum(getattr(row, name) for row in within) / len(within)
            for name in ("length", "cost_v")
        )
        beyond = 100 * (1 - len(within) / len(own))
        assert cell == f"{length:.2f}, {cost_v:.1f}, {beyond:.1f} %"
        assert count == f"{len(own)}; {own[0].time_limit:g}"


def test_the_results_repeat_the_page_of_fixed_fleets():
    """docs/results.md has the least and the largest share that exceeds the fleet."""
    (table,) = read_tables(RESULTS / "fixed-fleets.md")
    shares = {
        label.strip("*"): [float(re.findall(r"([\d.]+) %", c)[0]) for c in cells]
        for label, *cells in table[2:-1]
    }
    text = " ".join((ROOT / "docs" / "results.md").read_text("utf-8").split())
    part = text.partition("## A fleet that is nearly too small")[2]

    def between(names):
        found = [share for name in names for share in shares[name]]
        return f"{min(found):.0f} to {max(found):.0f} %"

    local, solvers = "F-PIN + local search", ("LKH", "HGS", "ours: packing + search")
    networks = shares.keys() - {local, *solvers}
    assert f"exceed the fleet on {between(networks)} of the instances" in part
    assert f"with a local search on {between([local])}" in part
    assert f"those of LKH on {between(['LKH'])}" in part
    assert set(shares["ours: packing + search"]) == {0}
    limits = [float(cell.partition("; ")[2]) for cell in table[-1][1:]]
    assert f"never exceeds it, in {min(limits):g} to {max(limits):g} s" in part


def test_the_readme_has_the_table_of_quality_against_time():
    """The README's table is that of VRP100 in results/anytime.md, at its commit."""
    page = (RESULTS / "anytime.md").read_text(encoding="utf-8")
    table = page.partition("## VRP100")[2].partition("\n\n")[2].partition("\n\n")[0]
    assert table.count("\n") == 7
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert table in readme
    (commit,) = re.findall(r"Versions: commit (\w+),", page)
    before = " ".join(readme.partition(table)[0].split())
    assert f"ten seeds each, at commit {commit}, on an AMD EPYC" in before
    (command,) = re.findall("^    (python .*)$", page, re.MULTILINE)
    assert f"(`{command}`, which takes" in before


def read_cvrplib(name):
    """Return a page's tables, its best known costs, and rows by program and instance.

    The last table has the best known costs, in its column of this name.
    """
    tables = read_tables(RESULTS / f"cvrplib-{name}.md")
    headings, _, *lines = tables[-1]
    place = headings.index("best known")
    best = {line[0]: int(line[place].replace(",", "")) for line in lines if line[place]}
    rows = defaultdict(dict)
    for row in Results(RESULTS / f"rows-cvrplib-{name}.jsonl.xz").rows():
        rows[re.sub(r"command:(filo2|ails).*", r"\1", row.method)][row.instance] = row
    assert rows["packing+auto"].keys() == rows["filo2"].keys() == best.keys()
    return tables, best, rows


def gap_of(row, best):
    """Return by how many per cent a plan is longer than the best known one."""
    return 100 * (row.length / best[row.instance] - 1)


@pytest.mark.parametrize(("name", "folder"), [("x-all", "X"), ("xxl", "XXL")])
def test_the_pages_of_cvrplib_have_its_best_known_costs(name, folder, shared):
    """They are those of CVRPLIB's solution files."""
    _, best, _ = read_cvrplib(name)
    for instance, cost in best.items():
        file = shared / "cvrplib" / folder / f"{instance}.sol"
        assert read_solution_cost(file) == cost, instance


def test_the_page_of_set_x_has_the_figures_of_its_rows():
    """Its means and counts, and for each instance the gap and the vehicles beyond."""
    (means, plans), best, rows = read_cvrplib("x-all")
    ours, filo2, ails = (rows[name] for name in ("packing+auto", "filo2", "ails"))

    def cell(row):
        if row is None:
            return "–"
        gap = round(gap_of(row, best), 2) + 0.0  # not -0.00
        return f"{gap:.2f}" + (f", +{row.excess}" if row.excess else "")

    for instance, *cells in plans[2:]:
        found = [one.get(instance) for one in (ours, filo2, ails)]
        fleet = str(found[0].fleet)
        assert cells == [fleet, f"{best[instance]:,}", *map(cell, found)], instance
    within = {name for name in ails if filo2[name].within and ails[name].within}
    small = {name for name, row in ours.items() if row.customers <= 200}
    groups = [ours.keys(), small, ours.keys() - small, ails.keys(), within]
    for (_, count, *cells), group in zip(means[2:-1], groups, strict=True):
        assert count == str(len(group))
        for shown, one in zip(cells, (ours, filo2, ails), strict=True):
            known = [gap_of(one[name], best) for name in group if name in one]
            mean = f"{np.mean(known):.3f}" if len(known) == len(group) else "–"
            assert shown.strip("*") == mean, group
    beyond = [
        f"{sum(row.excess > 0 for row in one.values())} of {len(one)}"
        for one in (ours, filo2, ails)
    ]
    assert means[-1] == ["plans beyond the fleet", "", *beyond]

    def compared(other):
        """Return on how many instances ours is shorter, on how many in all, longer."""
        pairs = [(ours[name].length, row.length) for name, row in other.items()]
        shorter, longer = (sum(a < b for a, b in pairs), sum(a > b for a, b in pairs))
        return f"{shorter} of {len(pairs)}", longer

    text = (RESULTS / "cvrplib-x-all.md").read_text(encoding="utf-8")
    slowest = max(row.seconds for row in ours.values())
    least, most = (f([row.seconds for row in filo2.values()]) for f in (min, max))
    short, long = (f([row.seconds for row in ails.values()]) for f in (min, max))
    for sentence in (
        f"Ours took at most {slowest:.2f} s",
        f"a row took {least:.0f} to {most:.0f} s with them",
        f"AILS-II took {short:.0f} to {long:.0f} s",
        "than FILO2's on {} instances and longer on {}".format(*compared(filo2)),
        "than AILS-II's on {} and longer on {}".format(*compared(ails)),
    ):
        assert sentence in text, sentence


def test_the_page_of_set_xxl_has_the_figures_of_its_rows():
    """Gaps, seconds and memory of each instance, and the mean gaps."""
    (table,), best, rows = read_cvrplib("xxl")
    pairs = [rows["packing+auto"], rows["filo2"]]
    for instance, *cells in table[2:-1]:
        found = [one[instance] for one in pairs]
        assert all(row.within for row in found)
        of_instance = (found[0].customers, found[0].fleet, best[instance])
        assert cells == [f"{number:,}" for number in of_instance] + [
            shown
            for row in found
            for shown in (
                f"{gap_of(row, best):.2f}",
                f"{row.seconds:.0f}",
                f"{row.details['peak_mb']:.0f}",
            )
        ], instance
    means = [np.mean([gap_of(row, best) for row in one.values()]) for one in pairs]
    ours, filo2 = (f"{mean:.2f}" for mean in means)
    count = f"mean of {len(best)}"
    assert table[-1] == [count, "", "", "", ours, "", "", filo2, "", ""]


def read_figures(name):
    """Return the figures of a rendered page by set and label."""
    with (RESULTS / f"{name}.csv").open(encoding="utf-8") as file:
        return {(row["set"], row["label"]): row for row in csv.DictReader(file)}


RAW, SOLVED, ALL = (
    "ours, without post-processing",
    "ours, then OR-Tools: those solved",
    "ours, then OR-Tools: guaranteed",
)


@pytest.mark.parametrize("size", [20, 50, 100])
def test_the_card_of_a_paper_network_repeats_its_page(size):
    """Lengths and the share solved are those of results/paper.md, Σq < MQ."""
    card = CARD.with_name(f"paper{size}.md")
    ours = read_tables(card)[-1][-1]
    figures = read_figures("paper")
    raw, solved, guaranteed = (
        figures[f"strict{size}", label] for label in (RAW, SOLVED, ALL)
    )
    lengths = [f"{float(row['length']):.2f}" for row in (raw, solved, guaranteed)]
    share = f"{100 * float(raw['share_within']):.1f} %"
    assert ours == [
        f"ours, {int(raw['runs']):,} instances", lengths[0], share, *lengths[1:]
    ]  # fmt: skip


def test_the_results_repeat_the_page_of_the_paper():
    """The main table of docs/results.md has the figures of results/paper.md."""
    table = read_tables(ROOT / "docs" / "results.md")[0]
    figures = read_figures("paper")
    shown = [row[1:] for row in table if row[0] == "ours"]
    sizes = (20, 50, 100)

    def lengths(kind, label):
        rows = [figures[f"{kind}{size}", label] for size in sizes]
        return [f"{float(row['length']):.3f}" for row in rows]

    shares = [
        f"{100 * float(figures[f'filled{size}', RAW]['share_within']):.1f} %"
        for size in sizes
    ]
    assert shown == [
        [f"{a}, {b}" for a, b in zip(lengths("filled", RAW), shares, strict=True)],
        lengths("filled", SOLVED),
        lengths("filled", ALL),
        lengths("kool", ALL),
    ]


def test_the_results_repeat_the_pages_of_cvrplib():
    """docs/results.md has their mean gaps and the plans beyond the fleet."""
    text = " ".join((ROOT / "docs" / "results.md").read_text("utf-8").split())
    part = text.partition("## Beyond 200 customers")[2]
    means, plans = read_tables(RESULTS / "cvrplib-x-all.md")[:2]
    ours, filo2, ails = (
        {row[0]: row[place].strip("*") for row in means[2:]} for place in (2, 3, 4)
    )
    assert len(plans) > 100

    def gap(cells, row):
        return f"{float(cells[row]):.2f} %"

    whole, large = "all instances", "more than 200 customers"
    both, beyond = "the instances that AILS-II has", "plans beyond the fleet"
    for sentence in (
        f"{gap(ours, whole)} above the best known plans, FILO2 {gap(filo2, whole)}",
        f"{gap(ours, large)} against {gap(filo2, large)}",
        f"AILS-II has {gap(ails, both)} on the 72 instances",
        f"where ours has {gap(ours, both)}",
        f"FILO2 exceeds the fleet on {filo2[beyond]} instances",
        f"AILS-II on {ails[beyond]}",
    ):
        assert sentence in part, sentence
    (xxl,) = read_tables(RESULTS / "cvrplib-xxl.md")
    rows = {row[0]: row for row in xxl}
    mean, long_tours = rows["mean of 6"], rows["Leuven2"]
    assert f"ours is {mean[4]} % above" in part and f"FILO2 {mean[7]} %" in part
    said = "it has {} % and FILO2 {} % after {} s"
    assert said.format(*(long_tours[place] for place in (4, 7, 8))) in part
    shorter = [float(row[4]) < float(row[7]) for row in xxl[2:-1]]
    assert (sum(shorter), len(shorter)) == (5, 6)
    assert "shorter than FILO2 on five of them" in part


def test_the_results_repeat_the_page_of_cores():
    """docs/results.md has the mean gaps of several cores on sets X and XXL."""
    text = " ".join((ROOT / "docs" / "results.md").read_text("utf-8").split())
    part = text.partition("On eight of the instances, one core")[2]
    means = defaultdict(list)
    for heading, _, *lines in read_tables(RESULTS / "cores.md"):
        if "mean" in heading:
            for limit, version, settings, number, _, _, mean, *_ in lines:
                if settings == "default":
                    means[limit, version, int(number)].append(f"{float(mean):.2f} %")
    (one,), (two,), (eight,), (sixteen,) = (
        means["10 s", "df0c6d1", count] for count in (1, 2, 8, 16)
    )
    (regions,), (exchanges,), (single,), (xxl,) = (
        means[key]
        for key in (
            ("10 s", "d5c6c0d", 2),
            ("10 s", "3555cb4", 2),
            ("10 s", "cda2090", 1),
            ("60 s", "cda2090", 2),
        )
    )
    for sentence in (
        f"has {one} after 10 s, two {two}, eight {eight} and sixteen {sixteen},",
        f"instances {regions} after 10 s, with exchanges alone {exchanges}, and",
        f"with one core {single}, which are equal",
        f"on set XXL {xxl} after 60 s",
    ):
        assert sentence in part, sentence


def test_the_documentation_repeats_the_page_of_fine_tuning():
    """docs/training.md has the gaps and changes of its rows."""
    text = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
    part = text.partition("## Fine-tuning")[2].partition("\n## ")[0]
    (table,) = read_tables(RESULTS / "fine-tuning.md")
    rows = {(row[0], row[1].partition(",")[0], row[2]): row for row in table[2:]}
    for network, place, sentence in (
        ("universal", "streets", "from {} to {} %, a change of {} points"),
        ("paper20", "towns", "from {} to {} % on two towns with five vehicles ({})"),
    ):
        before, after = (
            rows[network, place, weights] for weights in ("as it is", "fine-tuned")
        )
        gaps = [row[6].partition(" ")[0] for row in (before, after)]
        assert sentence.format(*gaps, after[7].replace("-", "−")) in part
    scratch = rows["universal", "streets", "as from scratch"][7].replace("-", "−")
    assert f"gain {scratch} in as many steps" in part
    assert f"gap {float(rows['universal', 'towns', 'as it is'][6][:4]):.1f} %" in part


def test_the_claims_have_the_figures_of_their_pages():
    """All figures of ours in the table of claims are those of the pages beside them."""
    table = read_tables(ROOT / "docs" / "results.md")[1]
    ours = {row[0].partition(" ([")[0]: row[3] for row in table[2:]}
    verdicts = " ".join(row[1] for row in table[2:])
    pages = {
        name: read_figures(name)
        for name in (
            "paper", "attention-model", "reference", "decoding", "losses",
            "normalisation", "targets", "generalisation",
        )
    }  # fmt: skip

    def figure(page, name, label, column="length", digits=3):
        return f"{float(pages[page][name, label][column]):.{digits}f}"

    def cost(page, name, label):
        return figure(page, name, label, "cost_v", 1)

    def solved(page, name, label):
        return f"{100 * float(pages[page][name, label]['share_within']):.1f} %"

    def in_time(label):
        values = pages["targets"]["vrp100", label]
        return f"{float(values['gap']):.1f} % in {float(values['seconds']):.2g} s"

    plain, *seeds = (
        figure("losses", "strict20", f"{terms}: guaranteed")
        for terms in (
            "plain, or plain with the penalty",
            "penalty and load, seed 1 (shipped)",
            "penalty and load, seed 2",
            "penalty and load, seed 3",
        )
    )
    soft20, hard20, soft50, hard50 = (
        figure("normalisation", name, f"{kind}: guaranteed", digits=digits)
        for name, digits in (("strict20", 3), ("strict50", 2))
        for kind in ("SoftAssign", "softmax (shipped)")
    )
    assert f"{soft50} against {hard50} on VRP50" in verdicts
    fewest = cost("reference", "tight100", "HGS-CVRP, 0.1, 0.4 or 1.2 s")
    assert f"the fewest vehicles have {fewest}" in verdicts
    beam = "SoftAssign, beam 200"
    printed = "Algorithm 1 as printed, without post-processing"
    after_am = "AM, greedy, then OR-Tools"
    far = "paper50: guaranteed"
    uchoa = float(pages["generalisation"]["uchoa100", far]["length"]) / 1000
    assert ours == {
        "lengths without post-processing": figure("paper", "filled50", RAW),
        "lengths after OR-Tools, guaranteed": figure("paper", "kool20", ALL),
        "nearly all are solved": solved("paper", "filled20", RAW),
        "the repair is Algorithm 1 as printed": solved("paper", "vrp20", printed),
        "post-processing closes most of the gap": (
            f"{figure('paper', 'filled100', RAW)} to "
            f"{figure('paper', 'filled100', ALL)}"
        ),
        "a fixed fleet pays: lower Cost_v than the Attention Model": (
            f"{cost('attention-model', 'filled100', 'AM, greedy')} to "
            f"{cost('paper', 'filled100', ALL)}"
        ),
        "Cost_v of 135.5 on VRP20": cost("paper", "filled20", ALL),
        "OR-Tools makes as short plans from the Attention Model's": (
            f"{figure('paper', 'filled100', after_am)} (1,000 instances)"
        ),
        "greedy with repair beats beam search": (
            f"{solved('decoding', 'strict20', beam)} and "
            f"{figure('decoding', 'strict20', beam)}"
        ),
        "terms of the loss help": "{} to {}, {} and {}".format(plain, *seeds),
        "SoftAssign is only competitive": f"{soft20} against {hard20}",
        "faster than the labels' solver, a little longer": (
            f"gap {in_time('ours, guaranteed')}, "
            f"OR-Tools {in_time('OR-Tools, 10 s')} (10 instances)"
        ),
        "training is fast": f"{read_training_times()['paper50']['epoch_s']:.1f} s",
        "networks generalise to other sizes": (
            f"{figure('generalisation', 'vrp100', far)} (100 instances)"
        ),
        "competitive on Uchoa100": (
            f"{uchoa:.2f}, {solved('generalisation', 'uchoa100', far)} within the fleet"
        ),
    }


def test_the_results_repeat_the_page_of_deepaco():
    """docs/results.md has its gaps on VRP100, share within the fleet and time."""
    text = " ".join((ROOT / "docs" / "results.md").read_text("utf-8").split())
    figures = read_figures("deepaco")
    ants, improved, control, network = (
        figures["vrp100", label]
        for label in (
            "DeepACO, T = 100",
            "DeepACO with local search, T = 10",
            "control: distances, with local search, T = 10",
            "network, one prediction",
        )
    )
    part = text.partition("DeepACO (Ye et al.")[2]
    assert f"first {ants['runs']} instances" in part
    share = f"{100 * float(ants['share_within']):.1f} %"
    assert f"{float(ants['gap']):.2f} %, with {share} of the plans within" in part
    seconds = f"{float(improved['cpu_seconds']):.2g} s"
    assert f"has {float(improved['gap']):.2f} % in {seconds}" in part
    assert f"have {float(control['gap']):.2f} %" in part
    assert f"`universal` has {float(network['gap']):.2f} %" in part


def test_the_page_on_the_paper_repeats_the_attention_models_plans():
    """docs/paper.md has the figures of results/attention-model.md."""
    text = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    figures = read_figures("attention-model")
    for kind in ("filled", "strict", "vrp"):
        rows = [figures[f"{kind}{size}", "AM, greedy"] for size in (20, 50, 100)]
        cells = [f"{float(r['length']):.3f}, {float(r['cost_v']):.1f}" for r in rows]
        assert f"| {' | '.join(cells)} |" in text


def test_the_page_on_the_paper_repeats_the_seeds_and_the_lengths():
    """docs/paper.md has the seeds of results/losses.md, and what VRP20 lacks."""
    text = " ".join((ROOT / "docs" / "paper.md").read_text("utf-8").split())
    rows = [
        row
        for (_, label), row in read_figures("losses").items()
        if re.fullmatch(r"penalty and load, seed .*: guaranteed", label)
    ]
    least, *_, most = sorted(f"{float(row['length']):.3f}" for row in rows)
    (runs,) = {f"{int(row['runs']):,}" for row in rows}
    words = {3: "three seeds"}[len(rows)]
    assert f"{words} have {least} to {most} guaranteed on {runs} instances" in text
    figures = read_figures("paper")
    filled, kool = (
        float(figures[name, SOLVED]["length"]) for name in ("filled20", "kool20")
    )
    assert f"Ours is {filled - 6.160:.3f} longer than the log (6.160" in text
    assert f"ours is {kool:.3f} and the log 6.188, which leaves" in text
    assert f"leaves {round(kool, 3) - 6.188 - 0.012:.3f} after the thousandths" in text


@pytest.mark.slow
def test_the_page_on_the_paper_has_the_times_of_its_rows():
    """docs/paper.md says how long OR-Tools takes in the pipeline."""
    times = defaultdict(list)
    for row in Results(RESULTS / "rows-paper.jsonl.xz").rows():
        if "search" in row.details:  # kept plans have none
            times[row.method].append(row.details["search"])
    means = [f"{1000 * np.mean(times[f'paper{size}']):.0f}" for size in (20, 50, 100)]
    text = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
    assert "OR-Tools takes {}, {} and {} ms".format(*means) in text


@pytest.mark.slow
@pytest.mark.parametrize(("size", "shorter"), [(20, 0.012), (100, 0.055)])
def test_arcs_cut_to_thousandths_make_plans_shorter(size, shorter):
    """The difference that docs/paper.md states, on the first kept plans."""
    instances = {one.name: one for one in get_set(f"strict{size}", 1000).instances}
    lost = []
    for row in Results(RESULTS / "rows-paper.jsonl.xz").rows():
        if row.method == f"paper{size}" and row.instance in instances:
            instance = instances[row.instance]
            places = np.vstack([instance.depot, instance.customers])
            ways = [places[[0, *tour, 0]] for tour in row.tours]
            arcs = np.concatenate([np.hypot(*np.diff(way, axis=0).T) for way in ways])
            assert arcs.sum() == pytest.approx(row.length)
            lost.append(row.length - np.floor(1000 * arcs).sum() / 1000)
    assert len(lost) == 1000
    assert round(float(np.mean(lost)), 3) == shorter


def read_training_times():
    """Return what benchmarks/train_speed.py printed, by preset."""
    text = (RESULTS / "training-times.jsonl").read_text(encoding="utf-8")
    return {line["preset"]: line for line in map(json.loads, text.splitlines())}


def test_the_page_of_training_times_has_what_was_measured():
    """An epoch takes as long as benchmarks/train_speed.py printed."""
    measured = read_training_times()
    tables = read_tables(RESULTS / "training-times.md")
    ours = [row for table in tables for row in table if row[0].startswith("**`")]
    assert [row[0].strip("*`") for row in ours] == ["paper20", "paper50", "paper100"]
    for row in ours:
        line = measured[row[0].strip("*`")]
        assert row[1] == f"{line['epoch_s']:.3g} s"
        assert row[-1] == line["device"]
    *_, (_, _, shown, _) = read_tables(ROOT / "docs" / "training.md")
    seconds = [f"{measured[row[0].strip('*`')]['epoch_s']:.1f}" for row in ours]
    assert shown[1:] == seconds


def test_headers_name_the_machines_of_their_rows():
    """If rows were made on several machines, the header says so."""
    for path in RESULTS.glob("rows-*.jsonl.xz"):
        results = Results(path)
        machines = {row.machine for row in results.rows()}
        if len(machines) > 1:
            machines = {"several, see the rows"}
        assert {results.machine} == machines or not machines, path.name
