# Two commands do all the set-up: `make demo` and `make test`.
# PYTHON names the interpreter to build .venv with (3.11 or newer).
PYTHON ?= python3
export PYTHON

.PHONY: help demo test check format docs clean

help:
	@echo "make demo    diagnose recordings, check, compile and profile a kernel (prepares .venv the first time)"
	@echo "make test    all checks and tests (prepares .venv with the development packages)"
	@echo "make format  format the code; make docs: write the generated documents; make clean"

demo:
	@scripts/setup kernels
	@scripts/demo

test check:
	@scripts/setup dev
	@scripts/check

format:
	@scripts/setup dev
	@.venv/bin/ruff format . && .venv/bin/ruff check --fix .

docs:
	@scripts/setup core
	@scripts/gen-docs
	@.venv/bin/python scripts/gen-device-docs

clean:
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
