# Everything runs in .venv, which `make setup` builds; paths are relative, so a space in the clone's path is fine.
SHELL := /bin/bash
PY := .venv/bin/python
STAMP := .venv/.headrace-setup
OUT ?= out

# Spark takes the Java that JAVA_HOME names: a Java 17 or newer, wherever this machine has one.
JAVA_HOME := $(shell scripts/java-home 2>/dev/null)
ifneq ($(JAVA_HOME),)
export JAVA_HOME
endif

.DEFAULT_GOAL := help
.PHONY: help setup java demo test test-all lint types wheel check bench clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

setup: java $(STAMP)  ## Build .venv and see that there is a Java 17 or newer (quick when all is there)

java:
	@scripts/java-home >/dev/null 2>&1 || scripts/install-java

$(STAMP): pyproject.toml scripts/make-venv
	@scripts/make-venv
	@touch $(STAMP)

demo: setup  ## Run the network monitoring example on embedded Spark and draw a page of it
	@OUT="$(OUT)" scripts/demo

# Hypothesis' ci profile has no deadlines (the machine may be busy) and tries the same examples each time. Two processes, each
# with files of tests of its own and one Spark: most tests keep one core busy.
test: setup  ## Run the tests (under ten minutes on two cores)
	$(PY) -m pytest -q -n 2 --dist loadfile --hypothesis-profile=ci --durations=10

test-all: setup  ## Run the tests, the slow ones too
	$(PY) -m pytest -q -m '' --durations=20

lint: setup  ## ruff
	$(PY) -m ruff check .

types: setup  ## mypy, strict where there is no engine
	$(PY) -m mypy

wheel: setup  ## Build the wheel, install it alone outside the clone and run a query with it
	@scripts/try-wheel

check:  ## What CI runs: test, lint, types, wheel
	@.ci/run

bench: setup  ## Measure against Spark and Flink (ARGS='...' are passed on)
	$(PY) -m benchmarks $(ARGS)

clean:  ## Remove .venv, caches and output
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis "$(OUT)"
