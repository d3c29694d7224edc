"""What can be run: headers of the experiment files, modules behind them, and options that are refused."""

import re
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from experiments import catalogue
from experiments.catalogue import COMMON_OPTIONS, CONF, check_options, entries, module_of
from experiments.composition import compose
from faultline.errors import ConfigError

FILES = sorted((CONF / "exp").glob("*.yaml"))
NAMES = [path.stem for path in FILES]


def test_every_file_is_listed_once():
    assert [entry.name for entry in entries()] == NAMES and len(NAMES) >= 2


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_the_header_says_what_it_is_how_to_run_it_and_what_it_costs(path):
    lines = path.read_text().splitlines()
    assert lines[0] == "# @package _global_"
    assert lines[1].startswith(f"# python -m experiments.run +exp={path.stem}")
    assert re.fullmatch(r"# [A-Z].{20,}", lines[2])
    assert lines[3].startswith("# cost: ")
    entry = next(e for e in entries() if e.name == path.stem)
    assert entry.about == lines[2].removeprefix("# ") and entry.cost == lines[3].removeprefix("# cost: ")
    assert "model" in entry.cost


@pytest.mark.parametrize("name", NAMES)
def test_it_composes_and_its_module_is_whole(name):
    cfg = compose([f"+exp={name}"])
    module = module_of(cfg.experiment)
    assert isinstance(module, ModuleType) and module.__doc__
    assert set(module.OPTIONS) <= COMMON_OPTIONS | {str(key) for key in cfg}
    assert all(callable(getattr(module, part)) for part in ("plan", "run", "summary"))


def test_no_experiment_names_those_there_are():
    for nothing in (None, ""):
        with pytest.raises(ConfigError, match=r"no experiment; give \+exp=NAME with one of: .*charm_demo"):
            module_of(nothing)


def test_an_unknown_module_names_those_there_are():
    with pytest.raises(ConfigError, match=r"experiment=charm_evil: no such module; use .* charm_hotpot"):
        module_of("charm_evil")


def test_a_module_that_lacks_a_package_is_not_called_unknown(tmp_path, monkeypatch):
    import experiments

    (tmp_path / "half_done.py").write_text("import a_package_that_is_not_there\n")
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(tmp_path)])
    with pytest.raises(ModuleNotFoundError, match="a_package_that_is_not_there"):
        module_of("half_done")


def test_an_option_that_would_be_ignored_is_refused():
    module = SimpleNamespace(OPTIONS=frozenset({"limit", "seed"}))
    check_options(module, "demo", {"limit": 3, "runs_dir": "x", "overwrite": "always", "exp": "demo"})
    with pytest.raises(ConfigError, match="paired: demo does not use it; it understands limit, seed"):
        check_options(module, "demo", {"limit": 3, "paired": True})
    with pytest.raises(ConfigError, match="it understands none"):
        check_options(SimpleNamespace(OPTIONS=()), "demo", {"seed": 1})


@pytest.mark.parametrize("option", sorted(COMMON_OPTIONS))
def test_every_common_option_is_in_the_configuration(option):
    assert option in compose([])


def test_a_file_without_a_description_is_an_empty_line(tmp_path, monkeypatch):
    (tmp_path / "exp").mkdir()
    (tmp_path / "exp" / "bare.yaml").write_text("# @package _global_\nexperiment: x\n")
    monkeypatch.setattr(catalogue, "CONF", tmp_path)
    assert entries() == [catalogue.Entry("bare", "", "")]


@pytest.mark.parametrize("argument", ["--list", "--help"])
def test_listing_needs_no_torch(argument):
    code = (
        "import sys\nfrom experiments.run import main\n"
        f"assert main([{argument!r}]) == 0\n"
        "heavy = {'torch', 'transformers', 'lightning', 'wandb', 'faiss'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in (NAMES if argument == "--list" else ["+exp=NAME"]))
