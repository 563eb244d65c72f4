# The packages bring a Node 24 of their own: every recipe below runs with that one.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
SHELL := /bin/sh
.DEFAULT_GOAL := help

INSTALLED := node_modules/.installed
CLIENT := api/src/generated/prisma/client.ts
MANIFESTS := package.json package-lock.json .npmrc $(wildcard */package.json test/network/package.json)
JEST := npm run --silent jest --

##@ Use
.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## The gateway on this machine: address, first API key, a curl to try
	@exec node bin/gwk.js local up

.PHONY: reset
reset: ## Remove what make run keeps (.local: database, queue, keys, logs)
	@exec node scripts/reset.js

##@ Build
.PHONY: install
install: $(INSTALLED) ## Packages, and a Node 24 among them

$(INSTALLED): $(MANIFESTS) scripts/install.js
	@node scripts/install.js
	@touch $@

$(CLIENT): $(INSTALLED) api/prisma/schema.prisma api/prisma.config.js
	@npm run --silent prisma:generate
	@touch $@

.PHONY: build
build: $(INSTALLED) $(CLIENT) ## TypeScript to JavaScript
	@npm run --silent build

.PHONY: clean
clean: ## Remove what was built or generated
	rm -rf */dist api/src/generated

##@ Ship
.PHONY: images
images: build ## Images as archives in .images, without Docker (ARGS='--registry R --tag T api ...')
	@exec node images/make.js $(ARGS)

.PHONY: sbom
sbom: build ## What is in the images, as CycloneDX, in .images
	@exec node images/sbom.js $(ARGS)

##@ Check
.PHONY: test
test: $(INSTALLED) ## Checks, unit, integration and smoke tests: minutes
	@exec node test/run.js default

.PHONY: test-slow
test-slow: $(INSTALLED) ## The other tiers: processes, interop, Kubernetes, chart, monitoring, load, chaos, e2e
	@exec node test/run.js slow

.PHONY: test-tiers
test-tiers: $(INSTALLED) ## Some tiers (TIERS='processes chart')
	@exec node test/run.js $(TIERS)

.PHONY: test-all
test-all: $(INSTALLED) ## Every check and every test
	@exec node test/run.js all

.PHONY: checks
checks: lint format-check types openapi ## Lint, format, types, the description of the interface

.PHONY: lint
lint: build ## ESLint: style, sizes, imports between workspaces
	@npm run --silent lint

.PHONY: openapi
openapi: build ## Lint the description of the interface (OpenAPI)
	@npm run --silent lint:openapi

.PHONY: prose
prose: $(INSTALLED) ## Words and sentences of comments, docs, chart and SQL (ARGS='docs api/src/http')
	@exec node scripts/prose.js $(ARGS)

.PHONY: licences
licences: ## What packages are used under which licence (THIRD-PARTY.md), without a network
	@exec node scripts/licences.js

.PHONY: audit
audit: ## Known vulnerabilities of packages and images; ends with 3 where they could not be looked up
	@exec node scripts/audit.js

.PHONY: docs
docs: build ## Pages that are made from the code (docs/configuration.md)
	@exec node scripts/docs.js

.PHONY: dashboards
dashboards: ## The dashboards for Grafana (charts/gwk/dashboards), made from scripts/dashboards
	@exec node scripts/dashboards.js

.PHONY: crds
crds: build ## The definition of Instance (crds/, and the chart's copy), made from core
	@exec node scripts/crds.js

.PHONY: kubernetes
kubernetes: build ## Programs of Kubernetes for tests, built from Go modules into ~/.cache/gwk, once
	@exec node scripts/kubernetes.js

.PHONY: format
format: $(INSTALLED) ## Rewrite files in the one format
	@npm run --silent format

.PHONY: format-check
format-check: $(INSTALLED)
	@npm run --silent format:check

.PHONY: types
types: $(INSTALLED) $(CLIENT) ## Type-check all, tests included
	@npm run --silent types

.PHONY: fuzz
fuzz: build ## 20,000 hostile requests against every operation (FUZZ_SEED=n repeats a run)
	@FUZZ_REQUESTS=20000 $(JEST) --selectProjects processes fuzz

.PHONY: e2e
e2e: build ## The chart on a whole Kubernetes with two nodes, as root: outages under traffic, with figures (ONLY=pattern)
	@exec node test/dist/e2e/main.js

.PHONY: crowd
crowd: build ## The listeners of a gateway with 10,000 idle connections (CONNECTIONS=n)
	@CROWD_CONNECTIONS=$(or $(CONNECTIONS),10000) $(JEST) --selectProjects load crowded-listeners

.PHONY: chaos
chaos: build ## A number while everything under it fails (SECONDS=3600 SEEDS=7,8 PER_SECOND=5)
	@CHAOS_SECONDS=$(or $(SECONDS),3600) CHAOS_SEEDS=$(or $(SEEDS),1) CHAOS_PER_SECOND=$(or $(PER_SECOND),5) $(JEST) --selectProjects chaos number

##@ Measure
.PHONY: bench-accept
bench-accept: build ## The accept path against its floor
	@exec node test/dist/bench/accept.js

.PHONY: bench-flow
bench-flow: build ## The highest rate with p99 accepted to sent <= 250 ms, over 50 engines (ENGINES=n HOLD=s RATE=n)
	@exec node test/dist/bench/flow.js

.PHONY: bench-density
bench-density: build ## Memory and processor of idle numbers, beside bare Baileys and a peer (PEER=/path/to/gowa NUMBERS=1,10,50)
	@exec node test/dist/bench/density.js

.PHONY: bench-webhooks
bench-webhooks: build ## Deliveries of a worker against a bare loop, and beside dead destinations
	@exec node test/dist/bench/webhooks.js

.PHONY: bench-inbound
bench-inbound: build ## Messages received by one engine, and by one API
	@exec node test/dist/bench/inbound.js

.PHONY: bench-garbage
bench-garbage: build ## What messages that cannot be read cost an engine (MESSAGES=5000 STRANGERS=1,50)
	@exec node test/dist/bench/garbage.js

.PHONY: bench-growth
bench-growth: build ## Sends and lists on a database of a million messages beside an empty one (MESSAGES=0,10000000 the long form)
	@exec node test/dist/bench/growth.js

.PHONY: bench-fleet
bench-fleet: build ## All engines of a fleet at once, killed and cut off (NUMBERS=400 the long form)
	@exec node test/dist/bench/fleet.js

.PHONY: bench-engine
bench-engine: build ## Memory, start and throughput of one engine, beside bare Baileys (GROWTH=100000 the long form)
	@exec node test/dist/bench/engine.js

.PHONY: bench-retention
bench-retention: build ## What sends feel of a million events that expire
	@exec node test/dist/bench/retention.js

.PHONY: bench-operator
bench-operator: build ## The operator among 10,000 Instances, and on nodes as root (PART=many, PART=nodes, INSTANCES=n)
	@exec node test/dist/bench/operator.js
