# Every target starts from nothing: it makes .venv with the system's Python, installs the package with
# the extra that it needs, and runs. A second call finds both in place, until pyproject.toml changes.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python

.PHONY: train digits soft-dtw example test parity operators cuda gpu libraries package types mpi fuzz bench docs site lint clean
.DELETE_ON_ERROR:
.SECONDARY:

train: $(VENV)/installed-examples
	$(RUN) examples/two_layer_net.py

digits: $(VENV)/installed-examples
	$(RUN) examples/digits.py

soft-dtw: $(VENV)/installed-examples
	$(RUN) examples/soft_dtw.py

# Any other file of examples/: make example NAME=char_gpt
example: $(VENV)/installed-examples
	$(RUN) examples/$(NAME).py

# Most of the time goes into compiling kernels, which one process does on one core.
PROCESSES := --numprocesses auto --maxprocesses 4 --dist worksteal

test: $(VENV)/installed-test
	$(RUN) -m pytest tests --ignore=tests/parity --ignore=tests/libraries --ignore=tests/site --ignore=tests/packaging \
		--ignore=tests/distributed --ignore=tests/types --ignore=tests/cuda --ignore=tests/array_api $(PROCESSES)

parity: $(VENV)/installed-parity
	$(RUN) -m pytest tests/parity $(PROCESSES)

# PyTorch's operator database beside torch: make operators ONLY="linalg.svd special.zeta" SHARD=1/4
# Verdicts are kept in RECORD, and a run that was ended goes on there; AGAIN=1 judges those that failed again.
SHARD ?= 1/1
RECORD ?= build/operators.jsonl
operators: $(VENV)/installed-operators
	$(RUN) tests/parity/operator_database.py --shard $(SHARD) --record $(RECORD) $(if $(ONLY),--only $(ONLY)) \
		$(if $(AGAIN),--again)

# Kernels for GPUs without one: in Numba's simulator, the driver on a libcuda of Python, and compiled as
# far as ptxas.
# (More of the libcuda, in a minute or two of its own: make cuda OF_DRIVER=training.py)
OF_DRIVER := memory.py interchange.py streams.py
# (Kernels that have changed since bench/ptx-kernels.json was written are assembled, and the longest and every
# sixth of the others. All, before a release: make cuda EVERY=1; the record: tools/cuda_registers.py)
EVERY ?= 6
cuda: $(VENV)/installed-cuda-test
	NUMBA_ENABLE_CUDASIM=1 $(RUN) -m pytest tests/cuda/simulated $(PROCESSES)
	NUMBA_ENABLE_CUDASIM=1 $(RUN) -m pytest -p cuda_library $(addprefix tests/cuda/simulated/test_,$(OF_DRIVER)) \
		-k "not reductions and not any_size and not test_products" $(PROCESSES)
	ASSEMBLED_EVERY=$(EVERY) $(RUN) -m pytest tests/cuda/ptx $(PROCESSES)

# For a machine with a GPU: the tests of the simulator on it, and what was seen in bench/RESULTS-cuda.md.
# torch, to compare with, is one of its GPUs; without it the rows beside torch say so. It is installed in one
# call with the others, as it asks for one release of CUDA's libraries, which theirs then are as well.
gpu:
	$(MAKE) '$(VENV)/installed-cuda,cuda-test,parity' || $(MAKE) '$(VENV)/installed-cuda,cuda-test'
	$(RUN) tools/cuda_parity.py

# Libraries of torch on this package: without their dependencies, as each asks for torch itself.
libraries: $(VENV)/installed-libraries
	$(RUN) -m pip install --quiet --no-deps --requirement tests/libraries/requirements.txt
	$(RUN) -m numbagrad -m pytest tests/libraries

# Several processes: every rank runs the tests of tests/distributed/ranks; jobs that fail on purpose, and
# the launcher, are started by those of tests/distributed/jobs. Ranks that wait yield their core.
# Without the jobs: make mpi JOBS=
MPIEXEC := OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 \
	PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe NUMBAGRAD_NUM_THREADS=1 $(VENV)/bin/mpiexec
RANKS := 2 4
JOBS := tests/distributed/jobs
mpi: $(VENV)/installed-mpi-test
	set -e; for ranks in $(RANKS); do \
		$(MPIEXEC) -n $$ranks $(RUN) -m pytest -p no:cacheprovider tests/distributed/ranks; done
	$(if $(JOBS),$(RUN) -m pytest $(JOBS))

# Libraries that take arrays of any namespace, and the tests of the standard in a folder of theirs:
# make array-api TESTS=../array-api-tests
.PHONY: array-api
array-api: $(VENV)/installed-array-api
	$(RUN) -m pytest tests/array_api
	$(if $(TESTS),cd $(TESTS) && ARRAY_API_TESTS_MODULE=numbagrad.array_api \
		ARRAY_API_TESTS_VERSION=2024.12 ARRAY_API_TESTS_SKIP_DTYPES=uint16,uint32,uint64 \
		$(abspath $(RUN)) -m pytest array_api_tests --disable-deadline)

# Random programs beside torch, as many as are asked for: make fuzz EXAMPLES=20000 SEED=7
EXAMPLES ?= 2000
SEED ?= 0
fuzz: $(VENV)/installed-fuzz
	$(RUN) tests/fuzz.py --examples $(EXAMPLES) --seed $(SEED)

# What a type checker says of programs.
types: $(VENV)/installed-types
	$(RUN) -m pytest tests/types

# The wheel and the sdist in dist/, with kernels that are compiled ahead, each installed in an environment of its own and tried.
package: $(VENV)/installed-package
	rm -rf dist build
	$(RUN) tools/ship_kernels.py
	$(RUN) -m build --outdir dist .
	$(RUN) -m pytest tests/packaging

# The kernels for aarch64 beside this machine's, under qemu: apt install qemu-user, and the network.
.PHONY: aarch64
aarch64: $(VENV)/installed-package
	$(RUN) tools/ship_kernels.py aarch64
	$(RUN) tools/emulate_aarch64.py

bench: $(VENV)/installed-bench
	$(RUN) -m bench

# The site, in docs/_build/html: its tutorials run while it is built.
docs: $(VENV)/installed-docs
	$(RUN) -m sphinx -W --keep-going -b html docs docs/_build/html

# Its tests; what a browser shows is asked of Debian's chromium (apt install chromium).
site: $(VENV)/installed-docs
	$(RUN) -m pytest tests/site

lint: $(VENV)/installed-lint
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports

clean:
	rm -rf $(VENV) build dist docs/_build docs/reference docs/plots *.egg-info .pytest_cache .ruff_cache .mypy_cache .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The interpreter is a link to a file that may be older or newer than anything here, so only its
# presence counts.
$(VENV)/installed-%: pyproject.toml | $(RUN)
	$(RUN) -m pip install --quiet --editable '.[$*]'
	touch $@

$(RUN):
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
