# Everything lives in .venv; nothing but Python 3.11+, make and (for the demo) git has to be there
# before.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
RUN    := $(VENV)/.run-installed
TEST   := $(VENV)/.test-installed
RAY    := $(VENV)/ray
PAGE   := $(VENV)/page
DOCS   := $(VENV)/docs
SITE   := build/docs
# Each framework, and what its tests need besides its extra.
FRAMEWORKS := langchain llamaindex hamilton-ui
langchain  := langchain-tests>=1.1,<2
# What the tests of other services run: the readers of libraries.
SERVICES := 'dlt>=1.31,<2' $(patsubst %,'llama-index-readers-%',jira>=0.7 confluence>=0.8 slack>=0.6 gitlab>=0.7)
PIP    := $(BIN)/python -m pip install -q --disable-pip-version-check
UV     := $(BIN)/uv pip install -q --python $(BIN)/python --compile-bytecode
LOCK   := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header

# What the lock file $(1) says, and this project. uv takes a quarter of pip's time; where only pip
# knows the way to the registry, pip does it.
define installed
	$(PIP) --require-hashes -r requirements/uv.lock && \
	  $(UV) --require-hashes -r $(1) && $(UV) --no-deps -e . || \
	  { echo "without uv: pip takes longer"; \
	    $(PIP) --require-hashes -r $(1) && $(PIP) --no-deps -e .; }
endef

.PHONY: help install demo test collect test-fast test-kills test-citus test-mcp test-page test-ray test-frameworks test-services lint hooks bench soak render docs wheel release-check lock clean

help:  ## what there is to make
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

install: $(RUN)  ## crosscorpus and its embedding model, into .venv and your data directory
	$(BIN)/crosscorpus models install

demo: install  ## ask a small project that comes along three questions
	$(BIN)/crosscorpus demo

test: $(TEST)  ## every test, on a real embedded server, then lint and types
	$(BIN)/crosscorpus models install
	$(MAKE) --no-print-directory -j 2 lint collect
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder

# Hundreds of processes start: what they import is compiled once, whatever the user's shell says.
collect: $(TEST)
	-@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --collect-only >/dev/null

test-fast: $(TEST)  ## in a minute and a half: every test that needs neither a server nor a process
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder -m 'not heavy'

test-kills: $(TEST)  ## minutes: a run is killed at every point that it has, not only at the first of each kind
	CROSSCORPUS_TEST_EXAMPLES=25 $(BIN)/python -m pytest -n 4 -k 'killed or dies or fresh_full_build' tests/dataflow/ingestion

test-citus: $(TEST)  ## the Postgres part of the tests on a real Citus cluster, if its sources are here
	tests/citus/run.sh $(abspath $(BIN)/python)

test-mcp: $(TEST)  ## what others wrote, against a server: MCP conformance, inspector, 1.x client, schemathesis
	tests/mcp/run.sh $(abspath $(BIN)/python)

test-page: $(TEST)  ## the page in Chromium, if it is installed, in an environment of its own
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python $(PAGE)
	$(BIN)/uv pip install -q --python $(PAGE)/bin/python -c requirements/test.lock -e '.[serve,test,code]' playwright
	$(PAGE)/bin/python -m pytest -rs tests/dataflow/service/test_page.py

test-ray: $(TEST)  ## the examples with Ray, in an environment of their own
	$(BIN)/crosscorpus models install
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python $(RAY)
	$(BIN)/uv pip install -q --python $(RAY)/bin/python -c requirements/test.lock -e '.[ray,test,evaluate,code]'
	$(RAY)/bin/python -m pytest tests/test_ray.py

test-frameworks: $(addprefix test-,$(FRAMEWORKS))  ## the retriever of each framework, in an environment of its own

$(addprefix test-,$(FRAMEWORKS)): test-%: $(TEST)
	$(BIN)/crosscorpus models install
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python $(VENV)/$*
	$(BIN)/uv pip install -q --python $(VENV)/$*/bin/python -c requirements/test.lock -e '.[$*,test,code]' $(patsubst %,'%',$($*))
	$(VENV)/$*/bin/python -m pytest -rs tests/dataflow/frameworks 'tests/test_documentation.py::test_the_python_of_a_page_runs_from_top_to_bottom[frameworks.md]'

# PyAirbyte's rich and uv are older than those of the lock, and a connector has its own environment.
test-services: $(TEST)  ## real readers of Jira, Confluence, Slack, GitLab against servers on loopback
	$(BIN)/crosscorpus models install
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python $(VENV)/services
	$(BIN)/uv pip install -q --python $(VENV)/services/bin/python -c requirements/test.lock -e '.[test,code,office]' $(SERVICES)
	$(VENV)/services/bin/python -m pytest -rs tests/services
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python $(VENV)/faker
	$(BIN)/uv pip install -q --python $(VENV)/faker/bin/python 'airbyte-source-faker>=7.2,<8'
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python $(VENV)/airbyte
	$(BIN)/uv pip install -q --python $(VENV)/airbyte/bin/python -e . 'airbyte>=0.71,<1' pytest hypothesis
	SOURCE_FAKER=$(abspath $(VENV)/faker/bin/source-faker) $(VENV)/airbyte/bin/python -m pytest -rs tests/services/test_airbyte.py

lint: $(TEST)  ## format, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(TEST)  ## every benchmark, as tables
	$(BIN)/python -m benchmarks

HOURS ?= 2
soak: $(TEST)  ## hours (HOURS=2) of everything at once, with kills: a picture of what grows, and answers compared
	$(BIN)/python -m benchmarks.soak --minutes $$(awk 'BEGIN { print 60 * $(HOURS) }')

render: $(RUN)  ## draw dag.png and overview.png again, and the .dot files, which a test compares
	$(BIN)/crosscorpus render --out dag.png
	$(BIN)/crosscorpus render --stages --out overview.png
	@# of few colours, a picture takes a quarter
	$(BIN)/uv run -q --no-project --with pillow python -c "import sys; from PIL import Image; [Image.open(n).convert('RGB').quantize(32).save(n, optimize=True) for n in sys.argv[1:]]" dag.png overview.png
	$(BIN)/crosscorpus render --out dag.dot
	$(BIN)/crosscorpus render --stages --out overview.dot

docs: $(TEST)  ## the documentation as a site, in build/docs/site; its generator has an environment of its own
	$(BIN)/uv venv -q --allow-existing --python $(BIN)/python $(DOCS)
	$(BIN)/uv pip install -q --python $(DOCS)/bin/python -c requirements/test.lock -e '.[docs]'
	$(DOCS)/bin/python -m tools.docs_site $(SITE)
	$(DOCS)/bin/zensical build --strict -f $(SITE)/mkdocs.yml
	$(DOCS)/bin/python -m tools.docs_site.check $(SITE)/site

wheel: $(TEST)  ## build the wheel of this version, into dist/
	$(BIN)/uv build --wheel --out-dir dist

release-check: wheel  ## whether this version can be released: wheel, metadata, licences, changelog
	$(BIN)/python deploy/release_check.py

hooks:  ## lint before each commit
	git config core.hooksPath .githooks

lock: $(TEST)  ## resolve the locked environments again
	echo 'uv>=0.13,<1' | $(LOCK) - -o requirements/uv.lock
	$(LOCK) pyproject.toml --extra code --extra watch --extra render -o requirements/run.lock
	$(LOCK) pyproject.toml $(foreach extra,code office static watch render tokens notebook serve bench otel test,--extra $(extra)) -o requirements/test.lock

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || \
	  { echo "no program $(PYTHON): make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUN): pyproject.toml requirements/run.lock | $(BIN)/python
	$(call installed,requirements/run.lock)
	@touch $@

$(TEST): pyproject.toml requirements/test.lock | $(BIN)/python
	$(call installed,requirements/test.lock)
	@touch $@ $(RUN)

clean:  ## remove the environment and what tools left behind
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .schemathesis dist $(SITE)
