# make demo   sets up, then builds, checks and measures one real kernel
# make test   sets up, then runs every check and test
# make docs   writes the site to build/site, all links checked; needs the extra `docs`

BIN := .venv/bin
# Tests start hundreds of Pythons: the modules are compiled once, whatever the shell says. Empty is not set.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo test docs clean
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

MKDOCS = $(BIN)/mkdocs

docs: setup
	@command -v $(MKDOCS) >/dev/null || { echo "make docs needs: $(BIN)/pip install -e '.[docs]'"; exit 1; }
	NO_MKDOCS_2_WARNING=1 $(MKDOCS) build --strict --quiet
	@echo "wrote build/site/index.html"

clean:
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
