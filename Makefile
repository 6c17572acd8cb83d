# The whole workflow: `make help` lists it. Variables: INSTANCE (which test bed), NODES, KWOK and
# GATEWAY (what a cluster has), SIZE (small or full proofs).

VENV := .venv
PYTHON := $(VENV)/bin/python
INSTANCE ?= 0
NODES ?= 0
KWOK ?= 0
SIZE ?= full
export INSTANCE

# The slowest tests are named at the end: where the minutes of CI go is no secret.
PYTEST := $(PYTHON) -m pytest --durations=10 --durations-min=10
# Two test processes: a test on a real cluster mostly waits, and two share the cores of a small machine.
PARALLEL := -n 2 --dist loadgroup
E2E_IMAGES := base torch tensorflow mpi openmpi4 hydra xgboost jax tensorboard kubedl
# A gateway takes longer to build than all the rest, so only the tests that need one wait for it.
SERVING_IMAGES := base tensorflow torch kubedl mlserver
CHART_PROGRAMS := helm promtool
INSTALL_IMAGES := base kubedl
INSTALL_PROGRAMS := helm promtool prometheus
SERVING_PROGRAMS := traefik metrics-server prometheus

# So that `eval "$(make cluster-env)"` works inside another make too.
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := help
.PHONY: help setup generate docs screenshots quickstart lock check test test-chart test-cluster test-e2e test-install test-serving bench bench-scale images prepare cluster cluster-env cluster-down cluster-status changelog

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

# Not with --quiet: a warning that is not shown is not counted, and so is no error.
docs: $(VENV)/.installed ## Build the site of docs/ into build/site, warnings are errors; check links and spelling
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build
	$(PYTHON) -m devtools.published build/site
	$(PYTHON) -m codespell_lib README.md CONTRIBUTING.md CHANGELOG.md changelog.d docs examples

screenshots: docs ## Look at the site with Chromium, 1280 and 390 pixels wide: build/screenshots
	$(PYTHON) -m devtools.screenshots

quickstart: $(VENV)/.installed ## Run docs/quickstart.md on a test bed, command by command, and write down what was printed
	$(PYTHON) -m devtools.walkthrough docs/quickstart.md --write --expect '"digit": 3'

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

test-chart: $(VENV)/.installed ## Tests of the chart with Helm and promtool, no cluster (a minute)
	$(PYTHON) -m testbed tools $(CHART_PROGRAMS)
	$(PYTEST) tests/chart $(PARALLEL)

test-cluster: $(VENV)/.installed ## Tests on a real control plane
	$(PYTHON) -m testbed prepare --kwok 1
	$(PYTEST) tests/cluster $(PARALLEL)

test-e2e: $(VENV)/.installed ## Tests on two real nodes with real containers
	$(PYTHON) -m testbed prepare --nodes 2 --images $(E2E_IMAGES)
	$(PYTEST) tests/e2e --ignore=tests/e2e/serving --ignore=tests/e2e/install $(PARALLEL)

test-install: $(VENV)/.installed ## Tests of the chart on two real nodes: install, upgrade, takeovers, board (ten minutes)
	$(PYTHON) -m testbed prepare --nodes 2 --programs $(INSTALL_PROGRAMS) --images $(INSTALL_IMAGES)
	$(PYTEST) tests/e2e/install

test-serving: $(VENV)/.installed ## Tests of serving on two real nodes behind a real gateway, and of its metrics
	$(PYTHON) -m testbed prepare --nodes 2 --programs $(SERVING_PROGRAMS) --images $(SERVING_IMAGES)
	$(PYTEST) tests/e2e/serving $(PARALLEL)

bench: $(VENV)/.installed ## Measure the operator beside its peers (an hour); writes docs/performance.md
	$(PYTHON) -m testbed prepare
	$(PYTHON) -m benchmarks --write

bench-scale: $(VENV)/.installed ## Measure it with 100,000 pods, and among 10,000 finished jobs (an hour); writes docs/performance.md
	$(PYTHON) -m testbed prepare --kwok 1
	$(PYTHON) -m benchmarks.idle --write
	$(PYTHON) -m benchmarks.scale --write

images: $(VENV)/.installed ## Build the product's image, reproducibly and without a daemon, and say where it lies
	@$(PYTHON) -m testbed release

prepare: $(VENV)/.installed ## Build every program and image that the tests need
	$(PYTHON) -m testbed prepare --nodes 2 --kwok 1 --programs $(sort $(INSTALL_PROGRAMS) $(SERVING_PROGRAMS)) \
		--images $(sort $(E2E_IMAGES) $(SERVING_IMAGES))

cluster: $(VENV)/.installed ## Start a cluster: NODES=2 real nodes, KWOK=100 simulated ones, GATEWAY=1, INSTANCE=1 beside another
	@$(PYTHON) -m testbed up --nodes $(NODES) --kwok $(KWOK) $(if $(GATEWAY),--gateway)

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
