# The whole workflow: `make help` lists it. Variables: INSTANCE (which test bed), NODES, KWOK and
# GATEWAY (what a cluster has), SIZE (small or full proofs).

VENV := .venv
PYTHON := $(VENV)/bin/python
INSTANCE ?= 0
NODES ?= 0
KWOK ?= 0
SIZE ?= full
export INSTANCE

# Print the slowest tests at the end.
PYTEST := $(PYTHON) -m pytest --durations=40 --durations-min=10
# Two test processes: a test on a real cluster mostly waits, and two share the cores of a small machine.
PARALLEL := -n 2 --dist loadgroup
E2E_IMAGES := base torch tensorflow mpi openmpi4 hydra xgboost jax tensorboard kubedl
# A gateway takes longer to build than all the rest, so only the tests that need one wait for it.
SERVING_IMAGES := base tensorflow torch kubedl mlserver
CHART_PROGRAMS := helm promtool
CLUSTER_PROGRAMS := kueue
INSTALL_IMAGES := base kubedl
INSTALL_PROGRAMS := helm promtool prometheus
RECORDER_PROGRAMS := helm prometheus minio otelcol
SERVING_PROGRAMS := traefik metrics-server prometheus
PAGES := src/kubedl/console/static/index.html
QUICKSTART_IMAGES := kubedl registry torch
QUICKSTART_CLUSTER := make quickstart-cluster && eval "$$(make cluster-env)"

# So that `eval "$(make cluster-env)"` works inside another make too.
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := help
.PHONY: help setup generate docs console image-pages check-console test-console screenshots quickstart quickstart-cluster lock check test test-chart test-history test-cluster test-e2e test-install test-recorder test-serving bench bench-scale images release prepare cluster cluster-env cluster-down cluster-status changelog

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9%-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install dependencies: Debian packages (as root) and the Python environment
	devtools/require-go
	devtools/install-debian-packages
	@$(MAKE) $(VENV)/.installed

$(VENV)/.installed: requirements/dev.txt
	test -x $(PYTHON) || python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --require-hashes -r requirements/dev.txt
	touch $@

generate: $(VENV)/.installed ## Regenerate reference pages, CRDs and RBAC
	PYTHONPATH=src $(PYTHON) -m devtools.reference
	PYTHONPATH=src $(PYTHON) -m devtools.generate
	PYTHONPATH=src $(PYTHON) -m devtools.console_types

# Not with --quiet: warnings that are not shown do not count as errors.
docs: $(VENV)/.installed ## Build the site of docs/ into build/site, warnings are errors; check fences, titles, figures, links and spelling
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build
	$(PYTHON) -m devtools.doc_style
	$(PYTHON) -m devtools.figures
	$(PYTHON) -m devtools.link_check build/site
	$(PYTHON) -m codespell_lib README.md CONTRIBUTING.md CHANGELOG.md changelog.d docs examples

screenshots: docs ## Take screenshots of the site with Chromium, 1280 and 390 pixels wide: build/screenshots
	$(PYTHON) -m devtools.screenshots

quickstart-cluster: $(VENV)/.installed image-pages ## Start a cluster of one node with a volume, and load the images of the quickstart into it
	$(PYTHON) -m testbed up --nodes 1
	$(PYTHON) -m testbed load kubedl kubedl:dev
	$(PYTHON) -m testbed load registry registry:3
	install --directory --mode=777 /tmp/kubedl-quickstart-one-node
	eval "$$($(MAKE) cluster-env)" && kubectl apply -f examples/quickstart/testbed-volume.yaml

quickstart: $(VENV)/.installed image-pages ## Run the commands of both quickstart pages on a test bed, and record their output
	$(PYTHON) -m devtools.run_docs docs/quickstart.md --before '$(QUICKSTART_CLUSTER)' --write --expect '"digit": 3'
	$(PYTHON) -m devtools.run_docs docs/quickstart-pytorch.md --write --expect '"digit": 3'

lock: $(VENV)/.installed ## Resolve and lock the dependencies of pyproject.toml, with hashes
	$(PYTHON) -m devtools.lock

check: $(VENV)/.installed ## Format, lint, types, layers, wording, drift of generated files (under a minute)
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy
	PYTHONPATH=src $(VENV)/bin/lint-imports
	$(PYTHON) -m devtools.lint_repo
	$(PYTHON) -m devtools.plain_english
	$(PYTHON) -m devtools.lock --check
	PYTHONPATH=src $(PYTHON) -m devtools.reference --check
	PYTHONPATH=src $(PYTHON) -m devtools.generate --check
	PYTHONPATH=src $(PYTHON) -m devtools.console_types --check

# Compiled tests are kept for the next run: compiling all of them takes longer than many of them run.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.installed ## Unit tests, in virtual time (under a minute)
	$(PYTEST) tests/unit $(PARALLEL)

test-chart: $(VENV)/.installed ## Tests of the chart with Helm and promtool, no cluster (a minute)
	$(PYTHON) -m testbed tools $(CHART_PROGRAMS)
	$(PYTEST) tests/chart $(PARALLEL)

console/node_modules/.installed: console/package-lock.json
	cd console && npm ci --no-audit --no-fund --loglevel=error
	touch $@

$(PAGES): console/node_modules/.installed console/index.html console/vite.config.ts $(shell find console/src console/scripts -type f)
	cd console && npx vite build --logLevel warn && node scripts/compress.mjs
	touch $@

console: $(PAGES) ## Build the pages of the console with Node into the package: src/kubedl/console/static

# For images of the test bed: without Node they have a console that says that its pages are not built.
image-pages:
	@if command -v npm >/dev/null; then $(MAKE) console; else echo "npm is not installed: images have no pages of the console" >&2; fi

check-console: console/node_modules/.installed ## Types, unit tests and sizes of the console's pages; needs Node (half a minute)
	cd console && npx tsc --noEmit && npx vitest run
	$(MAKE) console

test-console: $(VENV)/.installed console ## The console in a real Chromium, on a real control plane (three minutes)
	devtools/install-debian-packages chromium
	$(PYTHON) -m testbed prepare
	$(PYTEST) tests/browser

test-history: $(VENV)/.installed ## Tests of the history on real PostgreSQL and MariaDB, and on SQLite (under a minute)
	$(PYTEST) tests/history

test-cluster: $(VENV)/.installed ## Tests on a real control plane
	$(PYTHON) -m testbed prepare --kwok 1 --programs $(CLUSTER_PROGRAMS)
	$(PYTEST) tests/cluster $(PARALLEL)

test-e2e: $(VENV)/.installed image-pages ## Tests on two real nodes with real containers
	$(PYTHON) -m testbed prepare --nodes 2 --images $(E2E_IMAGES)
	$(PYTEST) tests/e2e --ignore=tests/e2e/serving --ignore=tests/e2e/install --ignore=tests/e2e/history $(PARALLEL)

test-install: $(VENV)/.installed image-pages ## Tests of the chart on two real nodes: install, upgrade, failover, dashboard (ten minutes)
	$(PYTHON) -m testbed prepare --nodes 2 --programs $(INSTALL_PROGRAMS) --images $(INSTALL_IMAGES)
	$(PYTEST) tests/e2e/install

test-recorder: $(VENV)/.installed image-pages ## Tests of the chart's recorder with real storage for logs and a real collector, which take minutes to build; not in CI
	$(PYTHON) -m testbed prepare --nodes 2 --programs $(RECORDER_PROGRAMS) --images $(INSTALL_IMAGES)
	$(PYTEST) tests/e2e/history

test-serving: $(VENV)/.installed image-pages ## Tests of serving on two real nodes behind a real gateway, and of its metrics
	$(PYTHON) -m testbed prepare --nodes 2 --programs $(SERVING_PROGRAMS) --images $(SERVING_IMAGES)
	$(PYTEST) tests/e2e/serving $(PARALLEL)

bench: $(VENV)/.installed ## Benchmark the operator against its peers (an hour); writes docs/performance.md
	$(PYTHON) -m testbed prepare
	$(PYTHON) -m benchmarks --write

bench-scale: $(VENV)/.installed ## Benchmark it with 100,000 pods, and among 10,000 finished jobs (an hour); writes docs/performance.md
	$(PYTHON) -m testbed prepare --kwok 1
	$(PYTHON) -m benchmarks.idle --write
	$(PYTHON) -m benchmarks.scale --write

images: $(VENV)/.installed console ## Build the product's image, reproducibly and without a daemon, and print its path
	@$(PYTHON) -m testbed release

release: $(VENV)/.installed console ## Write a release (chart, image, install.yaml, bills of materials, checksums) to build/release
	devtools/install-debian-packages arch-test binfmt-support qemu-user-static
	$(PYTHON) -m devtools.release

prepare: $(VENV)/.installed image-pages ## Build every program and image that the tests need
	$(PYTHON) -m testbed prepare --nodes 2 --kwok 1 --programs $(sort $(CLUSTER_PROGRAMS) $(INSTALL_PROGRAMS) $(SERVING_PROGRAMS)) \
		--images $(sort $(E2E_IMAGES) $(SERVING_IMAGES) $(QUICKSTART_IMAGES))

cluster: $(VENV)/.installed ## Start a cluster: NODES=2 real nodes, KWOK=100 simulated ones, GATEWAY=1, INSTANCE=1 for a second one
	@$(PYTHON) -m testbed up --nodes $(NODES) --kwok $(KWOK) $(if $(GATEWAY),--gateway)

cluster-env: $(VENV)/.installed ## Print shell lines that point kubectl at the cluster: eval "$(make cluster-env)"
	@$(PYTHON) -m testbed environment

cluster-down: $(VENV)/.installed ## Stop the cluster and clean up
	@$(PYTHON) -m testbed down

cluster-status: $(VENV)/.installed ## Show the processes and files of the cluster
	@$(PYTHON) -m testbed status || true

prove-%: $(VENV)/.installed image-pages ## Run every claim of an area (prove-testbed) and write docs/proofs/<area>.md
	$(PYTHON) -m proofs $* --size $(SIZE)

changelog: $(VENV)/.installed ## Show the changelog of the next release
	$(PYTHON) -m towncrier build --draft --version next
