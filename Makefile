# Each target's line after "##" is its help text; a line starting with "##@" opens a group. See `make help`.
PYTHON ?= python3
BIN := .venv/bin
T ?= tests
ARGS ?=
# Two workers pay off for the whole suite only; one file or test starts faster without them.
WORKERS ?= $(if $(filter tests,$(T)),2,0)
BENCHES := $(wildcard bench/[a-z]*.py)
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

.DEFAULT_GOAL := help
.PHONY: help setup demo format check lint types imports house test soak postgres chromium compiler bench bench-placement bench-queue lock screenshots sdl released lifecycle-doc clean

##@ Use
help: ## show this list
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## make .venv, install the locked packages and the front-end files (quick when nothing changed)
	@$(PYTHON) scripts/setup.py

demo: setup ## run GPUYard with a simulated cluster; ARGS="--port 8080" is passed on
	$(BIN)/gpuyard demo $(ARGS)

##@ Change
format: setup ## format the code and repair what the linter can
	$(BIN)/ruff check --fix --exit-zero --quiet
	$(BIN)/ruff format

check: setup lint types imports house ## what must hold before the tests (make -k check goes on after a failure): format, lint, types, imports, house rules, SDL

lint: setup ## the formatter's and the linter's complaints
	$(BIN)/ruff format --check
	$(BIN)/ruff check

types: setup ## mypy, strict
	$(BIN)/mypy
	$(BIN)/mypy scripts $(BENCHES)

imports: setup ## the layers of docs/architecture.md, held by import-linter
	$(BIN)/lint-imports --no-logo

house: setup ## the house rules: sizes, clocks, docs, printed schema, breaks of the released one, third-party files
	$(BIN)/pytest tests/house -q

test: setup postgres chromium compiler ## the tests; T=tests/domain runs a part, ARGS="-k name" is passed on
	$(BIN)/pytest $(T) -n $(WORKERS) $(ARGS)

soak: setup postgres ## the long form of tests/proof: kills, faults, stale views, gaps; ARGS="--minutes 60 --seed 7" is passed on
	$(BIN)/python -m tests.proof.soak $(ARGS)

postgres: setup
	@$(BIN)/python -m tests.postgres

chromium: setup
	@$(BIN)/python -m tests.browser.chromium

compiler: setup
	@$(BIN)/python -m tests.agent.fake_nvml

bench: setup ## the measured comparisons, each prints a ratio; B=bench/placement.py runs one
	@for file in $(or $(B),$(BENCHES)); do echo "== $$file"; $(BIN)/python $$file || exit 1; done

bench-placement: setup ## unallocated GPUs by policy; TRACES=DIR (holds openb/) PODS=default SEEDS=5
	@$(BIN)/python -m bench.placement --traces "$(or $(TRACES),.)" --pods $(or $(PODS),default) --seeds $(or $(SEEDS),5)

bench-queue: setup ## waits by order of the queue; TRACES=DIR (holds philly/) SEEDS=5 OVER=3
	@$(BIN)/python -m bench.queueing --traces "$(or $(TRACES),.)" --seeds $(or $(SEEDS),5) --over $(or $(OVER),3)

##@ Print and pin
sdl: setup ## print the schema to graphql/schema.graphql
	$(BIN)/python -m app.graphql.print_sdl > graphql/schema.graphql.new
	mv graphql/schema.graphql.new graphql/schema.graphql

released: setup ## at a release: what clients may rely on is the schema as it is now, and the recorded breaks are forgotten
	cp graphql/schema.graphql graphql/released.graphql
	awk '/^\[\[/ { exit } { print }' graphql/breaks.toml > graphql/breaks.toml.new
	mv graphql/breaks.toml.new graphql/breaks.toml

screenshots: setup ## take the pictures in docs/images from a demo of its own
	$(BIN)/python scripts/screenshots.py

lifecycle-doc: setup ## print docs/lifecycle.md from the transition table
	$(BIN)/python -m app.domain.lifecycle_doc > docs/lifecycle.md.new
	mv docs/lifecycle.md.new docs/lifecycle.md

lock: setup ## renew the lock files after a change of dependencies; ARGS=--upgrade takes newer releases
	$(LOCK) $(ARGS) pyproject.toml --group dev -o requirements.lock
	$(LOCK) $(ARGS) --group node -o requirements-node.lock
	$(LOCK) $(ARGS) --group codegen -o requirements-codegen.lock
	npm install --package-lock-only --ignore-scripts

clean: ## remove caches and build outputs (not .venv, not data/)
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist node_modules static/vendor
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
