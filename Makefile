# Everything a person does here. `make` alone lists it; what a target needs is set up when its inputs changed.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# The first of these that is new enough. Another one: make demo PYTHON=/path/to/python
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)
IN_VENV := .venv/bin/python -m

.PHONY: help
help: ## these lines
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: .venv/.local node_modules/.ready ## install what everything here needs (the other targets do it by themselves)
	@echo "Next: source .venv/bin/activate"

.PHONY: belay
belay: .venv/.local ## put the command line into .venv/bin/belay (docs/cli.md)
	@$(IN_VENV) pip install --disable-pip-version-check --quiet --no-deps --editable .
	@echo "Next: .venv/bin/belay --help"

# ---- see it work

.PHONY: demo drill cloud
demo: .venv/.local node_modules/.ready ## one training run, from the job file to proven checkpoints, on this machine
	@$(IN_VENV) tools.demo.demo

drill: .venv/.local node_modules/.ready ## the same with the training killed half-way, and resumed
	@$(IN_VENV) tools.demo.drill

cloud: .venv/.local node_modules/.ready ## a local cloud with Belay deployed, until Ctrl-C, for the AWS CLI and boto3
	@$(IN_VENV) tools.demo.cloud

# ---- figures: each prints a table and writes build/figures/<name>.json

.PHONY: bench-cost bench-cli bench-pump bench-checkpoint chaos outages crash-test
bench-cost: .venv/.local node_modules/.ready ## what one run costs in state transitions and Lambda invocations
	@$(IN_VENV) tools.benchmarks.run_cost

bench-cli: .venv/.local ## how long help takes, and the report of a run of 1,000,000 events
	@$(IN_VENV) tools.benchmarks.command_line

bench-pump: .venv/.local ## a round of the pump against the age of its runs and their number (two minutes)
	@$(IN_VENV) tools.benchmarks.pump

bench-checkpoint: .venv/.bench ## what a checkpoint costs training, beside its peers (20 to 25 idle minutes; OPTIONS=--help)
	@PYTHONPATH=stallfree OMP_NUM_THREADS=1 $(IN_VENV) tools.benchmarks.checkpoint $(OPTIONS)

chaos: .venv/.local node_modules/.ready ## every fault at every state, for real (20 idle minutes; OPTIONS=--help)
	@$(IN_VENV) tools.proofs.chaos $(OPTIONS)

outages: .venv/.local node_modules/.ready ## a service of AWS away for eight hours, at each phase of a run (25 idle minutes; OPTIONS=--help)
	@$(IN_VENV) tools.proofs.outages $(OPTIONS)

crash-test: .venv/.local ## 1,000 kills, 200 power cuts (as root), every call failing: is a checkpoint ever lost? (OPTIONS=--part=0.1)
	@PYTHONPATH=stallfree:stallfree/tests $(IN_VENV) tools.proofs.crash $(OPTIONS)

deepspeed: build/deepspeed/.ready ## ZeRO 2 and 3 by the real DeepSpeed: killed in a save, damaged, resumed by as many or others (minutes)
	@PYTHONPATH=build/deepspeed:stallfree TORCH_EXTENSIONS_DIR=build/deepspeed/compiled \
		$(IN_VENV) tools.proofs.deepspeed $(OPTIONS)

# ---- proofs that are too long for every run; the tests take a part of each

.PHONY: conformance upgrade-check explore mutate fidelity
conformance: .venv/.check ## each AWS operation that Belay uses: its rules, their sources, and the tests that show them
	@$(IN_VENV) tools.proofs.conformance

upgrade-check: .venv/.check node_modules/.ready ## runs of the last two versions go on when this one is deployed beneath them (half a minute)
	@$(IN_VENV) tools.proofs.upgrade

explore: .venv/.check ## every fault at every state of both flows, acted out (minutes; OPTIONS=--help)
	@$(IN_VENV) tools.proofs.model $(OPTIONS)

mutate: .venv/.check ## defects planted in the flows one by one: is each noticed? (minutes)
	@$(IN_VENV) tools.proofs.model.mutate

fidelity: .venv/.check ## 500 schedules in the model and in the local cloud: is there a difference? (minutes)
	@$(IN_VENV) tools.proofs.model.fidelity

# ---- the gate: all of it passes before every commit

# How many processes: tests/conftest.py. Models this small only wait for a second thread.
PYTEST = OMP_NUM_THREADS=1 $(IN_VENV) pytest --numprocesses=auto --dist=worksteal

.PHONY: check format lint types dockerfile security permissions tests unit synth integration e2e stallfree
check: format lint types dockerfile security tests ## everything below, in this order

format: .venv/.check ## is all Python formatted?
	@$(IN_VENV) ruff format --check .

lint: .venv/.check ## ruff's rules
	@$(IN_VENV) ruff check .

types: .venv/.check ## mypy, strict
	@echo "mypy reads everything (the first time this takes a minute or two) ..."
	@$(IN_VENV) mypy .

dockerfile: .venv/.check ## hadolint on the trainer's Dockerfile
	@.venv/bin/hadolint containers/trainer/Dockerfile && echo "hadolint: containers/trainer/Dockerfile is clean"

# Digests stand everywhere here: long hexadecimal words are no sign of a secret.
SECRETS = .venv/bin/detect-secrets-hook --disable-plugin HexHighEntropyString
SHIPPED = app.py belay containers lambdas stacks stallfree tools/local_cloud

security: .venv/.check ## bandit on what is shipped, and a search for secrets in every file
	@echo "bandit and detect-secrets read everything (half a minute) ..."
	@.venv/bin/bandit --quiet --severity-level medium --recursive --configfile pyproject.toml $(SHIPPED) && echo "bandit: nothing found"
	@git ls-files -z | xargs -0 $(SECRETS) --exclude-files 'package-lock.json|tools/proofs/permissions/golden' && echo "detect-secrets: nothing found"

permissions: .venv/.check node_modules/.ready ## every AWS call and every role x action x resource, asked of a simulator of IAM
	@$(IN_VENV) pytest tests/synth/permissions

tests: .venv/.check node_modules/.ready ## every test in one go: the five groups below
	@$(PYTEST)

unit: .venv/.check node_modules/.ready ## pure parts and thin edges, in seconds
	@$(PYTEST) tests/unit

synth: .venv/.check node_modules/.ready ## the templates, the state machines and the grants
	@$(PYTEST) tests/synth

integration: .venv/.check node_modules/.ready ## the local cloud, the trainer, and programs of others
	@$(PYTEST) tests/integration

e2e: .venv/.check node_modules/.ready ## whole runs on a local cloud, with faults
	@$(PYTEST) tests/e2e

stallfree: .venv/.check ## the library of checkpoints
	@$(PYTEST) stallfree/tests

# ---- keep it in order

.PHONY: fix schema reference screenshots recording constraints clean pristine
fix: .venv/.check ## format, and fix what ruff can fix
	@$(IN_VENV) ruff format .
	@$(IN_VENV) ruff check --fix .

schema: .venv/.local ## write docs/job.schema.json from the contract
	@$(IN_VENV) tools.docgen.job_schema

reference: .venv/.local ## write docs/cli.md from the commands, and docs/job.md from the job file's models
	@$(IN_VENV) tools.docgen.cli_page
	@$(IN_VENV) tools.docgen.job_page

screenshots: .venv/.check ## the report of sample runs as Chromium shows it: build/figures, and the pictures of docs/guide.md
	@$(IN_VENV) tools.docgen.screenshots

recording: .venv/.check node_modules/.ready ## run make demo, and show in README what it showed (minutes, idle)
	@$(IN_VENV) tools.docgen.recording

# PyTorch stays out: which build of it is right differs from machine to machine (README, "Choosing a PyTorch").
constraints: | .venv/bin/python ## pin every indirect dependency to what .venv has now
	@{ echo "# Every package at the version that was tested, indirect ones too. Written by 'make constraints'."; \
		$(IN_VENV) pip freeze --exclude torch | grep -E '^[A-Za-z0-9._-]+==' | grep -vE '^(nvidia|cuda|triton)'; \
	} > requirements/constraints.txt
	@echo "wrote requirements/constraints.txt"

clean: ## remove what was built and run here
	@rm -rf build cdk.out .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -not -path './.venv/*' -not -path './node_modules/*' -prune -exec rm -rf {} +

pristine: clean ## remove .venv and node_modules too
	@rm -rf .venv node_modules

# ---- setting up: a stamp is newer than what it was made from, or it is made again

# pip is silent for minutes or far too chatty; one line for each package shows that it lives. It would compile on one
# core, and the packages' own tests too. Templates that are no Python do not compile, which pip does not tell either.
define pip_install
	@echo "Installing requirements/$(1).txt into .venv (the first time this takes minutes) ..."
	@$(IN_VENV) pip install --disable-pip-version-check --progress-bar off --no-compile \
		--requirement requirements/$(1).txt --constraint requirements/constraints.txt \
		| awk '/^Collecting / { sub(/[^A-Za-z0-9._-].*/, "", $$2); print "  " $$2; fflush() } /^Installing / { print "  unpacking ..."; fflush() }'
	@echo "  compiling ..."
	@$(IN_VENV) compileall -qq -j 0 -x '/tests/' .venv/lib || true
endef
LOCAL_INPUTS := requirements.txt $(addprefix requirements/,local.txt lambdas.txt constraints.txt) \
	containers/trainer/requirements.txt

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "Belay needs Python 3.11 or newer: install one, or say PYTHON=/path/to/it" >&2; exit 1; }
	@echo "Creating .venv with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv .venv

.venv/.local: $(LOCAL_INPUTS) | .venv/bin/python
	$(call pip_install,local)
	@touch $@

.venv/.check: requirements/check.txt $(LOCAL_INPUTS) | .venv/bin/python
	$(call pip_install,check)
	@touch .venv/.local $@

# A peer that a benchmark compares with: without it the benchmark runs as well, and says what is missing.
.venv/.bench: requirements/bench.txt .venv/.local
	@$(IN_VENV) pip install --disable-pip-version-check --quiet --no-deps --requirement requirements/bench.txt \
		&& touch $@ || echo "Not installed: requirements/bench.txt. The peer in it will be left out."

build/deepspeed/.ready: requirements/deepspeed.txt .venv/.local
	@echo "Installing DeepSpeed into build/deepspeed ..."
	@rm -rf build/deepspeed
	@$(IN_VENV) pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation \
		--target build/deepspeed --requirement requirements/deepspeed.txt
	@touch $@

node_modules/.ready: package.json package-lock.json
	@node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' \
		|| { echo "Belay needs Node 20 or newer, for the CDK command line: https://nodejs.org" >&2; exit 1; }
	@echo "Installing the CDK command line into node_modules ..."
	@npm ci --no-audit --no-fund --no-update-notifier --loglevel=error
	@touch $@
