"""Evaluations on a real Ray cluster, started here."""

from __future__ import annotations

import pytest

from fixedfleet.evaluate import Results, evaluate

pytestmark = pytest.mark.slow


def test_a_cluster_gives_the_rows_that_processes_give(cluster, fakes, tmp_path):
    """Rows from a cluster are those of processes, faults and lost workers included."""
    wrong = {"b": "raise", "d": "die", "e": "beyond"}
    methods = [
        fakes.FirstFit(wrong=wrong),
        fakes.FirstFit(name="many", batch=4, limits=()),
    ]
    letters = fakes.make_set(6)
    done = evaluate(
        [letters], methods, [0.2], tmp_path / "ray", engine="ray", processes=2
    )
    evaluate([letters], methods, [0.2], tmp_path / "processes", processes=2)
    one, two = (
        {row.key: row for row in Results(tmp_path / name).rows()}
        for name in ("ray", "processes")
    )
    assert done.new == len(one) == 12
    assert one.keys() == two.keys()
    for key, row in one.items():
        assert (row.length, row.served) == (two[key].length, two[key].served)
        assert (row.fault is None) == (two[key].fault is None)
    lost = one["d", "first_fit", "length", 0.2, None, 0]
    assert "Ray worker was lost" in lost.fault


def test_a_job_that_hangs_on_a_cluster_is_ended(cluster, fakes, tmp_path, monkeypatch):
    """A run past its limit is cancelled and recorded, and the others go on."""
    monkeypatch.setattr("fixedfleet.evaluate.runner._GRACE", 3.0)
    monkeypatch.setattr("fixedfleet.evaluate.runner._WARMING", 5.0)
    done = evaluate(
        [fakes.make_set(3)],
        [fakes.FirstFit(wrong={"b": "hang"})],
        [0.1],
        tmp_path / "rows",
        engine="ray",
        processes=1,
    )
    rows = {row.instance: row for row in Results(tmp_path / "rows").rows()}
    assert (done.new, done.faults) == (3, 1)
    assert rows["b"].fault.startswith("stopped after ")
    assert rows["c"].fault is None
