# Two commands do everything on a fresh machine: `make ask` runs the main job, `make test` passes the tests.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
QUESTION ?= When did Titanic come out?

.PHONY: ask test lint setup clean

ask: $(VENV)/.ready
	@$(BIN)/polyqa ask "$(QUESTION)"

test: $(VENV)/.ready-dev
	$(BIN)/python -m pytest

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

setup: $(VENV)/.ready

# torch is named first and pinned to an exact version: so pip takes the CPU build.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 -e . -c constraints.txt
	@touch $@

$(VENV)/.ready: $(VENV)/.installed evaluation/homonyms/corpus.jsonl
	$(BIN)/polyqa setup
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]" -c constraints.txt
	@touch $@

clean:
	rm -rf $(VENV) colbert_index/indexes embedded_models/checkpoints
