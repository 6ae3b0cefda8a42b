# `make demo` and `make test` need Python 3.11 or newer and nothing else: every target first makes .venv, once.

PY := .venv/bin/python
STAMP := .venv/.installed
DEMO := $(or $(TMPDIR),/tmp)/hotloop-demo
export TF_CPP_MIN_LOG_LEVEL ?= 2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint docs rule rerecord bench

# The stamp holds the folder it was made in: a .venv that was moved or copied here would run the other folder's source.
ifneq "$(shell cat $(STAMP) 2>/dev/null)" "$(CURDIR)"
.PHONY: $(STAMP)
endif

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1|/p' Makefile | while IFS='|' read -r name what; do printf '  make %-10s %s\n' "$$name" "$$what"; done

demo: $(STAMP) ## diagnose a program that labels images the slow way, then mend it, prove it, and do its job outright
	@$(PY) src/hotloop/demo/make_inputs.py
	$(PY) -m hotloop run src/hotloop/demo/label_images.py
	$(PY) -m hotloop fix --run src/hotloop/demo/label_images.py
	$(PY) -m hotloop label $(DEMO)/graph.pb $(DEMO)/images --labels $(DEMO)/labels.txt --output $(DEMO)/labels.csv --overwrite

test: lint ## every check: lint, types, tests without TensorFlow, tests with it
	$(PY) -m pytest tests --ignore tests/tf -n 2
	$(PY) -m pytest tests/tf -m 'not alone' -n 2 --dist loadgroup
	$(PY) -m pytest tests/tf -m alone

lint: $(STAMP) ## ruff and mypy
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

docs: $(STAMP) ## write docs/rules/ and the README's table from the rules themselves
	$(PY) tools/gendocs.py

rule: $(STAMP) ## NAME=some-ailment: a new rule folder, whose questions fail until it is filled in
	$(PY) tools/newrule.py '$(NAME)'

rerecord: $(STAMP) ## [NAME=some-ailment]: record every rule's specimens again (needs TensorFlow, takes minutes)
	$(PY) tools/rerecord.py $(NAME)

bench: $(STAMP) ## measure what recording, checking and labelling cost and what the fixes gain, into bench/results/
	$(PY) bench/overhead.py
	$(PY) bench/specimens.py
	$(PY) bench/check.py
	$(PY) bench/crater.py --check
	$(PY) bench/fixes.py
	$(PY) bench/label.py
	$(PY) bench/label.py --network mobilenet
	$(PY) bench/label.py --network mobilenet --flat 20000
	$(PY) bench/label.py --demo

$(STAMP): pyproject.toml constraints.txt
	@for python in python3.11 python3; do \
	  if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$${found:-}" ]; then echo 'hotloop needs Python 3.11 or newer: neither python3.11 nor python3 is one.' >&2; exit 2; fi; \
	[ -x $(PY) ] || "$$found" -m venv .venv || { echo "$$found cannot make a virtual environment: is its venv module installed?" >&2; exit 2; }
	$(PY) -m pip install --quiet --disable-pip-version-check -e '.[dev,parquet,ray,tensorflow]' -c constraints.txt
	@pwd -P > $(STAMP)
