# make run: install into .venv and run the demonstration. make test: install with everything that checks need, run the suite.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?= -n auto
SOURCES := pyproject.toml CMakeLists.txt README.md LICENSE $(shell find core src -type f -not -name '*.pyc' -not -name '*.so')
CORE_SOURCES := $(shell find core -name '*.cpp' -o -name '*.hpp')
TOOLS := PATH="$(abspath $(BIN)):$$PATH"

.PHONY: run test test-clang in-place lint format types core-asan core-tsan core-clang core-native docs wheel clean

run: $(VENV)/installed
	mkdir -p build
	$(BIN)/python -m maxmargin.demo build/spirals.model

test: $(VENV)/installed-dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest $(PYTEST_ARGS)

# The suite on a module built by clang++ with libc++.
test-clang: $(VENV)/installed-dev
	rm -rf build/clang-site
	CXX=clang++ CXXFLAGS=-stdlib=libc++ LDFLAGS=-stdlib=libc++ $(BIN)/pip install --no-deps --target build/clang-site .
	PYTHONPATH=build/clang-site OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest $(PYTEST_ARGS)

# The core built into src/, only what changed: for a quick turn, PYTHONPATH=src .venv/bin/python -m pytest tests/...
in-place: $(VENV)/installed-dev
	$(TOOLS) cmake -G Ninja -S . -B build/in-place -D Python_EXECUTABLE=$(abspath $(BIN)/python) \
		-D nanobind_DIR="$$($(BIN)/python -m nanobind --cmake_dir)"
	$(TOOLS) cmake --build build/in-place
	$(TOOLS) cmake --install build/in-place --prefix src

lint: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run -Werror $(CORE_SOURCES)

format: $(VENV)/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CORE_SOURCES)

types: $(VENV)/installed-dev
	$(BIN)/mypy

core-asan core-tsan core-clang core-native: core-%: $(VENV)/installed-dev
	$(TOOLS) cmake --workflow --preset $*

docs: $(VENV)/installed-dev
	$(BIN)/sphinx-build --fail-on-warning --keep-going -j auto -b html docs docs/_build/html

wheel: $(VENV)/installed-dev
	$(BIN)/pip wheel --no-deps --wheel-dir dist .

clean:
	rm -rf build dist docs/_build $(VENV)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(VENV)/bin/python $(SOURCES)
	$(BIN)/pip install .
	touch $@

$(VENV)/installed-dev: $(VENV)/bin/python $(SOURCES)
	$(BIN)/pip install '.[dev]'
	touch $@ $(VENV)/installed
