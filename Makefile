# The npm packages include Node 24; every recipe below uses it.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
SHELL := /bin/sh
.DEFAULT_GOAL := help

INSTALLED := node_modules/.installed
CLIENT := api/src/generated/prisma/client.ts
MANIFESTS := package.json package-lock.json .npmrc $(filter-out site/%,$(wildcard */package.json test/network/package.json sdk/*/package.json))
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
# Recipes read it from their environment only, and after release-version.
export VERSION ?= $(TAG)
PLATFORM ?= amd64

.PHONY: release-version
release-version:
	@node -e '/^\d+\.\d+\.\d+$$/.test(process.env.VERSION) || (console.error("release: VERSION must be <major>.<minor>.<patch>"), process.exit(2))'

.PHONY: release-dry-run
release-dry-run: release-version build ## Make, sign and verify a release on this machine; as root, install it and upgrade to it (VERSION=0.1.0; needs Go)
	@exec $(RELEASE)/dry-run.ts "$$VERSION"

.PHONY: release-promises
release-promises: release-version build ## Keep the interfaces of this version in compatibility/, for the check of the next versions
	@exec $(RELEASE)/release.ts promises "$$VERSION"

.PHONY: release-tag
release-tag: release-version ## Check that GitHub has a signed tag of this commit, which is on main or on the branch of its minor
	@set -e; commit=$$(git rev-parse HEAD); fail() { echo "release: $$1" >&2; exit 1; }; \
	git=repos/$${GITHUB_REPOSITORY:-gwk-dev/gwk}/git; test "$${GITHUB_REF_NAME:-v$$VERSION}" = "v$$VERSION" || \
	  fail "the tag is not v$$VERSION, the version of this commit"; \
	tag=$$(gh api "$$git/ref/tags/v$$VERSION" --jq '.object | select(.type == "tag") | .sha'); \
	test -n "$$tag" || fail "v$$VERSION is not an annotated tag"; \
	test "$$(gh api "$$git/tags/$$tag" --jq '"\(.object.sha) \(.verification.verified)"')" = "$$commit true" || \
	  fail "v$$VERSION is not a signed tag of $$commit"; \
	git merge-base --is-ancestor HEAD origin/main || \
	  git merge-base --is-ancestor HEAD "origin/release-$${VERSION%.*}" || \
	  fail "$$commit is neither on main nor on release-$${VERSION%.*}"

.PHONY: release-packages
release-packages: ## Install the npm packages without running code of theirs
	@npm ci --ignore-scripts --no-progress
	@touch $(INSTALLED)

.PHONY: release-login
release-login:
	@printenv REGISTRY_TOKEN | $(DOCKER) login $(firstword $(subst /, ,$(REGISTRY))) --username release --password-stdin

.PHONY: release-images
release-images: release-version ## Push the images of one architecture and print their digests (PLATFORM=amd64 REGISTRY=ghcr.io/gwk-dev)
	@set -e; digests=; for program in $(PROGRAMS); do \
	  image=$(REGISTRY)/gwk-$$program; \
	  if $(DOCKER) manifest inspect "$$image:$$VERSION" >/dev/null 2>&1; then \
	    echo "release: $$image:$$VERSION is published already" >&2; exit 1; \
	  fi; \
	  $(DOCKER) tag "$$image:$$VERSION" "$$image:$$VERSION-$(PLATFORM)"; \
	  $(DOCKER) push "$$image:$$VERSION-$(PLATFORM)"; \
	  digest=$$($(DOCKER) image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$$image:$$VERSION-$(PLATFORM)" | \
	    sed -n "s|^$$image@||p"); \
	  digests="$$digests $$program@$$digest"; \
	done; \
	echo "$(PLATFORM)=$${digests# }" >>"$${GITHUB_OUTPUT:-/dev/stdout}"

.PHONY: release-files
release-files: release-version build ## Make the npm packages, the Python wheel and the executables in .images/release
	@exec $(RELEASE)/release.ts files "$$VERSION"

.PHONY: release-check
release-check: release-version
	@cd ".images/release/$$VERSION" && echo "$$SUMS  SHA256SUMS" | sha256sum --check --strict --quiet && \
	  sha256sum --check --strict --quiet SHA256SUMS

.PHONY: release-publish
release-publish: release-check $(INSTALLED) ## Sign the images of IMAGES_AMD64 and IMAGES_ARM64 and the files of release-files, and publish the chart
	@exec $(RELEASE)/release.ts publish "$$VERSION" $(REGISTRY)

.PHONY: release-verify
release-verify: release-version $(INSTALLED) ## Run the commands of docs/verify.md against a published release
	@exec $(RELEASE)/release.ts verify "$$VERSION" $(REGISTRY)

.PHONY: release-npm
release-npm: release-version ## Publish the npm packages of the release with their provenance, unless the registry has them
	@set -e; cd ".images/release/$$VERSION"; for name in client cli; do \
	  file="gwk-$$name-$$VERSION.tgz"; \
	  published=$$(npm view "@gwk/$$name@$$VERSION" dist.integrity 2>/dev/null || true); \
	  if [ -z "$$published" ]; then npm publish --access public --provenance "./$$file"; \
	  elif [ "$$published" = "sha512-$$(openssl dgst -sha512 -binary "$$file" | base64 -w 0)" ]; then \
	    echo "release: @gwk/$$name $$VERSION is published already"; \
	  else echo "release: @gwk/$$name $$VERSION is published already, with other contents" >&2; exit 1; fi; \
	done

.PHONY: release-page
release-page: release-check ## Create the release on GitHub, with its part of CHANGELOG.md and its files
	@awk '/^## \[/ { on = index($$0, "[" ENVIRON["VERSION"] "]") } on' CHANGELOG.md >.images/release/notes.md
	@gh release create "v$$VERSION" --verify-tag --title "$$VERSION" --notes-file .images/release/notes.md ".images/release/$$VERSION"/*

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

# The site has packages of its own, so that nothing else installs them.
SITE_PACKAGES := site/node_modules/.installed
$(SITE_PACKAGES): site/package.json site/package-lock.json
	@cd site && npm ci --ignore-scripts --no-audit --no-progress --loglevel=error
	@touch $@

.PHONY: site-packages
site-packages: $(SITE_PACKAGES)

.PHONY: site
site: build site-packages ## Build the public pages from docs/ into site/dist (SITE_BASE=/gwk/ SITE_ADDRESS=https://gwk-dev.github.io)
	@exec node site/build.js

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
