# Three commands do everything on a fresh machine: `make ask` runs the main job, `make test` passes the tests, `make
# ask-lm` installs the extra `local`, pulls the model, and answers with a real language model.
# `make test` leaves out the tests that are marked `slow`; `make test-all` runs every test, and pulls a small language
# model for them (98 MB).
# `make docs` builds docs/ as a site in site/; `make figures` fills the figures in the documents from their sources.
# `make lessons` runs the lessons and keeps what they print; `LESSONS="3 4"` names some.
# `make fuzz MINUTES=60` runs the property tests again and again, each time with a new seed, until the time is over;
# `make fuzz SEED=7` runs them once, with that seed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
QUESTION ?= When did Titanic come out?
MINUTES ?= 10
SEED ?=
LESSONS ?=
# One worker more than cores, as tests also wait for servers and processes, but four at most;
# a worker takes up to 2 GB of memory. Tests of more than 3 seconds are listed at the end.
WORKERS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 1)))
PYTEST := $(BIN)/python -m pytest -q -p no:cacheprovider --numprocesses $(WORKERS) --maxprocesses 4 --dist worksteal \
	--durations 25 --durations-min 3

.PHONY: ask ask-lm test test-all fuzz lint docs figures lessons setup clean

ask: $(VENV)/.ready
	@$(BIN)/polyqa ask "$(QUESTION)"

ask-lm: $(VENV)/.ready-lm
	@$(BIN)/polyqa ask "$(QUESTION)" --lm local

test: $(VENV)/.ready-dev
	$(PYTEST) -m "not slow"

test-all: $(VENV)/.ready-dev
	$(BIN)/polyqa model pull smollm2-135m
	$(PYTEST)

fuzz: $(VENV)/.ready-dev
	@end=$$(($$(date +%s) + 60 * $(MINUTES))); \
	while seed="$(SEED)"; seed=$${seed:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
		echo "seed $$seed"; \
		$(BIN)/python -m pytest -qx -m hypothesis --hypothesis-profile=long --hypothesis-seed=$$seed $(TESTS) \
			|| { echo "to repeat it: make fuzz SEED=$$seed"; exit 1; }; \
		[ -z "$(SEED)" ] && [ $$(date +%s) -lt $$end ]; \
	do :; done

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

# Never with --quiet: strict mode counts no warning that is not shown.
docs: $(VENV)/.ready-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

figures: $(VENV)/.ready-dev
	$(BIN)/python -m lab.figures

lessons: $(VENV)/.ready-dev
	$(BIN)/python lessons/build.py $(LESSONS)

setup: $(VENV)/.ready

# torch is named first and pinned to an exact version: so pip takes the CPU build.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) torch==2.13.0 -e . -c constraints.txt
	@touch $@

$(VENV)/.ready: $(VENV)/.installed polyqa/evaluation/homonyms/corpus.jsonl
	$(BIN)/polyqa setup
	@touch $@

$(VENV)/.ready-lm: $(VENV)/.ready
	$(PIP) -e ".[local]" -c constraints.txt
	$(BIN)/polyqa model pull
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	$(PIP) -e ".[dev,docs]" -c constraints.txt
	@touch $@

clean:
	rm -rf $(VENV) site colbert_index/indexes polyqa/models/checkpoints polyqa/models/language-models
