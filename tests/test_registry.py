"""Tests of names for parts that can be exchanged."""

from __future__ import annotations

import json

import pytest

from fixedfleet.errors import InputError
from fixedfleet.registry import Registry, add_parts, own_parts, source_hash


@pytest.fixture
def registry() -> Registry:
    """A registry with one built-in part, a function of the standard library."""
    return Registry("codec", {"json": "json:dumps"})


def test_a_built_in_part_is_imported_by_its_name(registry):
    """A built-in name leads to the object that it stands for."""
    assert registry.get("json") is json.dumps


def test_an_own_part_is_registered_by_a_decorator(registry):
    """A decorated function is found by its name and listed after the built-in ones."""

    @registry.register("own")
    def encode(value):
        return value

    assert registry.get("own") is encode
    assert registry.names() == ["json", "own"]


def test_own_parts_reach_another_process(registry):
    """What a user registers is found by a registry that is made later, elsewhere."""
    registry.register("typed")(str.upper)
    parts = own_parts()
    assert parts["codec"] == {"typed": str.upper}
    add_parts({"codec": {"sent": str.lower}, "later": {"sent": str.title}})
    assert registry.get("sent") is str.lower
    assert Registry("later", {}).get("sent") is str.title


def test_the_source_of_an_own_part_has_a_hash(registry, tmp_path):
    """The hash follows the file of a part; what has no source of a user has none."""
    path = tmp_path / "own_source.py"
    path.write_text("def one():\n    return 1\n")
    part = registry.get(f"{path}:one")
    before = source_hash(part)
    assert len(before) == 8
    path.write_text("def one():\n    return 2\n")
    assert source_hash(part) not in ("", before)
    typed: dict = {"__name__": "__main__"}
    exec(compile("def two():\n    return 2\n", "<typed>", "exec"), typed)
    for nothing in (typed["two"], None, 3, Registry):
        assert source_hash(nothing) == ""


def test_a_part_may_be_given_as_an_object(registry):
    """What is not a name is the part itself."""
    assert registry.get(str) is str


def test_a_part_in_a_file_is_named_by_path_and_name(registry, tmp_path):
    """``module.py:Name`` loads the file once, so that its state is kept."""
    path = tmp_path / "own_codec.py"
    path.write_text("class Codec:\n    pass\n")
    assert registry.get(f"{path}:Codec").__name__ == "Codec"
    assert registry.get(f"{path}:Codec") is Registry("codec", {}).get(f"{path}:Codec")


def test_parts_of_files_reach_another_process(registry, tmp_path):
    """What was loaded by path and name is known there by the same reference."""
    path = tmp_path / "own_travelling.py"
    path.write_text("def encode(value):\n    return value\n")
    reference = f"{path}:encode"
    part = registry.get(reference)
    assert own_parts()["codec"][reference] is part
    assert registry.names() == ["json"]
    elsewhere = Registry("codec", {})
    assert not elsewhere.knows(reference)
    add_parts(own_parts() | {"codec": {reference: part}})
    assert elsewhere.get(reference) is part


def test_a_reference_is_known_once_it_was_loaded(registry, tmp_path):
    """Names are known at once, a reference only after it was asked for."""
    path = tmp_path / "own_codec.py"
    path.write_text("class Codec:\n    pass\n")
    assert registry.knows("json")
    assert not registry.knows(f"{path}:Codec")
    registry.get(f"{path}:Codec")
    assert registry.knows(f"{path}:Codec")


def test_an_unknown_name_lists_the_known_ones(registry):
    """A typing error is answered with the names there are."""
    with pytest.raises(InputError, match=r"unknown codec 'jsn': choose from json, or"):
        registry.get("jsn")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("nowhere.py:Codec", "there is no file 'nowhere.py'"),
        ("no_such_module:Codec", "there is no module 'no_such_module'"),
        ("json:no_such", "json has no 'no_such'"),
    ],
)
def test_a_reference_that_leads_nowhere_says_what_is_missing(
    registry, reference, message
):
    """The error tells a missing file, module and name apart."""
    with pytest.raises(InputError, match=message):
        registry.get(reference)


def test_an_error_inside_an_own_file_is_shown_as_it_is(registry, tmp_path):
    """A fault in the user's file is not reported as a missing name."""
    path = tmp_path / "broken_codec.py"
    path.write_text("import no_such_package_here")
    with pytest.raises(ModuleNotFoundError, match="no_such_package_here"):
        registry.get(f"{path}:Codec")


@pytest.mark.parametrize("name", ["a:b", "json"])
def test_a_name_that_cannot_be_registered_is_refused(registry, name):
    """Built-in names stay what they are, and a colon marks a reference."""
    with pytest.raises(InputError, match=name):
        registry.register(name)
