"""The examples that come with the service."""

from __future__ import annotations

from pathlib import Path

from fixedfleet.serve.shipped import examples


def test_the_examples_can_be_planned(client):
    """Each example is listed and can be sent as it is; one has too small a fleet."""
    verdicts = {}
    for listed in client.get("/examples").json():
        example = client.get(f"/examples/{listed['name']}").json()
        assert example["title"] == listed["title"] and "text" not in listed
        read = client.post("/instances", json={"text": example["text"]}).json()
        assert len(read["instance"]["demands"]) == listed["customers"]
        assert read["instance"]["vehicles"] == example["vehicles"]
        assert read["instance"]["capacity"] == example["capacity"]
        verdicts[listed["name"]] = read["verdict"]
    assert verdicts["leipzig_parcels"]["status"] == "feasible"
    assert verdicts["bakery_round"]["status"] == "impossible"
    assert verdicts["bakery_round"]["smallest"] == 4
    assert verdicts.keys() == examples().keys()


def test_the_shipped_example_is_the_documented_one():
    """The example in the package is the one in the folder of examples."""
    path = Path(__file__).parents[2] / "examples" / "leipzig_parcels.csv"
    assert examples()["leipzig_parcels"].text == path.read_text(encoding="utf-8")


def test_an_unknown_example_is_not_found(client):
    """An example that does not exist is a 404 that lists those that do."""
    answer = client.get("/examples/none")
    assert answer.status_code == 404 and "leipzig_parcels" in answer.json()["error"]
