# make ask q="…"   sets everything up and answers, offline, without a key
# make test        sets everything up and runs all checks and tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
unexport PYTHONDONTWRITEBYTECODE  # else each process that a test starts compiles all it imports, each worker every test file
q ?= Which is the largest moon of Saturn, and who discovered it?

.PHONY: help ask test quick check torture torture-faults torture-growth torture-soak serve bench clean setup setup-dev pins docs wheel sbom pictures

help:
	@echo 'make ask q="…"   answer a question offline'
	@echo 'make test        all checks and tests'
	@echo 'make quick       the unit tests alone, under a minute'
	@echo 'make check       lint, types, layers'
	@echo 'make torture     the long tests: faults, hostile texts, fuzzing, half an hour of traffic'
	@echo 'make serve       the page and the API on http://127.0.0.1:8000'
	@echo 'make bench       all benchmarks, quick form, against their bars'
	@echo 'make docs        the documentation as a site, in build/site'
	@echo 'make wheel       wheel and sdist in dist, tried in an empty environment'
	@echo 'make sbom        what is installed and its licences, in dist/sbom.json'
	@echo 'make pictures    the pictures of the README, from the real thing'
	@echo 'make pins        renew the pinned requirements (needs uv)'
	@echo 'make clean       remove what these commands made'

# A stamp per requirements file: repeating a command installs nothing. The files name all that is needed (a test sees to it), and
# --no-deps keeps pip from looking for more: for an extra (coverage[toml]) it takes the newest release, which has no pin.
$(VENV)/core.stamp: requirements/core.txt pyproject.toml
	@sh scripts/venv.sh $(PYTHON) $(VENV)
	@echo "installing wellread into $(VENV) …" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/build.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/core.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt requirements/local.txt $(VENV)/core.stamp
	@echo "installing what the tests need …" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --no-build-isolation -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/local.txt
	@touch $@

$(VENV)/docs.stamp: requirements/docs.txt $(VENV)/dev.stamp
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/docs.txt
	@touch $@

setup: $(VENV)/core.stamp
setup-dev: $(VENV)/docs.stamp  # the tests build the site and lint the Dockerfile

# The question goes through the environment, so that quotes and dollar signs in it are safe.
ask: export WELLREAD_QUESTION = $(value q)
ask: setup
	@printf '%s' "$$WELLREAD_QUESTION" | $(BIN)/wellread ask -

check: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -q tests/test_shape.py

test: check
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile -m "not no_cover" --cov=wellread --cov-branch \
	  --cov-report=term:skip-covered --cov-fail-under=$(COVERAGE)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile -m no_cover  # loops and times, which tracing would disturb

COVERAGE ?= 90
WORKERS ?= 2

quick: setup-dev
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile -m "not service and not browser and not slow" \
	  --hypothesis-profile brief $(addprefix --ignore=tests/,browser faults release services training test_shape.py)

# Each part alone, or all of them; shorter: make -k torture RUNS=500 SECONDS=5 MINUTES=10 GROWTH=--quick
torture: torture-faults torture-growth torture-soak

torture-faults: setup-dev
	WELLREAD_FAULT_RUNS=$(RUNS) WELLREAD_HOSTILE_ALL=1 WELLREAD_FUZZ_SECONDS=$(SECONDS) $(BIN)/python -m pytest -q --timeout 7200 \
	  tests/faults tests/replay/test_strangers.py tests/index/test_hostile.py tests/index/test_blocks.py tests/index/test_snapshots.py

torture-growth: setup-dev
	$(BIN)/python -m benchmarks complexity $(GROWTH)

torture-soak: setup-dev
	$(BIN)/python -m benchmarks soak --minutes $(MINUTES)

RUNS ?= 10000
SECONDS ?= 600
MINUTES ?= 30
GROWTH ?=

serve: setup
	$(BIN)/wellread serve

bench: setup-dev
	$(BIN)/python -m benchmarks

# Nothing is fetched while the site is built or read; a link that leads nowhere is an error.
docs: $(VENV)/docs.stamp
	@mkdir -p build
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict > build/site.log 2>&1 || { cat build/site.log; exit 1; }
	@echo "the site is in build/site; with its search: python3 -m http.server --directory build/site"

wheel: setup
	@rm -rf dist/*.whl dist/*.tar.gz
	@$(BIN)/python -m hatchling build -d dist
	@sh scripts/try_wheel.sh $(PYTHON)

sbom: setup
	@$(BIN)/python scripts/sbom.py --output dist/sbom.json

pictures: setup-dev
	@$(BIN)/python scripts/pictures.py

pins:
	cd requirements && for name in build core all dev docs; do \
	  uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --python-version 3.11 $$name.in -o $$name.txt; done

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .coverage .coverage.* .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
