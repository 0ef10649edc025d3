# The front door. Meson and Ninja do the work behind it; every target first
# runs scripts/setup, which is silent and instant when nothing is missing.

B     ?= build
export PREFIX DESTDIR SYSCONFDIR PROGRAM ZSHDIR

.PHONY: help setup run build install uninstall static npm deb cluster test unit conformance layers asan fuzz nodes faults torture trace bench fmt clean test-packaging

help:      ## this list
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

setup:
	@scripts/setup

build: setup ## the release binary at build/parley, the page inside it
	@scripts/build $(B) -Dbuildtype=release

install: build ## the program, its manual, completion, unit and documentation; PREFIX=/usr/local DESTDIR=
	@scripts/install $(B)

uninstall: ## take away what make install put there; configuration and store stay
	@scripts/install remove

static: ## one self-contained binary at build-static/parley: it loads libc (and its libm) only; with its SBOM
	@scripts/setup static
	@scripts/static

npm: static ## the package for npx made from it, at build-npm
	@scripts/npm

deb: ## the Debian package parley-server, at build-deb
	@scripts/setup deb
	@scripts/deb

run: build ## serve the demo on http://127.0.0.1:8000
	@exec $(B)/parley serve

cluster: build ## PostgreSQL, three nodes and a proxy on this machine, one address; NODES=5 PORT=9000 DIR=folder CONFIG=file
	@scripts/setup test
	@PATH="$$(scripts/node):$$PATH" NODES=$(or $(NODES),3) PORT=$(or $(PORT),8000) DIR=$(DIR) CONFIG=$(CONFIG) STORE=$(STORE) scripts/cluster

test: ## every test there is; last line: N passed, N failed
	@scripts/setup test
	@scripts/test

unit: setup ## only the unit tests; make unit T=json runs those whose name contains it
	@scripts/build build-test
	@build-test/unit $(T)

asan: ## the whole suite under AddressSanitizer and UBSan
	@scripts/setup test
	@SANITIZE=1 scripts/test

fuzz: setup ## every parser on random input; make fuzz S=600 T=json for longer, for one
	@scripts/fuzz $(or $(S),60) $(T)

conformance: setup ## both MCP sides against real servers, real clients and the conformance suite (needs npm)
	@scripts/build build-test
	@node test/mcp/run.mjs

nodes: setup ## every suite of clients, each of its servers three nodes behind a proxy (docs/cluster.md); SUITES=live T=word: some
	@scripts/setup test
	@scripts/build build-test
	@scripts/nodes $(or $(SUITES),wire live ai openai agui) -- $(T)

faults: setup ## kill -9, full disks, failing memory, clock jumps ..., a payment ledger as judge; LONG=1: 10,000 kills; T=word: some
	@scripts/build build-test
	@LONG=$(LONG) node test/fault/run.mjs "$(T)"

torture: setup ## hostile model, tools and clients at once, under the sanitizers; S=3600 SEED=7 KEEP=1 (go on after a finding) REPLAY=file
	@scripts/build build-asan
	@node test/torture/run.mjs --seconds $(or $(S),60) $(if $(SEED),--seed $(SEED)) $(if $(KEEP),--keep-going) $(if $(REPLAY),--replay $(REPLAY))

trace: setup ## the way of one gated message through the files, as ARCHITECTURE.md tells it; V=1 prints it
	@scripts/build build-test
	@$(if $(V),PRINT=1) node test/trace/run.mjs

test-packaging: ## packages really built, installed into clean roots and started; needs root and a Debian mirror; T=word: some
	@scripts/setup test packaging
	@scripts/build build-test
	@ALL=1 node test/packaging/run.mjs $(T)

layers: ## fail on an include that points the wrong way
	@scripts/layers

bench: setup ## speed beside nginx, Node and the AI SDK, in under 4 minutes; LONG=1 takes longer
	@bench/run

fmt: ## format the C code as .clang-format says
	@scripts/format fix

clean: ## forget everything that was built
	@rm -rf build build-*
