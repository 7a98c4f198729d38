# `make demo` and `make test` do everything on a fresh machine that has Python
# 3.11 or newer and a C compiler (used once, to build two small extensions).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
C_SOURCES := $(shell find frontend codegen -name '*.c' -o -name '*.h')
FUZZ_SECONDS ?= 600
STRESS_SECONDS ?= 30
CONFORMANCE_FLAGS ?=
CPYTHON_FLAGS ?= --jobs 2
DEBUG_PYTHON ?= python3.11-dbg
CAPTURE_TESTS ?= test/frontend/capture
OTHER_VENV = build/venv-$(notdir $(PYTHON))
LIT_FLAGS ?= -sv
# Processes of pytest: most tests compile, which keeps one core busy. One more than there
# are cores took 174 s instead of 166 for a part of the tests (two cores, 2026-11-28).
TEST_JOBS ?= auto
PYTEST_FLAGS ?=
SINCE ?=
CHECK_FLAGS ?=
EMULATED_SUITES ?= test/gpu test/numerics
# The other suites of numerics compare numbers that are drawn on the processor.
GPU_NUMERICS := contraction indexing normalization reduction reuse shape
GPU_SUITES ?= test/gpu $(GPU_NUMERICS:%=test/numerics/test_%.py) \
	test/numerics/derivatives/test_reductions.py
GPU_SHAPES ?= 1000
GPU_PYTHON ?= $(BIN)/python
GPU_FLAGS ?=
FUZZ_PROGRAMS_FLAGS ?=
FUZZ_CHOICES_FLAGS ?=
NUMBER_ARGUMENTS_FLAGS ?=
DISTRIBUTIONS_FLAGS ?=
OPERATORS_FLAGS ?=
MODULES_FLAGS ?=
BREADTH_VENV := build/venv-breadth
BREADTH_FLAGS ?= --table docs/breadth.md --json build/breadth.json

.DEFAULT_GOAL := help
# Every target with a help text.
.PHONY: $(shell awk -F ':.*[\#][\#] ' '/^[a-z-]+:.*[\#][\#] / { print $$1 }' Makefile)

help: ## Show this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' \
		$(MAKEFILE_LIST)

install: $(VENV)/.installed ## Create .venv and install girih into it, if needed.

demo: install ## Train on digits with eager and with girih, compare.
	@$(BIN)/python -m examples.demo

demo-inference: install ## Compile a trained model and GPT-2, compare with eager.
	@$(BIN)/python -m examples.inference

# Freed memory is overwritten at once: an op that a pass erased, and looks at, is garbage.
# (Without the caches of freed chunks, which malloc leaves as they are; glibc alone.)
OVERWRITE_FREED := GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.perturb=165
# What the caches do not take is overwritten for nothing; all of it costs 15 % of the time
# of a suite of pytest (2026-11-28), which `make check` and `make test-long` have to spend.
OVERWRITE_MOST := GLIBC_TUNABLES=glibc.malloc.perturb=165

# Both runners run even when the first finds a failure; pytest's summary is last.
# Threads of kernels that wait for one another must not keep the other processes' cores
# busy meanwhile: in a suite of reductions that was a third of the processor time.
# Bytecode is kept, also where the environment forbids it: hundreds of tests start Python,
# and each process would compile a thousand files, for a second.
test: install ## Run lit, and pytest with samples of large tables of parameters.
	@status=0; unset PYTHONDONTWRITEBYTECODE; \
	$(OVERWRITE_FREED) $(BIN)/lit $(LIT_FLAGS) test || status=$$?; \
	$(OVERWRITE_MOST) GIRIH_TEST_SAMPLE=1 OMP_WAIT_POLICY=passive \
		$(BIN)/python -m pytest -n $(TEST_JOBS) --dist worksteal $(PYTEST_FLAGS) \
		|| status=$$?; \
	exit $$status

# What has changed since SINCE; CHECK_FLAGS=--help tells the options.
check: install ## Lint, tests that a change concerns, some of each net; four minutes.
	@export $(OVERWRITE_FREED); OMP_WAIT_POLICY=passive \
		$(BIN)/python -m girih.tools.check --since "$(SINCE)" $(CHECK_FLAGS)

test-long: install ## Run pytest with all that `make test` takes samples of.
	@GIRIH_TEST_LONG=1 $(OVERWRITE_FREED) OMP_WAIT_POLICY=passive \
		$(BIN)/python -m pytest -n $(TEST_JOBS) --dist worksteal $(PYTEST_FLAGS)

# In an environment of its own; the extensions of several versions lie side by side.
test-python: ## Run the tests of capture with PYTHON=python3.12 or python3.13.
	@$(MAKE) --no-print-directory install VENV=$(OTHER_VENV)
	@$(OTHER_VENV)/bin/python -m pytest $(PYTEST_FLAGS) $(CAPTURE_TESTS)

test-verified: install ## Run numerics and test/girih, IR verified after each pass.
	@GIRIH_VERIFY=1 GIRIH_TEST_LONG=1 $(BIN)/python -m pytest $(PYTEST_FLAGS) test/numerics test/girih

test-debug: install ## Test the C files under a debug CPython, DEBUG_PYTHON.
	@$(BIN)/python test/checked_build.py $(DEBUG_PYTHON)

test-sanitized: install ## Test the C files with the compiler's sanitizers.
	@$(BIN)/python test/checked_build.py sanitized

test-memory: install ## Run tests and random programs with guarded memory.
	@$(BIN)/python test/guarded.py --seconds $(FUZZ_SECONDS)

test-emulated: install ## Run the tests of GPUs and of numerics on an emulated GPU.
	@GIRIH_TEST_LONG=1 $(BIN)/python -m pytest --emulated $(PYTEST_FLAGS) $(EMULATED_SUITES)

# On a machine with a GPU and a PyTorch that has CUDA, which GPU_PYTHON may name.
test-gpu: ## Run the tests of GPUs, and suites of numerics on the device.
	@GIRIH_TEST_DEVICE=cuda $(GPU_PYTHON) -m pytest $(PYTEST_FLAGS) $(GPU_SUITES)

test-gpu-shapes: ## Each kernel at GPU_SHAPES (1000) random shapes against float64.
	@$(GPU_PYTHON) test/gpu/random_shapes.py --count $(GPU_SHAPES)

# Without PyTorch's allocator each tensor has bounds of its own.
test-gpu-memory: ## Run the tests of kernels under compute-sanitizer.
	@PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer --tool memcheck \
		--error-exitcode 1 --target-processes all \
		$(GPU_PYTHON) -m pytest $(PYTEST_FLAGS) test/gpu/test_kernels.py

bench-gpu: ## Measure eager, Inductor and girih on a GPU (about ten minutes).
	@$(GPU_PYTHON) -m benchmarks.gpu --parts kernels,overhead \
		--output build/benchmarks/gpu-kernels $(GPU_FLAGS)
	@$(GPU_PYTHON) -m benchmarks.gpu --parts models \
		--output build/benchmarks/gpu-models $(GPU_FLAGS)
	@$(GPU_PYTHON) -m benchmarks.optimizers --quick --device cuda \
		--output build/benchmarks/gpu-optimizers
	@$(GPU_PYTHON) -m benchmarks.readme build/benchmarks

rivals: install ## Install other runtimes for benchmarks.rivals into build/rivals.
	@$(BIN)/python -m pip install --quiet --no-deps --target build/rivals \
		--upgrade --requirement benchmarks/rivals/requirements.txt

# Some two hours; OPERATORS_FLAGS=--help tells how to run a part.
slower-than-eager: install ## Time PyTorch's table of operators beside eager.
	@$(BIN)/python -m benchmarks.operators --output build/benchmarks/operators \
		$(OPERATORS_FLAGS)

bench: install ## Measure eager, Inductor and girih; tables go to docs/benchmarks.md.
	@$(BIN)/python -m benchmarks.kernels --output build/benchmarks/kernels
	@$(BIN)/python -m benchmarks.models --output build/benchmarks/models
	@$(BIN)/python -m benchmarks.training --output build/benchmarks/training
	@$(BIN)/python -m benchmarks.optimizers --output build/benchmarks/optimizers
	@$(BIN)/python -m benchmarks.startup --output build/benchmarks/startup
	@$(BIN)/python -m benchmarks.overhead --output build/benchmarks/overhead
	@$(BIN)/python -m benchmarks.capture --output build/benchmarks/capture
	@$(BIN)/python -m benchmarks.readme build/benchmarks

lint: install ## Check style, layering and formatting, and what the layout promises.
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m girih.tools.house

format: install ## Format the sources with ruff.
	@$(BIN)/ruff format .

reference: install ## Write docs/reference and docs/tour.md from the code.
	@$(BIN)/python -m girih.tools.reference

fuzz: install ## Random programs against eager for FUZZ_SECONDS (600).
	@$(BIN)/python test/numerics/fuzz.py --seconds $(FUZZ_SECONDS)

fuzz-ir: install ## girih-opt on inputs with mistakes for FUZZ_SECONDS (600).
	@$(BIN)/python test/support/fuzz_ir.py --seconds $(FUZZ_SECONDS)

fuzz-package: install ## Damaged packages for FUZZ_SECONDS (600): all are refused.
	@$(BIN)/python test/support/fuzz_package.py --seconds $(FUZZ_SECONDS)

fuzz-c-package: install ## The same from C, under AddressSanitizer; hostile ones, too.
	@$(BIN)/python test/support/fuzz_c_package.py --seconds $(FUZZ_SECONDS)

fuzz-gradients: install ## The same for programs with gradients, writes and control flow.
	@$(BIN)/python test/numerics/derivatives/fuzz.py --seconds $(FUZZ_SECONDS)

processors: install ## Kernels of all element types, compiled for other processors.
	@$(BIN)/python test/codegen/cpu/sweep_processors.py

special-values: install ## Special values of all dtypes through all functions.
	@$(BIN)/python test/support/special_values.py

# Some ten minutes of one core; parts of it: DISTRIBUTIONS_FLAGS=--help.
distributions: install ## Each class of torch.distributions against eager.
	@$(BIN)/python test/support/distributions.py $(DISTRIBUTIONS_FLAGS)

# Some eight minutes of one core; parts of it: MODULES_FLAGS=--help.
modules: install ## Each module class of torch.nn against eager.
	@$(BIN)/python test/numerics/modules.py $(MODULES_FLAGS)

# Some 14,000 samples; takes ten minutes. More: CONFORMANCE_FLAGS=--help.
conformance: install ## Gradients of all samples of PyTorch's table of operators.
	@$(BIN)/python test/numerics/derivatives/conformance.py $(CONFORMANCE_FLAGS)

# All operators take twenty minutes on two cores; more: NUMBER_ARGUMENTS_FLAGS=--help.
number-arguments: install ## Numbers of all operators made symbolic, against eager.
	@$(BIN)/python test/numerics/number_arguments.py $(NUMBER_ARGUMENTS_FLAGS)

# 20,000 programs; FUZZ_PROGRAMS_FLAGS=--help tells how to run fewer, or one again.
.PHONY: fuzz-programs
fuzz-programs: install ## Random modules against eager, both entrances; hours.
	@$(BIN)/python test/outside/random_modules $(FUZZ_PROGRAMS_FLAGS)

# 5,000 programs; FUZZ_CHOICES_FLAGS="--count 100 --seed 7" runs others.
.PHONY: fuzz-choices
fuzz-choices: install ## Random modules under random decisions of passes; an hour.
	@$(BIN)/python test/outside/random_modules --choices --count 5000 \
		$(FUZZ_CHOICES_FLAGS)

# In an environment of its own, for the libraries. Parts of it: BREADTH_FLAGS=--help.
.PHONY: breadth
breadth: ## Models of public libraries against eager; takes hours.
	@$(MAKE) --no-print-directory install VENV=$(BREADTH_VENV)
	@$(BREADTH_VENV)/bin/python -m pip --disable-pip-version-check install -q \
		-c constraints.txt -r test/outside/breadth/requirements.txt
	@$(BREADTH_VENV)/bin/python test/outside/breadth $(BREADTH_FLAGS)

# Every method is a process: an hour for each job. Some: CPYTHON_FLAGS="test_set".
cpython: install ## CPython's own tests inside compiled functions.
	@$(BIN)/python test/outside/cpython.py $(CPYTHON_FLAGS)

losses: install ## 20 steps of BERT-base and GPT-2 in real size, eager and compiled.
	@$(BIN)/python test/numerics/derivatives/losses.py

stress: install ## 32 threads compile and call 32 functions for STRESS_SECONDS (30).
	@$(BIN)/python test/support/thread_stress.py --seconds $(STRESS_SECONDS)

check-wheel: install ## Build the wheel, run the quick start where no compiler is.
	@$(BIN)/python test/check_wheel.py

clean: ## Remove everything that make created.
	rm -rf $(VENV) build dist *.egg-info
	find . -name '*.so' -not -path './.venv/*' -delete

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; v = sys.version_info; \
		sys.exit(v < (3, 11) and "girih needs Python 3.11 or newer, and \
	$(PYTHON) is %d.%d: run make PYTHON=/path/to/python3.11" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	@touch $@

# torch comes first and pinned: nothing that follows can then replace it.
$(VENV)/.dependencies: $(VENV)/.created constraints.txt
	$(PIP) install -q -c constraints.txt setuptools wheel torch
	@touch $@

$(VENV)/.installed: $(VENV)/.dependencies pyproject.toml $(C_SOURCES)
	$(PIP) install -q -c constraints.txt --no-build-isolation -e '.[test,demo]'
	@touch $@
