"""What the documentation tells its readers to do works."""

from __future__ import annotations

import importlib
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.cli import build_parser, main
from fixedfleet.fleet import assess_batch

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    path
    for folder in (
        ROOT,
        ROOT / "docs",
        ROOT / "examples",
        ROOT / "experiments",
        ROOT / "results",
        ROOT / "results" / "notes",
    )
    for path in folder.glob("*.md")
)
NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))
TUTORIALS = ("tutorial_dispatcher", "tutorial_researcher")
CARDS = sorted((ROOT / "src" / "fixedfleet" / "model" / "shipped").glob("*.md"))
_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ASSIGNMENT = re.compile(r"[A-Z_]+=\S*")
# A block behind such a comment needs more than a reader of the page has.
_NOT_RUN = re.compile(r"^<!-- not run: .* -->\n```.*?^```$", re.DOTALL | re.MULTILINE)
_LIMIT = re.compile(r"(--time-limit |time_limit=)([1-9][\d.]*)")
_OURS = re.compile(r"([A-Z_]+=\S* )*(fixedfleet|torchrun|python) ")


def text_of(name: str) -> str:
    """The text of a page of the documentation."""
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page in order, each with its language."""
    return [
        (language, textwrap.dedent(body)) for _, language, body in _FENCE.findall(text)
    ]


def unfenced(text: str) -> str:
    """The text of a page without its fenced blocks."""
    return _FENCE.sub("", text)


def lines_of(language: str, block: str) -> list[str]:
    """The lines of a block that are typed, with those that go on put together."""
    lines = re.sub(r"\\\n\s*", "", block).splitlines()
    if language == "console":
        return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return [line for line in lines if line.strip() and not line.startswith("#")]


def typed_lines(text: str) -> list[str]:
    """What of ours a page tells its reader to type, in blocks fenced or indented."""
    found = []
    for language, block in blocks(text):
        if language in ("sh", "console"):
            found += lines_of(language, block)
    indented = re.findall(r"^    (?:\$ )?(.*)$", unfenced(text), re.MULTILINE)
    found += lines_of("sh", "\n".join(indented))
    return [line for line in found if _OURS.match(line)]


def words_of(line: str) -> list[str]:
    """The words of the first command of a line, without what is set before it."""
    words = shlex.split(line, comments=True)
    ends = [place for place, word in enumerate(words) if word in ("|", "||", "&&")]
    words = words[: min(ends, default=len(words))]
    while words and _ASSIGNMENT.fullmatch(words[0]):
        del words[0]
    return words


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with the examples in it, as a reader would stand in."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Commands


def _check_fixedfleet(words: list[str]) -> None:
    """Let the command line parse a command, and the names in it be looked up."""
    arguments = build_parser().parse_args(words)
    if words[0] == "evaluate":
        from fixedfleet.evaluate import get_method

        for spec in arguments.method:
            if not spec.startswith("command:"):  # readers have programs of their own
                get_method(spec)


def _check_experiments(words: list[str]) -> None:
    """Let the experiments parse their options, and look up the names of tables."""
    from experiments.__main__ import NAMES, _parser

    assert set(_parser().parse_args(words).name) <= {*NAMES, "all"}


def _check_script(words: list[str]) -> None:
    """Look for a benchmark and for the options it is given."""
    script = text_of(words[0])
    for word in words[1:]:
        if word.startswith("--"):
            assert f'"{word.partition("=")[0]}"' in script, f"{words[0]}: {word}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_is_to_be_typed_can_be(path):
    """Each command of a page is one that the command line, or a benchmark, takes."""
    for line in typed_lines(path.read_text(encoding="utf-8")):
        words = words_of(line)
        if words[0] == "fixedfleet":
            _check_fixedfleet(words[1:])
        elif words[0] == "torchrun":
            _check_fixedfleet(words[words.index("fixedfleet") + 1 :])
        elif words[1:3] == ["-m", "experiments"]:
            _check_experiments(words[3:])
        elif words[1].startswith("benchmarks/"):
            _check_script(words[1:])


def test_the_readme_shows_the_commands_of_every_user():
    """The README has a line to be typed for dispatchers and for researchers."""
    shown = {words_of(line)[1] for line in typed_lines(text_of("README.md"))}
    assert shown >= {"serve", "solve", "fleet", "evaluate", "-m", "label"}


# What is run


def run_line(line: str) -> None:
    """Run a line as if it were typed, and hold it to the exit code it announces."""
    words = words_of(line)
    said = re.search(r"# exit code (\d+)", line)
    if words[0] == "fixedfleet":
        code = main(words[1:])
    else:
        assert words[0] == "python", line
        done = subprocess.run(
            [sys.executable, *words[1:]], capture_output=True, text=True, timeout=300
        )
        code = done.returncode
        assert code == 0, done.stderr
    assert code == (int(said[1]) if said else 0), line


def hurried(text: str) -> str:
    """Let searches take a fifth of the seconds that they are given."""
    return _LIMIT.sub(lambda limit: f"{limit[1]}{float(limit[2]) / 5}", text)


def run_page(name: str) -> dict[str, object]:
    """Run the blocks of a page in order; return what its Python defines."""
    names: dict[str, object] = {"__name__": "__main__"}
    for language, block in blocks(hurried(_NOT_RUN.sub("", text_of(name)))):
        if file := re.match(r"# (\w+\.(?:py|toml))\n", block):
            Path(file[1]).write_text(block, encoding="utf-8")
        if language == "csv" and (file := re.match(r"# name: (\w+)\n", block)):
            Path(f"{file[1]}.csv").write_text(block, encoding="utf-8")
        elif language == "python":
            exec(compile(block, name, "exec"), names)
        elif language == "sh":
            for line in lines_of(language, block):
                run_line(line)
    return names


@pytest.mark.slow
def test_the_tutorial_of_dispatchers_runs(folder, capsys):
    """What a dispatcher is told to type gives the plans and verdicts that are shown."""
    pytest.importorskip("matplotlib")
    run_page("docs/tutorial_dispatcher.md")
    out = capsys.readouterr().out
    assert (
        "6 vehicles: impossible, the demands sum to 5539.6, but the fleet carries 5100"
        in out
    )
    assert "with 6 vehicles 3 of 63 customers are left out" in out
    assert "total: 3 of 3 vehicles, length 61.1496" in out
    assert "total: 2 of 3 vehicles, length 80.0998" in out
    leipzig = ff.read("examples/leipzig_parcels.csv")
    assert ff.read_plan("seven.csv").is_feasible(leipzig)
    cologne = ff.read("examples/getraenke_koeln.csv", 4, capacity=950)
    for name in ("today.xlsx", "better.csv"):
        assert ff.read_plan(name).is_feasible(cologne)


@pytest.mark.slow
def test_the_tutorial_of_researchers_runs(folder):
    """Generating, labelling and training work as described."""
    for package in ("torch", "safetensors", "scipy"):
        pytest.importorskip(package)
    from fixedfleet.model import load_model

    run_page("docs/tutorial_researcher.md")
    assert load_model(str(folder / "runs/tiny/model.safetensors")).config.layers == 2


# The other pages with blocks to run, and what holds of the names in them afterwards.
RUN = {
    "README.md": "result.plan.check(instance) == [] and many.feasible.all()",
    "docs/bound.md": "found.is_optimal and str(found) in open(page).read()",
    "docs/day.md": "not plan.check(instance) and str(verdict) in"
    " open(page).read().replace('    ', '')",
    "docs/decoding.md": "not plan.check(instance) and plans.feasible(instances).all()",
    "docs/evaluation.md": "METHODS.get('nearest') is Nearest",
    "docs/fleet.md": "str(verdict) in open(page).read().replace('    ', '')",
    "docs/formats.md": "reading.notes[-1] == 'fleet of 8 vehicles, as asked for'"
    " and (again.demands == days.demands).all() and plans.feasible(again).all()",
    "docs/generators.md": "generate.draw('ring', 20, 3, seed=1).capacity[0] == 50",
    "docs/labels.md": "plans.feasible(batch)[labelled].all()",
    "docs/network.md": "load_model('mine.safetensors').config.normalisation == 'sharp'",
    "docs/own_training.md": "len(losses) == 20"
    " and 'Nearness' in NETWORKS.name_of(type(network))",
    "docs/search.md": "plan.is_feasible(instance) and found.plan.is_feasible(instance)"
    " and ff.solve(instance, search='reversed').feasible",
    "examples/README.md": "True",
    "results/fixed-fleets.md": "len(fits) == 200",
}


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_what_a_page_shows_runs(page, folder, monkeypatch):
    """The Python of a page, and its commands that are not marked as long, run."""
    for package in ("torch", "safetensors", "matplotlib"):
        pytest.importorskip(package)
    from fixedfleet.evaluate import METHODS
    from fixedfleet.generate import DISTRIBUTIONS
    from fixedfleet.model import NETWORKS, NORMALISATIONS
    from fixedfleet.planning import DECODERS
    from fixedfleet.search import SEARCHES
    from fixedfleet.training import LOSSES

    models = NETWORKS, NORMALISATIONS, LOSSES, DECODERS
    for registry in (SEARCHES, METHODS, DISTRIBUTIONS, *models):
        monkeypatch.setattr(registry, "_parts", dict(registry._parts))
    assert eval(RUN[page], run_page(page), {"page": ROOT / page})


def test_every_block_is_run_or_marked():
    """A page with a block that could be run is run by a test of its own or above."""
    own = {f"docs/{name}.md" for name in ("service", *TUTORIALS)}
    found = {
        path.relative_to(ROOT).as_posix()
        for path in PAGES
        for language, _ in blocks(_NOT_RUN.sub("", path.read_text(encoding="utf-8")))
        if language in ("python", "sh")
    }
    assert found == own | RUN.keys()


def test_examples_import_public_names():
    """What pages and notebooks import is in the list of public names of its module."""
    pytest.importorskip("torch")
    imported = re.compile(r"from (fixedfleet[\w.]*) import (?:\(([^)]*)\)|([\w, ]+))")
    parts = set(re.findall(r"::: fixedfleet\.(\w+)", text_of("docs/api_parts.md")))
    for path in (*PAGES, *NOTEBOOKS):
        text = path.read_text(encoding="utf-8").replace("\\n", "\n")
        for module, several, few in imported.findall(text):
            names = set(re.findall(r"\w+", several or few))
            found = importlib.import_module(module)
            known = {*getattr(found, "__all__", vars(found))}
            known |= parts if module == "fixedfleet" else set()
            assert names <= known, f"{path.name}: {module}"


def test_named_settings_exist():
    """Each setting of a preset and each normalisation that a page names exists."""
    pytest.importorskip("torch")
    from fixedfleet.model import NORMALISATIONS
    from fixedfleet.training import get_preset

    known = {"model.safetensors"}
    for preset in map(get_preset, ("paper20", "universal")):
        for table in ("model", "loss", "training"):
            known |= {f"{table}.{name}" for name in preset.to_dict()[table]}
    for page in sorted((ROOT / "docs").glob("*.md")):
        spans = re.findall(r"`([^`\n]+)`", unfenced(page.read_text(encoding="utf-8")))
        named = re.findall(r"\b(?:model|loss|training)\.[a-z_]+", " ".join(spans))
        assert set(named) <= known, page.name
    (softmax,) = re.findall(r"^\| softmax .*$", text_of("docs/paper.md"), re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", softmax)) == set(NORMALISATIONS.names())


def test_the_scale_of_the_test_instances():
    """docs/paper.md says by how much scaling enlarges the test instances."""
    grown = []
    for size in (20, 50, 100):
        points = ff.generate.test_set(size).coordinates
        sides = np.ptp(points, axis=1).max(1)
        assert (sides < 1).all()
        grown.append(round(100 * float((1 / sides).mean() - 1)))
    said = "enlarges them by {}, {} and {} % on average".format(*grown)
    assert said in text_of("docs/paper.md")


@pytest.mark.slow
def test_what_is_decided_without_the_exact_search(shared):
    """docs/fleet.md says on which test instances and files steps 1 to 4 are enough."""
    for size in (20, 50, 100):
        batch = ff.generate.test_set(size, reject=False)
        assert "undecided" not in assess_batch(batch, time_limit=0).statuses
    files = [
        path for part in "AX" for path in (shared / "cvrplib" / part).glob("*.vrp")
    ]
    undecided = []
    for path in sorted(files):
        instance = ff.read(path)
        verdict = ff.assess_fleet(instance, time_limit=0)
        if verdict.smallest is None:
            undecided.append(path.stem)
            verdict = ff.assess_fleet(instance, time_limit=30)
        assert path.stem.endswith(f"-k{verdict.smallest}")
    decided = len(files) - len(undecided)
    text = text_of("docs/fleet.md")
    assert f"{decided} of {len(files)} instances of CVRPLIB" in text
    assert f"decides the other two ({' and '.join(undecided)})" in text


@pytest.mark.slow
def test_the_example_of_the_api_runs(folder, capsys):
    """examples/api.py prints the verdict and a line for each of the seven vans."""
    runpy.run_path(str(folder / "examples" / "api.py"))
    out = capsys.readouterr().out
    assert "7 vehicles: feasible" in out
    assert out.count("of 850 kg") == 7


# Links


@cache
def anchors(path: Path) -> set[str]:
    """The anchors of a page, made of its headings as GitHub makes them."""
    text = unfenced(path.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("path", [*PAGES, *CARDS], ids=lambda path: path.stem)
def test_links_lead_somewhere(path):
    """A link to another file, a picture or a heading finds it."""
    for link in _LINK.findall(unfenced(path.read_text(encoding="utf-8"))):
        if "://" in link:
            continue
        name, _, heading = link.partition("#")
        target = path if not name else (path.parent / name).resolve()
        assert target.exists(), f"{path.name}: {link}"
        if heading:
            assert heading in anchors(target), f"{path.name}: {link}"


def test_the_files_of_each_call_exist():
    """CONTRIBUTING follows each call through files that exist."""
    _, _, calls = text_of("CONTRIBUTING.md").partition("## How to follow a call")
    package = ROOT / "src" / "fixedfleet"
    there = [f"/{path.relative_to(package)}" for path in package.rglob("*.*")]
    for name in re.findall(r"`([\w/]+\.(?:py|cu|toml))`", calls.partition("\n## ")[0]):
        assert any(path.endswith(f"/{name}") for path in there), name


def test_every_page_is_in_the_index():
    """docs/README.md leads to every other page of docs/ and to every notebook."""
    linked = set(_LINK.findall(text_of("docs/README.md")))
    pages = {*(ROOT / "docs").glob("*.md"), *NOTEBOOKS}
    assert {path.name for path in pages} - {"README.md"} <= linked


def test_a_checkout_is_installed_with_the_tested_versions():
    """Without the constraints, pip takes gigabytes of CUDA packages with torch.

    Without -e, it installs a wheel, which does not have the paper's networks.
    """
    commands = [
        line
        for page in (*PAGES, *NOTEBOOKS)
        for line in page.read_text(encoding="utf-8").splitlines()
        if re.search(r"pip install .*'\.\[", line)
    ]
    assert len(commands) >= 6
    commands = [line for line in commands if "[network,gpu]" not in line]  # CUDA
    assert [line for line in commands if "-c constraints.txt -e '.[" not in line] == []


def test_pictures_stay_small():
    """No picture or notebook of the documentation takes long to load."""
    for path in (*(ROOT / "docs").glob("*.png"), *NOTEBOOKS):
        assert path.stat().st_size < 250_000, path.name
