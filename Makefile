# All tasks of this repository. `make` lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# All is compiled in the way of bin/primacy, so that each package is compiled once, in whatever folder: without cgo, and without the
# folder's name. Tests with the race detector need cgo.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath $(GOFLAGS)

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

# How many schedules the simulator tries.
test-long: SEEDS ?= 5000
soak: SEEDS ?= 1000000

# The go command builds these tools from pinned sources when needed.
STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOSEC       := go run github.com/securego/gosec/v2/cmd/gosec@v2.29.0
GOVULNCHECK := go run golang.org/x/vuln/cmd/govulncheck@v1.8.0

# Checks of gosec that do not apply here, and why. An exception for a single place is at that place, as
# `#nosec G115 -- reason`.
#   G204, G702  runners exist to run the programs that a configuration names
#   G304, G703  we must read the files that the command line and the configuration name
#   G404        weak randomness only spreads load (jitter); identities come from crypto/rand
GOSEC_FLAGS := -quiet -color=false -nosec-require-rules -nosec-require-justification \
	-exclude=G204,G702,G304,G703,G404

# Sources of cmd/devcluster. Its build links a whole API server, so make builds it only when a
# source has changed.
DEVCLUSTER := $(shell find cmd/devcluster -name '*.go' ! -name '*_test.go') \
	$(addprefix cmd/devcluster/,go.mod go.sum Makefile)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: bin/primacy bin/kubectl-primacy bin/kubectl_complete-primacy bin/devcluster ## build bin/primacy, bin/kubectl-primacy and bin/devcluster (minutes the first time)

# Plugins are a module of their own, so that only this target needs gRPC and protobuf.
.PHONY: plugins
plugins: ## build bin/primacy-plugins, which is primacy with plugins, and an example of one
	$(MAKE) -C pkg/runners/plugin build example VERSION=$(VERSION)

# A module of its own, so that nothing else needs what images need.
.PHONY: image
image: ## write an OCI image into bin/primacy-image.tar, without a registry or a container runtime (PLATFORMS=linux/amd64,linux/arm64)
	$(MAKE) -C cmd/image image

.PHONY: run
run: build ## start a cluster on this machine, with members that take part in elections
	@exec bin/primacy dev

# What takes minutes runs apart, so that `make test` takes less than ten minutes on two cores: packages that wait for real leases to
# end, and the tests that run programs by scripts. A change lands only when both are green: .ci/run calls both.
LONG_PACKAGES := ./pkg/election/interop ./pkg/election/leaderelection ./pkg/election/sweep ./pkg/election/weather ./pkg/revisions/controller ./pkg/runners/deadman ./pkg/runners/exec
LONG_TESTS := ^Test(Scripts|Dev)$$

# Tests that simulate hours, or hundreds of members, take minutes under the race detector. test-long runs them with it, and without it,
# where some do more.
SIMULATED_HOURS := ^Test(CostsOfManyElections|ForcedInChaos|HolderIsFirstAfterAnOutage|Interleavings|MoreOpenTermsThanASessionCanList|OppositeMovesEndUpLed|OutagesInPart|OutagesOfAll|RangesNeverOverlap|TokensRiseOverMovesThereAndBack|TooMuchToDisownEndsTheSession|UnlikeLeases|UnlikeMembers|WhoCouldWriteNothingComesBackSoon|WhoLetGoComesBackAtOnce)$$
SIMULATED_COMMANDS := ^Test((RolloutPreviewsEqual|AgainstEquals|SimulationEquals)WhatHappens|PreviewsOfAMemberThatFell|PlantedDifferencesAreSeen|Handovers|Drains|PausesOfElections)$$

# These packages start no goroutine. The race detector takes ten times as long in them, so `make test` does without it. The simulator steps worlds
# that share nothing on all processors. test-long runs all of them with the race detector, too.
ALONE := ./pkg/priority ./pkg/election/internal/machine ./pkg/election/internal/session ./pkg/election/internal/member ./pkg/revisions/rollout
SIMULATOR := ./pkg/election/internal/sim/...

.PHONY: test
test: bin/devcluster ## run the tests, in less than ten minutes on two cores; nothing needs to be prepared
	CGO_ENABLED=1 go test -race -timeout 25m -p 3 -skip '$(LONG_TESTS)|$(SIMULATED_HOURS)|$(SIMULATED_COMMANDS)' $$(comm -23 <(go list ./... | sort) <(go list $(LONG_PACKAGES) $(ALONE) $(SIMULATOR) | sort))
	go test -timeout 25m $(ALONE)
	PRIMACY_SEEDS=1000 go test -short -timeout 25m $(SIMULATOR)
	PRIMACY_DEVCLUSTER=$(abspath bin/devcluster) $(MAKE) -C pkg/election/ctrl test

.PHONY: test-long
test-long: bin/devcluster ## run the tests that take minutes: scripts, other electors, real leases, thousands of schedules, rolling updates, plugins
	CGO_ENABLED=1 go test -race -timeout 25m $(LONG_PACKAGES)
	CGO_ENABLED=1 go test -race -timeout 25m -run '$(LONG_TESTS)' ./cmd/primacy/app
	CGO_ENABLED=1 go test -race -timeout 25m -run '$(SIMULATED_HOURS)|$(SIMULATED_COMMANDS)' ./pkg/election ./cmd/primacy/app
	go test -run '^TestChaos$$|$(SIMULATED_HOURS)|$(SIMULATED_COMMANDS)' ./pkg/election ./cmd/primacy/app
	PRIMACY_SEEDS=$(SEEDS) go test -timeout 25m $(SIMULATOR)
	CGO_ENABLED=1 go test -race -timeout 25m $(ALONE) $(SIMULATOR)
	PRIMACY_DEVCLUSTER=$(abspath bin/devcluster) $(MAKE) -C pkg/election/ctrl test-long
	$(MAKE) -C cmd/devcluster test
	PRIMACY_DEVCLUSTER=$(abspath bin/devcluster) $(MAKE) -C pkg/runners/plugin test
	$(MAKE) -C cmd/image test

# A module of its own, so that nothing else needs what Helm and kustomize need. It needs Debian's promtool, and gets it.
.PHONY: test-deploy
test-deploy: bin/primacy bin/devcluster ## render the chart and the kustomizations, apply them to an API server, and fire the alerts
	$(MAKE) -C manifests/deploytest test

# Containers, and machines with control groups of version 1, let nobody limit the memory of a group. User-mode Linux, a kernel
# that runs as a process, has all controllers for itself. It comes from Debian.
UML ?= $(shell command -v linux.uml || echo .cache/tools/usr/bin/linux.uml)
TREES := ./pkg/runners/cgroup ./pkg/runners/deadman ./pkg/runners/exec ./pkg/runners/parent

.PHONY: test-trees
test-trees: $(UML) ## limits of process trees, in a kernel of their own
	PRIMACY_UML=$(abspath $(UML)) go test -count=1 -p 1 -v -run '^TestInAKernelOfItsOwn$$' $(TREES)

.cache/tools/usr/bin/linux.uml:
	rm -rf .cache/uml && mkdir -p .cache/uml && chmod a+rwx .cache/uml
	cd .cache/uml && { apt-get download user-mode-linux || { apt-get update && apt-get download user-mode-linux; }; }
	dpkg -x .cache/uml/user-mode-linux_*.deb .cache/tools
	touch '$@'

# The rows of the tables to run: all, or part of a name. The tests try a sample of each table.
MUTANTS ?= all

.PHONY: mutants
mutants: bin/devcluster ## break each rule of the tables, and show which test, seed or path finds it (MUTANTS=part of a name)
	@mkdir -p .cache
	PRIMACY_DEVCLUSTER=$(abspath bin/devcluster) PRIMACY_MUTANTS=$(MUTANTS) go test -count=1 -timeout=0 -p 1 -v -run '^(TestMutantsDie|TestRowsFit)$$' \
		./pkg/election/internal/mutants ./pkg/election/internal/sim ./pkg/election/internal/sim/explore | tee .cache/mutants.txt
	@[ "$$(grep -c 'no mutant of this table has that name' .cache/mutants.txt)" -lt 3 ] || { echo "no mutant has $(MUTANTS) in its name"; exit 1; }

.PHONY: lint
lint: check gosec vulncheck ## check, and look for insecure code and known vulnerabilities

.PHONY: check
check: ## the quick part of lint: gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted by gofmt:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	$(MAKE) vet-library
	$(MAKE) -C cmd/devcluster vet
	$(MAKE) -C pkg/runners/plugin vet
	$(MAKE) -C pkg/election/ctrl vet
	$(MAKE) -C cmd/image vet
	$(MAKE) -C manifests/deploytest vet
	$(STATICCHECK) ./...
	cd pkg/runners/plugin && $(STATICCHECK) ./...
	cd pkg/election/ctrl && $(STATICCHECK) ./...
	cd cmd/image && $(STATICCHECK) ./...
	cd manifests/deploytest && $(STATICCHECK) ./...

# go vet type-checks each test, as the compiler would. Packages that are for Linux alone have no files here; ./pkg/... leaves them out. So what
# must compile everywhere, although it works on Linux alone, is named.
EVERYWHERE := ./pkg/runners/parent ./pkg/runners/parent/burial

.PHONY: vet-library
vet-library: ## vet the library and its tests for macOS and Windows, where they never ran
	GOOS=darwin go vet ./pkg/... $(EVERYWHERE)
	GOOS=windows go vet ./pkg/... $(EVERYWHERE)

.PHONY: gosec
gosec: ## look for insecure code
	$(GOSEC) $(GOSEC_FLAGS) ./...
	cd pkg/runners/plugin && $(GOSEC) $(GOSEC_FLAGS) -exclude-generated ./...
	cd pkg/election/ctrl && $(GOSEC) $(GOSEC_FLAGS) ./...
	cd cmd/image && $(GOSEC) $(GOSEC_FLAGS) ./...

# Without its database govulncheck can find nothing: then the target says that the check did not run.
.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities in what is used
	@if out=$$($(GOVULNCHECK) ./... 2>&1); then echo "$$out"; \
	elif grep -q 'fetching vulnerabilities' <<<"$$out"; then echo "govulncheck: not run: database not reachable"; \
	else echo "$$out"; exit 1; fi

# The folder for the benchmark's figures (JSON) and drawings.
BENCH_OUT := .cache/bench

.PHONY: bench
bench: bin/primacy bin/devcluster bin/stopwatch bin/mortal ## measure the table of targets on a real API server in 4 minutes (BENCH=-h lists flags)
	@mkdir -p $(BENCH_OUT)
	go run ./cmd/bench --json $(BENCH_OUT)/short.json --svg $(BENCH_OUT)/short.svg $(BENCH)

.PHONY: bench-full
bench-full: bin/primacy bin/devcluster bin/stopwatch bin/mortal ## the same with more trials and 10,000 elections, in up to 30 minutes
	@mkdir -p $(BENCH_OUT)
	go run ./cmd/bench --full --json $(BENCH_OUT)/full.json --svg $(BENCH_OUT)/full.svg $(BENCH)

.PHONY: bench-docs
bench-docs: ## write the last full run's table and drawing into docs/performance.md
	go run ./cmd/bench --from $(BENCH_OUT)/full.json --svg docs/performance.svg --docs docs/performance.md

# docs/soak.json says what the last soak tried, and on which binary. A soak goes on only with that very binary, which the flags make
# the same in any folder; for another one, remove the file.
.PHONY: soak
soak: ## try many more simulated schedules, going on where the last soak ended (SEEDS=1000000)
	@mkdir -p .cache
	go test -count=1 -timeout=0 -run '^(TestProperties|TestSessionProperties|TestForeignElectors)$$' ./pkg/election/internal/machine -rapid.checks=100000
	PRIMACY_EXPLORE=large go test -count=1 -timeout=0 -v ./pkg/election/internal/sim/explore
	go build -buildvcs=false -o .cache/soak ./pkg/election/internal/sim/soak
	.cache/soak docs/soak.json $(SEEDS)

.PHONY: clean
clean: ## remove what builds made
	rm -rf bin

# Always run go build: the go command knows best whether the program is up to date.
.PHONY: bin/primacy
bin/primacy:
	go build -ldflags '-X github.com/primacy-dev/primacy/cmd/primacy/app.version=$(VERSION)' -o $@ ./cmd/primacy

# The program that the benchmark's elections run.
.PHONY: bin/stopwatch
bin/stopwatch:
	go build -o $@ ./cmd/bench/stopwatch

# bin/primacy with functions that die when the benchmark says so.
.PHONY: bin/mortal
bin/mortal:
	go build -o $@ ./cmd/bench/mortal

# bin/primacy under the names by which kubectl finds plugins, and what completes their command lines.
bin/kubectl-primacy bin/kubectl_complete-primacy: bin/primacy
	ln -sf primacy $@

bin/devcluster: $(DEVCLUSTER)
	@echo "building $@, a Kubernetes API server: the first build takes minutes"
	$(MAKE) -C cmd/devcluster build OUT=$(abspath $@)
	@touch $@
