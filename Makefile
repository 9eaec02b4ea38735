# Everything runs in .venv, which tools/setup.sh makes, checks and repairs before each target.
#   PYTHON=/path/to/python   that interpreter, not the newest suitable one
#   TESTS="tests/numerics"   these tests, not all
#   DEMO_ARGS, TEST_ARGS, BENCH_ARGS, PEERS_ARGS, DOCS_ARGS, GPU_ARGS, NOTEBOOKS, WHEELS   further arguments:
#                            make test TEST_ARGS="-k hvt -x"

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-slow test-bridges durations lint types mutants bench peers gpu-check notebooks docs \
    docs-check newest wheels release-check constraints clean setup-run setup-test setup-notebooks setup-dev setup-docs

BIN := .venv/bin
EXTRAS := xarray frames cluster bridges track report data test notebooks gpu-check docs outside dev
DEMO_ARGS ?=
TESTS ?=
TEST_ARGS ?=
BENCH_ARGS ?=
PEERS_ARGS ?=
GPU_ARGS ?=
# An older JAX, whose counts of programs for GPUs differ: benchmarks/gpu/counts-0.11.2.json.
GPU_JAX := 0.11.2
MUTANT_ARGS ?=
DOCS_ARGS ?=
NOTEBOOKS ?=
WHEELS ?=

# Compiled programs are cached as for any user, in a directory that `make clean` removes.
export JAXBANDITS_CACHE ?= $(CURDIR)/.cache/programs
unexport PYTHONHOME PYTHONPATH PYTHONDONTWRITEBYTECODE

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 20

demo: setup-run ## install into .venv, then reproduce the first figure (without its one slow learner)
	$(BIN)/jaxbandits reproduce linear/fig1 --exclude HEAVY-OFUL $(DEMO_ARGS)

test: setup-test ## install into .venv, then run the tests (x64, then float32 in a separate process)
	@$(call pytest,not slow)

test-slow: setup-test ## the tests that take long
	@$(call pytest,slow)

test-bridges: setup-run ## the tests of bridges with the packages themselves, in a separate environment (2 GB)
	test -x .cache/bridges/bin/python || $(BIN)/python -m venv .cache/bridges
	.cache/bridges/bin/python -m pip install --quiet --constraint constraints.txt \
	    -e ".[test,bridges,track,cluster]" distributed ray vowpalwabbit
	.cache/bridges/bin/python -m pytest -n auto $(TEST_ARGS) tests/bridges tests/sweeps/test_executors.py

durations: override TEST_ARGS += --durations=50 --durations-min=1
durations: setup-test ## run the quick tests and list those that take longest (TESTS: some): which should be slow?
	@$(call pytest,not slow)

lint: setup-dev ## style: ruff check, ruff format --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup-dev ## types: pyright
	$(BIN)/pyright --pythonpath $(BIN)/python

mutants: setup-test ## mutation tests: break the code on purpose, run the tests that should fail
	$(BIN)/python tools/mutants.py $(MUTANT_ARGS)

bench: setup-test ## rounds per second against NumPy, as a table
	$(BIN)/python -m benchmarks.speed $(BENCH_ARGS)

peers: setup-run ## race other packages on the same instances, in a separate environment (1.2 GB); writes docs/peers.md
	test -x .cache/peers/bin/python || $(BIN)/python -m venv .cache/peers
	$(BIN)/python benchmarks/peers/install.py .cache/peers/bin/python
	.cache/peers/bin/python -m benchmarks.peers --write $(PEERS_ARGS)

gpu-check: setup-dev ## compile for GPUs without one and count, in two separate environments (1.5 GB each)
	test -x .cache/gpu/bin/python || $(BIN)/python -m venv .cache/gpu
	.cache/gpu/bin/python -m pip install --quiet --constraint constraints.txt -e ".[gpu-check]"
	JAXBANDITS_CACHE=off .cache/gpu/bin/python -m benchmarks.gpu --check $(GPU_ARGS)
	test -x .cache/gpu-$(GPU_JAX)/bin/python || $(BIN)/python -m venv .cache/gpu-$(GPU_JAX)
	.cache/gpu-$(GPU_JAX)/bin/python -m pip install --quiet -e . \
	    jax==$(GPU_JAX) jaxlib==$(GPU_JAX) jax-cuda13-plugin==$(GPU_JAX)
	JAXBANDITS_CACHE=off .cache/gpu-$(GPU_JAX)/bin/python -m benchmarks.gpu --check --known $(GPU_ARGS)

notebooks: setup-notebooks ## execute the notebooks (NOTEBOOKS="01 02": some); outputs and figures in results/notebooks
	$(BIN)/python tools/notebooks.py run $(NOTEBOOKS)

docs: setup-docs ## build the site into results/docs, warnings as errors; executed notebooks are kept in .cache/notebooks
	$(BIN)/python -m sphinx -q -W --keep-going -d .cache/doctrees $(DOCS_ARGS) docs results/docs

docs-check: docs ## test the site: every public name, every link, search, no sideways scrolling, dark mode
	$(BIN)/python -m pytest -q docs/test_site.py

newest: setup-dev ## the tests with the newest JAX, pre-releases included, in a separate environment
	$(BIN)/uvx nox -s newest

wheels: setup-dev ## build sdist and wheel, use them elsewhere on Python 3.11, 3.12, 3.13 and with Colab's versions
	$(BIN)/python tools/wheels.py $(WHEELS)

release-check: setup-dev ## build sdist and wheel, twine check, install both and run README's blocks from each
	$(BIN)/python tools/release_check.py

constraints: setup-dev ## resolve constraints.txt anew
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 $(EXTRAS:%=--extra %) \
	    --no-annotate --no-header --no-emit-index-url --no-emit-find-links --output-file constraints.txt pyproject.toml

clean: ## remove .venv and every cache
	rm -rf .venv .cache .benchmarks .hypothesis .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

setup-run setup-test setup-notebooks setup-dev setup-docs: setup-%:
	@sh tools/setup.sh $*

AS_SHIPPED = tests/engine tests/programs tests/simulation # with XLA's usual passes, see tests/conftest.py

# All parts run, whatever the first one finds. Pytest's 5: no test of that part was asked for; of all, it fails.
define pytest
unset JAX_ENABLE_X64; status=0; ran=; \
for part in $(if $(TESTS),"$(TESTS)","tests $(AS_SHIPPED:%=--ignore=%)" "$(AS_SHIPPED)" tests/float32); do \
    echo "pytest $$part -m '$(1)'"; \
    $(BIN)/python -m pytest -n auto -m "$(1)" $(TEST_ARGS) $$part; code=$$?; \
    [ $$code -eq 5 ] || ran=yes; \
    [ $$code -eq 0 ] || [ $$code -eq 5 ] || status=1; \
done; [ -n "$$ran" ] && exit $$status
endef
