# Needs Python 3.11 or newer, pip and make; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

# Every script in benchmarks/ is in one of these, so that "make smoke" or "make smoke-deep" runs it.
BENCHMARKS := step product learners learner_costs samples records
BENCHMARKS_DEEP := sb3_buffer deep network_inputs files_entered
BENCHMARKS_LONG := unrolling algorithm_1 continuous deviation sb3_shares qrmax defaults
BENCHMARKS_FUZZ := fuzz

.PHONY: help reproduction demo test test-fast test-faults test-model test-llm test-ray test-sb3 check format docs pictures \
	bench bench-deep bench-long fuzz smoke smoke-deep clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

demo: $(VENV)/.core  ## compile a language, run a word, train two learners, draw the machine and the curves
	@mkdir -p out
	@$(BIN)/cranium compile "A^N B C D^N" -o out/task.yaml --draw out/task.png
	@$(BIN)/cranium check out/task.yaml
	@$(BIN)/cranium run out/task.yaml "A A B C D D"
	@$(BIN)/cranium solve Letter out/task.yaml
	@$(BIN)/cranium train Letter out/task.yaml --learner planner --learner cql --until-solved --evaluate-every 20 --curve out/curves.png

test: $(VENV)/.dev  ## all tests but those of the targets below
	$(BIN)/python -m pytest -n auto -m "not sb3 and not ray and not faults and not local_model and not llm"

test-fast: $(VENV)/.dev  ## the tests of make test that are not marked slow: while you work
	$(BIN)/python -m pytest -n auto -m "not slow and not sb3 and not ray and not faults and not local_model and not llm"

test-model: $(VENV)/.dev  ## the tests that need a small language model (fetches 98 MB)
	$(BIN)/python -m pytest -m local_model tests/assist src/cranium/assist

test-faults: $(VENV)/.ray  ## processes are killed at random moments, disks are full, caches and records damaged (2 hours; FAULTS=3 is short)
	FAULTS=$${FAULTS:-20} $(BIN)/python -m pytest -m "" tests/faults

test-ray: $(VENV)/.ray  ## the tests that need Ray: a cluster on this machine
	$(BIN)/python -m pytest -m ray

test-sb3: $(VENV)/.sb3  ## the tests that need Stable-Baselines3 (installs torch, 1 GB)
	$(BIN)/python -m pytest -m sb3

test-llm: $(VENV)/.dev  ## how many tasks a real language model gets right (fetches 1.1 GB, takes an hour)
	$(BIN)/python -m pytest -m llm -s tests/assist

check: $(VENV)/.dev  ## lint, formatting, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## put the code in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.docs  ## the documentation, into docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

pictures: $(VENV)/.core  ## the pictures and the JSON Schema that the documentation shows
	@mkdir -p docs/pictures
	$(BIN)/cranium draw library:anbcn -o docs/pictures/anbcn.svg
	$(BIN)/cranium draw library:office -o docs/pictures/office.svg
	$(BIN)/cranium worlds Office --draw docs/pictures/office-map.png > /dev/null
	$(BIN)/python docs/pictures/architecture.py docs/pictures/architecture.svg
	$(BIN)/python docs/pictures/replay.py docs/pictures/replay.png
	$(BIN)/cranium worlds Craft --draw docs/pictures/craft-map.png > /dev/null
	$(BIN)/cranium worlds Water --draw docs/pictures/water-map.png > /dev/null
	$(BIN)/cranium train Letter anbcdn --learner planner --learner cql --learner ql --until-solved --evaluate-every 20 --curve docs/pictures/learning.svg > /dev/null
	$(BIN)/python -c 'import cranium, json; print(json.dumps(cranium.automaton_schema(), indent=2, ensure_ascii=False))' > docs/automaton.schema.json

reproduction: $(VENV)/.dev  ## the paper's experiments, and their figures for the documentation (70 minutes)
	$(BIN)/cranium reproduce all
	$(BIN)/cranium report
	for name in letter letter-paper complexity reward-machines deep natural-language; do cp results/$$name/$$name.svg docs/pictures/; done
	cp results/office/office.svg docs/pictures/office-curves.svg
	cp results/natural-language/machine-words.svg docs/pictures/

bench: $(VENV)/.bench  ## speed, as ratios against peers in the same run
	for name in $(BENCHMARKS); do $(BIN)/python benchmarks/$$name.py || exit 1; done

bench-deep: $(VENV)/.sb3 $(VENV)/.bench  ## the same for networks (installs torch, 1 GB)
	for name in $(BENCHMARKS_DEEP); do $(BIN)/python benchmarks/$$name.py || exit 1; done

bench-long: $(VENV)/.sb3 $(VENV)/.bench  ## what is learned with which settings (two hours)
	for name in $(BENCHMARKS_LONG); do $(BIN)/python benchmarks/$$name.py || exit 1; done

fuzz: $(VENV)/.dev  ## a million changed files and texts: only errors of ours, none over 10 s or 2 GB (an hour)
	$(BIN)/python benchmarks/fuzz.py --inputs 1000000

smoke: $(VENV)/.bench  ## does every benchmark still run? In its smallest form (a minute)
	for name in $(BENCHMARKS) $(BENCHMARKS_FUZZ); do $(BIN)/python benchmarks/$$name.py --smoke || exit 1; done

smoke-deep: $(VENV)/.sb3 $(VENV)/.bench  ## the same for networks (installs torch, 1 GB; three minutes)
	for name in $(BENCHMARKS_DEEP) $(BENCHMARKS_LONG); do $(BIN)/python benchmarks/$$name.py --smoke || exit 1; done

clean:  ## remove what make made
	rm -rf $(VENV) out docs/_build

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Cranium needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.core

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@

$(VENV)/.ray: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev,ray]'
	@touch $@ $(VENV)/.dev $(VENV)/.core

# Only this torch is small: with any other version pip would fetch gigabytes of GPU libraries.
$(VENV)/.sb3: pyproject.toml | $(VENV)/.dev
	$(BIN)/python -m pip install --quiet torch==2.13.0
	$(BIN)/python -m pip install --quiet --editable '.[sb3]'
	@touch $@

# The peer wants torch and stable-baselines3, which its automata and its tabular agents do not use:
# only what they need.
$(VENV)/.bench: pyproject.toml | $(VENV)/.core
	$(BIN)/python -m pip install --quiet --no-deps pyrewardmachines==1.1.1
	$(BIN)/python -m pip install --quiet 'numpy>=2' tqdm
	@touch $@
