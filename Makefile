# The npm packages include Node 24; every recipe below uses it.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
SHELL := /bin/sh
.DEFAULT_GOAL := help

INSTALLED := node_modules/.installed
CLIENT := api/src/generated/prisma/client.ts
MANIFESTS := package.json package-lock.json .npmrc $(wildcard */package.json test/network/package.json sdk/*/package.json)
JEST := npm run --silent jest --

##@ Use
.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^##@/ { printf "\n%s\n", substr($$0, 5) } /^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Run the gateway on this machine; prints its address, an API key and a curl command
	@exec node bin/gwk.js local up

.PHONY: reset
reset: ## Delete the data of make run (.local: database, queue, keys, logs)
	@exec node scripts/reset.js

##@ Build
.PHONY: install
install: $(INSTALLED) ## Install the npm packages, which include Node 24

$(INSTALLED): $(MANIFESTS) scripts/install.js
	@node scripts/install.js
	@touch $@

$(CLIENT): $(INSTALLED) api/prisma/schema.prisma api/prisma.config.js
	@npm run --silent prisma:generate
	@touch $@

.PHONY: build
build: $(INSTALLED) $(CLIENT) ## Compile TypeScript and the web console
	@npm run --silent build

.PHONY: clean
clean: ## Delete compiled and generated files
	rm -rf */dist sdk/*/dist sdk/python/build api/src/generated sdk/*/src/generated

##@ Ship
PROGRAMS := api worker decoder operator engine
DOCKER ?= docker
REGISTRY ?= docker.io/library
TAG ?= 0.1.0

.PHONY: images
images: ## Build the container images with Docker (REGISTRY=registry.example.com/gwk TAG=0.1.0 DOCKER=podman)
	@command -v $(DOCKER) >/dev/null || { echo 'images: $(DOCKER) is not installed' >&2; exit 1; }
	@set -e; for program in $(PROGRAMS); do \
	  $(DOCKER) build --target $$program --build-arg VERSION=$(TAG) --build-arg REVISION="$$(git rev-parse HEAD)" \
	    --tag $(REGISTRY)/gwk-$$program:$(TAG) .; \
	done

.PHONY: cli
cli: build ## Build gwk for people without the source tree: an npm package and executables in cli/dist
	@exec node cli/build.js executable
	@npm pack --silent ./cli/dist/package --pack-destination cli/dist

.PHONY: sdk-python
sdk-python: build ## Build the Python client into sdk/python/dist (needs Python 3.10)
	@exec node sdk/python/build.js

.PHONY: krew
krew: $(INSTALLED) ## Print the krew manifest of an archive with kubectl-gwk (ARCHIVE=file URL=address PLATFORM=linux/amd64)
	@exec node scripts/krew.js '$(ARCHIVE)' '$(URL)' $(PLATFORM)

##@ Release
RELEASE := node --import ./test/support/typescript.js scripts/release
VERSION ?= $(TAG)
PLATFORM ?= amd64
FILES = .images/release/$(VERSION)

.PHONY: release-dry-run
release-dry-run: build ## Make, sign and verify a release in a registry on this machine (VERSION=0.1.0; needs Go)
	@exec $(RELEASE)/dry-run.ts $(VERSION)

.PHONY: release-promises
release-promises: build ## Keep the interfaces of this version in compatibility/, for the check of the next versions
	@exec $(RELEASE)/release.ts promises $(VERSION)

.PHONY: release-login
release-login:
	@printenv REGISTRY_TOKEN | $(DOCKER) login $(firstword $(subst /, ,$(REGISTRY))) --username release --password-stdin

.PHONY: release-images
release-images: ## Build the images of one architecture and push them (VERSION=0.1.0 PLATFORM=amd64 REGISTRY=ghcr.io/gwk-dev)
	@$(MAKE) images TAG=$(VERSION)
	@set -e; for program in $(PROGRAMS); do \
	  $(DOCKER) tag $(REGISTRY)/gwk-$$program:$(VERSION) $(REGISTRY)/gwk-$$program:$(VERSION)-$(PLATFORM); \
	  $(DOCKER) push $(REGISTRY)/gwk-$$program:$(VERSION)-$(PLATFORM); \
	done

.PHONY: release-publish
release-publish: build ## Sign the pushed images, publish the chart and write the files of the release to .images/release
	@exec $(RELEASE)/release.ts publish $(VERSION) $(REGISTRY)

.PHONY: release-verify
release-verify: build ## Run the commands of docs/verify.md against a published release
	@exec $(RELEASE)/release.ts verify $(VERSION) $(REGISTRY)

.PHONY: release-page
release-page: ## Create the release on GitHub, with its part of CHANGELOG.md and its files
	@awk '/^## \[/ { on = index($$0, "[$(VERSION)]") } on' CHANGELOG.md >.images/release/notes.md
	@gh release create v$(VERSION) --verify-tag --title $(VERSION) --notes-file .images/release/notes.md $(FILES)/*

.PHONY: release-npm
release-npm: ## Publish the npm packages of the release with their provenance
	@set -e; for package in $(FILES)/gwk-cli-$(VERSION).tgz $(FILES)/gwk-client-$(VERSION).tgz; do \
	  npm publish --access public --provenance $$package; \
	done

##@ Check
.PHONY: test
test: $(INSTALLED) ## Run checks, unit, integration and smoke tests (minutes)
	@exec node test/run.js default

.PHONY: test-slow
test-slow: $(INSTALLED) ## Run the other tiers: upgrade, processes, interop, console, Kubernetes, chart, monitoring, load, chaos, e2e
	@exec node test/run.js slow

.PHONY: test-tiers
test-tiers: $(INSTALLED) ## Run selected tiers (TIERS='processes chart')
	@exec node test/run.js $(TIERS)

.PHONY: test-all
test-all: $(INSTALLED) ## Run all checks and all tests
	@exec node test/run.js all

.PHONY: checks
checks: lint imports format-check types openapi prose workflows ## Run all static checks

.PHONY: lint
lint: build ## Run oxlint: style, sizes, imports between workspaces
	@npm run --silent lint

.PHONY: imports
imports: $(INSTALLED) ## Check import layers and cycles
	@npm run --silent lint:imports

.PHONY: openapi
openapi: build ## Lint the OpenAPI document
	@npm run --silent lint:openapi

.PHONY: workflows
workflows: $(INSTALLED) ## Check the workflows with actionlint (needs Go)
	@npm run --silent lint:workflows

.PHONY: prose
prose: $(INSTALLED) ## Check words and sentences of comments, docs, chart and SQL (ARGS='docs api/src/http')
	@exec node test/repository/prose/check.js $(ARGS)

.PHONY: licences
licences: ## Write the licences of the packages to THIRD-PARTY.md
	@exec node scripts/licences.js

.PHONY: audit-packages
audit-packages: ## List known vulnerabilities of the packages
	@npm audit

.PHONY: audit
audit: audit-packages ## Also scan the images (make images) with trivy or grype
	@set -e; for program in $(PROGRAMS); do \
	  image=$(REGISTRY)/gwk-$$program:$(TAG); \
	  if command -v trivy >/dev/null; then trivy image --severity HIGH,CRITICAL --exit-code 1 $$image; \
	  elif command -v grype >/dev/null; then grype --fail-on high $$image; \
	  else echo 'audit: images not scanned, because neither trivy nor grype is installed' >&2; exit 3; fi; \
	done

.PHONY: docs
docs: build ## Regenerate the docs pages that come from code
	@exec node scripts/docs.js

.PHONY: crds
crds: build ## Regenerate the CRD (crds/ and the chart's copy) from core
	@exec node scripts/crds.js

.PHONY: kubernetes
kubernetes: build ## Build the Kubernetes programs for tests from Go modules into ~/.cache/gwk (once)
	@exec node test/dist/support/kubernetes/build-programs.js

.PHONY: format
format: $(INSTALLED) ## Format all files
	@npm run --silent format

.PHONY: format-check
format-check: $(INSTALLED)
	@npm run --silent format:check

.PHONY: types
types: $(INSTALLED) $(CLIENT) ## Type-check everything, including tests
	@npm run --silent types

.PHONY: fuzz
fuzz: build ## Send 20,000 hostile requests to all operations (FUZZ_SEED=n repeats a run)
	@FUZZ_REQUESTS=20000 $(JEST) --selectProjects processes fuzz

.PHONY: e2e
e2e: build ## Test the chart on a two-node Kubernetes, as root: outages under traffic (ONLY=pattern)
	@exec node test/dist/e2e/main.js

.PHONY: crowd
crowd: build ## Test sends beside 10,000 connections of each kind: idle, slow or silent (CONNECTIONS=n)
	@ulimit -n $$(ulimit -Hn); CROWD_CONNECTIONS=$(or $(CONNECTIONS),10000) $(JEST) --selectProjects load crowd

.PHONY: transfers
transfers: build ## Measure the memory of 1,000 downloads and uploads that are held at once
	@HOLD_ALL=true $(JEST) --selectProjects load standing-transfers

.PHONY: chaos
chaos: build ## Test an instance while its dependencies fail (SECONDS=3600 SEEDS=7,8 PER_SECOND=5)
	@CHAOS_SECONDS=$(or $(SECONDS),3600) CHAOS_SEEDS=$(or $(SEEDS),1) CHAOS_PER_SECOND=$(or $(PER_SECOND),5) $(JEST) --selectProjects chaos number

##@ Measure
.PHONY: bench-accept
bench-accept: build ## Measure the accept path against its floor
	@exec node test/dist/bench/accept.js

.PHONY: bench-flow
bench-flow: build ## Measure the highest rate with p99 accepted to sent <= 250 ms, 50 engines (ENGINES=n HOLD=s RATE=n)
	@exec node test/dist/bench/flow.js

.PHONY: bench-peer
bench-peer: build ## Measure texts of one number from request to phone, beside a floor, bare Baileys and a peer (PEER=/path/to/gowa, PART=spans)
	@exec node test/dist/bench/peer.js

.PHONY: bench-density
bench-density: build ## Measure memory and CPU of idle instances, bare Baileys and a peer (PEER=/path/to/gowa NUMBERS=1,10,50)
	@exec node test/dist/bench/density.js

.PHONY: bench-webhooks
bench-webhooks: build ## Measure webhook deliveries against a bare loop, and with unresponsive endpoints
	@exec node test/dist/bench/webhooks.js

.PHONY: bench-inbound
bench-inbound: build ## Measure messages received by one engine and by one API
	@exec node test/dist/bench/inbound.js

.PHONY: bench-garbage
bench-garbage: build ## Measure the cost of undecryptable messages (MESSAGES=5000 STRANGERS=1,50)
	@exec node test/dist/bench/garbage.js

.PHONY: bench-growth
bench-growth: build ## Measure sends and lists on a large and an empty database (MESSAGES=0,10000000 the long form)
	@exec node test/dist/bench/growth.js

.PHONY: bench-fleet
bench-fleet: build ## Measure the recovery of a fleet, killed and cut off (NUMBERS=400 the long form)
	@exec node test/dist/bench/fleet.js

.PHONY: bench-engine
bench-engine: build ## Measure memory, start and throughput of an engine and bare Baileys (GROWTH=100000 the long form)
	@exec node test/dist/bench/engine.js

.PHONY: bench-dns
bench-dns: build ## Count the DNS queries of an engine's start by form of names and ndots (as root)
	@exec node test/dist/bench/dns.js

.PHONY: bench-console
bench-console: build ## Measure the console with 1,000 numbers and a million messages (NUMBERS=n MESSAGES=n)
	@exec node test/dist/bench/console.js

.PHONY: bench-retention
bench-retention: build ## Measure sends while a million events expire
	@exec node test/dist/bench/retention.js

.PHONY: bench-operator
bench-operator: build ## Measure the operator with 10,000 Instances, and on nodes as root (PART=observe, PART=many, PART=nodes, INSTANCES=n)
	@exec node test/dist/bench/operator.js
