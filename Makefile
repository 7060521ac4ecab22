# make demo   sets up, then builds, checks and measures one real kernel
# make test   sets up, then runs every check and test

BIN := .venv/bin
# Tests start hundreds of Pythons: the modules are compiled once, whatever the shell says. Empty is not set.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo test clean
.DEFAULT_GOAL := demo

setup:
	@scripts/setup.sh

demo: setup
	$(BIN)/planish build examples/polybench/gemm.c -o build/demo

test: setup
	@scripts/fetch_isl_tests.sh || true
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports
	$(BIN)/pytest -n auto --dist worksteal -q

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
