# The whole workflow: `make help` lists it. Variables: INSTANCE (which test bed), NODES and KWOK
# (size of a cluster), SIZE (small or full proofs).

VENV := .venv
PYTHON := $(VENV)/bin/python
INSTANCE ?= 0
NODES ?= 0
KWOK ?= 0
SIZE ?= full
export INSTANCE

# Two test processes: a test on a real cluster mostly waits, and two share the cores of a small machine.
PYTEST := $(PYTHON) -m pytest
PARALLEL := -n 2 --dist loadgroup
E2E_IMAGES := base torch tensorflow mpi openmpi4 hydra xgboost jax tensorboard packer

# So that `eval "$(make cluster-env)"` works inside another make too.
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := help
.PHONY: help setup generate lock check test test-cluster test-e2e bench bench-scale prepare cluster cluster-env cluster-down cluster-status changelog

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9%-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install what the project needs: Debian packages (as root) and the Python environment
	devtools/require-go
	devtools/install-debian-packages
	@$(MAKE) $(VENV)/.installed

$(VENV)/.installed: requirements/dev.txt
	test -x $(PYTHON) || python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --require-hashes -r requirements/dev.txt
	touch $@

generate: $(VENV)/.installed ## Write generated files anew: reference pages, CRDs, RBAC
	PYTHONPATH=src $(PYTHON) -m devtools.reference
	PYTHONPATH=src $(PYTHON) -m devtools.generate

lock: $(VENV)/.installed ## Resolve the dependencies of pyproject.toml anew, with hashes
	$(PYTHON) -m devtools.lock

check: $(VENV)/.installed ## Format, lint, types, layers, house rules, drift of generated files (under a minute)
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	PYTHONPATH=src $(VENV)/bin/lint-imports
	$(PYTHON) -m devtools.house
	$(PYTHON) -m devtools.lock --check
	PYTHONPATH=src $(PYTHON) -m devtools.reference --check
	PYTHONPATH=src $(PYTHON) -m devtools.generate --check

test: $(VENV)/.installed ## Unit tests, in virtual time (under a minute)
	$(PYTEST) tests/unit $(PARALLEL)

test-cluster: $(VENV)/.installed ## Tests on a real control plane
	$(PYTHON) -m testbed prepare --kwok 1
	$(PYTEST) tests/cluster $(PARALLEL)

test-e2e: $(VENV)/.installed ## Tests on two real nodes with real containers
	$(PYTHON) -m testbed prepare --nodes 2 --images $(E2E_IMAGES)
	$(PYTEST) tests/e2e $(PARALLEL)

bench: $(VENV)/.installed ## Measure the operator beside its peers (an hour); writes docs/performance.md
	$(PYTHON) -m testbed prepare
	$(PYTHON) -m benchmarks --write

bench-scale: $(VENV)/.installed ## Measure it with 100,000 pods, and among 10,000 finished jobs (an hour); writes docs/performance.md
	$(PYTHON) -m testbed prepare --kwok 1
	$(PYTHON) -m benchmarks.idle --write
	$(PYTHON) -m benchmarks.scale --write

prepare: $(VENV)/.installed ## Build every program and image that the tests need
	$(PYTHON) -m testbed prepare --nodes 2 --kwok 1 --images $(E2E_IMAGES)

cluster: $(VENV)/.installed ## Start a cluster: NODES=2 real nodes, KWOK=100 simulated ones, INSTANCE=1 beside another
	@$(PYTHON) -m testbed up --nodes $(NODES) --kwok $(KWOK)

cluster-env: $(VENV)/.installed ## Print shell lines that point kubectl at the cluster: eval "$(make cluster-env)"
	@$(PYTHON) -m testbed environment

cluster-down: $(VENV)/.installed ## End the cluster and remove every trace of it
	@$(PYTHON) -m testbed down

cluster-status: $(VENV)/.installed ## List what exists of the cluster on this machine
	@$(PYTHON) -m testbed status || true

prove-%: $(VENV)/.installed ## Run every claim of an area (prove-testbed) and write docs/proofs/<area>.md
	$(PYTHON) -m proofs $* --size $(SIZE)

changelog: $(VENV)/.installed ## Show what the next release's changelog would say
	$(PYTHON) -m towncrier build --draft --version next
