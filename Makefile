# Two commands: `make gate` measures with the embedded profile, `make test` runs the project's own tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed

.PHONY: gate test builds docs lint types layers check mutants clean

gate: $(READY)
	$(BIN)/pytest suites --mtp --mtp-json mtp-report.json $(ARGS)

test: $(READY)
	$(BIN)/pytest tests $(ARGS)

# Compiles the further builds that slow tests want: once, about ten minutes each on two cores.
builds: $(READY)
	MTP_TEST_BUILDS=make $(BIN)/pytest tests/real/test_builds.py $(ARGS)

# The pages as a site, in docs/_build/html; what they take from the code is made anew first.
docs: $(READY)
	$(BIN)/python -m docs.generate
	$(BIN)/python -m sphinx -W --keep-going -n -q docs docs/_build/html $(ARGS)
	@echo "docs/_build/html/index.html"

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

layers: $(READY)
	$(BIN)/lint-imports

check: lint types layers

# Which mistakes in the modules that decide would no test notice? Some minutes; ARGS="tau --list" and so on.
mutants: $(READY)
	$(BIN)/python -m pip install --quiet --group mutants
	$(BIN)/python scripts/mutants.py $(ARGS)

# Installed again only when pyproject.toml changes.
$(READY): pyproject.toml
	@$(PYTHON) -m venv $(VENV) || { echo "python3 -m venv failed: install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[report,nightly]' --group dev
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
