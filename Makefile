# Targets for people; "make help" lists them. Building needs Go and nothing else:
# the eBPF objects and the demo's libraries are committed.

GO      ?= go
export GO
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null)
# A version that packages can have. Without a tag it is that of a snapshot, which sorts before the release in VERSION.
RELEASE_VERSION := $(or $(patsubst v%,%,$(shell git describe --tags --match 'v*' 2>/dev/null)),$(shell cat VERSION)~$(shell git show -s --format=%cd --date=format:%Y%m%d 2>/dev/null).$(shell git rev-parse --short=12 HEAD 2>/dev/null))
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
BIN     := bin

# What "make generate" writes.
GENERATED := docs/events.md internal/gen/testdata/functions.txt docs/metrics.md docs/openapi.json serve/dashboard/web/src/classlist.ts \
	capture/bpf/include/ops.h capture/bpf/wire_bpfel.go capture/bpf/wire_bpfel.o \
	':(glob)capture/probe/**/*_bpfel.go' ':(glob)capture/probe/**/*_bpfel.o' \
	internal/cudastub/prebuilt internal/cudastub/variants/prebuilt internal/cudastub/embedded/prebuilt \
	capture/host/nvml/prebuilt

# Kernel tests need root and a kernel with BTF; where both are there they must run.
CAN_TRACE := $(shell [ "$$(id -u)" = 0 ] && [ -e /sys/kernel/btf/vmlinux ] && echo yes)

.DEFAULT_GOAL := build

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | \
		while IFS="$$(printf '\t')" read -r t d; do printf '  %-16s %s\n' "$$t" "$$d"; done

.PHONY: build
build: ## build bin/ingero, static
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ingero ./cmd/ingero

# What "ingero bench" runs. It needs bin/ingero beside it, which it measures.
.PHONY: bench-program
bench-program: build ## build bin/ingero-bench, static, beside bin/ingero
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ingero-bench ./cmd/ingero-bench

.PHONY: build-arm64
build-arm64: ## build bin/ingero-arm64, static
	CGO_ENABLED=0 GOARCH=arm64 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/ingero-arm64 ./cmd/ingero

.PHONY: fleet
fleet: fleet-server fleet-collector ## build bin/ingero-fleet, bin/straggler-sink and bin/ingero-fleet-collector, static

.PHONY: fleet-server
fleet-server: ## build bin/ingero-fleet and bin/straggler-sink, without the collector, which takes minutes
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ingero-fleet ./cluster/cmd/ingero-fleet
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/straggler-sink ./cluster/cmd/straggler-sink

# The collector is of modules of its own, as its 350 dependencies are none of the program's: collector/ has its
# components, and the OpenTelemetry Collector builder generates the rest, which is not committed. Its server has the name
# ingero-fleet already, so that this is another one. A first build takes minutes.
OCB := .cache/collector

.PHONY: collector-tools
collector-tools:
	@mkdir -p $(OCB)
	GOARCH= $(GO) -C collector/tools build -o ../../$(OCB)/ go.opentelemetry.io/collector/cmd/builder go.opentelemetry.io/collector/cmd/mdatagen

.PHONY: fleet-collector
fleet-collector: collector-tools ## build bin/ingero-fleet-collector, the OpenTelemetry Collector for fleets, static (GOARCH=arm64, too)
	GOARCH= $(OCB)/builder --config collector/manifest.yaml --skip-compilation
	CGO_ENABLED=0 $(GO) -C $(OCB)/distribution build -trimpath -ldflags '-s -w' \
		-o $(CURDIR)/bin/ingero-fleet-collector$(if $(filter arm64,$(GOARCH)),-arm64) .

# What mdatagen writes.
.PHONY: generate-collector
generate-collector: collector-tools ## rebuild what is generated of the collector's components
	cd collector/thresholdextension && ../../$(OCB)/mdatagen metadata.yaml
	cd collector/stragglerprocessor && ../../$(OCB)/mdatagen metadata.yaml

# goreleaser makes the archives and packages, syft lists what is in them; both are pinned in tools/release/go.mod.
RELEASE_TOOLS := .cache/release-tools
# helm, and a whole Kubernetes for tests: see below.
KUBERNETES := .cache/kubernetes

$(RELEASE_TOOLS)/built: tools/release/go.mod tools/release/go.sum $(wildcard tools/release/*/*.go)
	@mkdir -p $(RELEASE_TOOLS)
	$(GO) -C tools/release build -o $(CURDIR)/$(RELEASE_TOOLS)/ github.com/goreleaser/goreleaser/v2 github.com/anchore/syft/cmd/syft \
		./image ./provenance
	@touch $@

.PHONY: release-snapshot
release-snapshot: $(RELEASE_TOOLS)/built $(KUBERNETES)/helm ## build what is released into dist/: archives, deb, rpm, images, chart, lists of contents, checksums, provenance
	PATH="$(CURDIR)/$(RELEASE_TOOLS):$(CURDIR)/$(KUBERNETES):$$PATH" INGERO_VERSION='$(RELEASE_VERSION)' \
		packaging/release

.PHONY: test-reproducible
test-reproducible: $(RELEASE_TOOLS)/built $(KUBERNETES)/helm ## build what is released twice, the second time with another cache, time zone and umask, and compare (INGERO_DIST=FOLDER: what was built there, with its bundle, is the first; WARM=1: with the same cache)
	INGERO_VERSION='$(RELEASE_VERSION)' INGERO_DIST='$(INGERO_DIST)' WARM='$(WARM)' packaging/reproducible

.PHONY: test-packages
test-packages: $(if $(INGERO_DIST),,release-snapshot) ## install, use, upgrade and remove what was built, in a Debian with systemd (root, qemu, qemu-user-static, mmdebstrap, cpio; INGERO_DIST=FOLDER: what was built there)
	INGERO_REQUIRE_TOOLS=1 INGERO_DIST=$(abspath $(or $(INGERO_DIST),dist)) $(GO) test -count=1 -timeout 38m -v -run 'TestRelease|TestPackages|TestOnBusyBox' ./packaging

# What was built of another commit, or of none, is built first.
BUNDLE := dist/ingero_$(RELEASE_VERSION)_bundle.tar

.PHONY: bundle
bundle: ## put what is released, with documents, dashboards and manifests, into one file for machines without a network
	@[ -e 'dist/ingero_$(RELEASE_VERSION).provenance.json' ] || $(MAKE) --no-print-directory release-snapshot
	@INGERO_VERSION='$(RELEASE_VERSION)' packaging/bundle

.PHONY: test-bundle
test-bundle: bundle ## install, use, upgrade and remove it without a network, and see what programs connect to (root, ip, curl)
	$(if $(filter yes,$(CAN_TRACE)),INGERO_REQUIRE_KERNEL=1) INGERO_BUNDLE='$(CURDIR)/$(BUNDLE)' \
		INGERO_HELM=$(CURDIR)/$(KUBERNETES)/helm $(GO) test -count=1 -timeout 30m -v -run 'TestBundle|TestJudge' ./packaging

# helm and a whole Kubernetes are built from their modules, pinned in tools/helm and tools/kubernetes. Their versions are
# what they would be told when they are released; helm checks charts against that of Kubernetes.
HELM_FLAGS := -s -w -X helm.sh/helm/v3/internal/version.version=v3.22.0 $(foreach p,chartutil lint/rules, \
	-X helm.sh/helm/v3/pkg/$(p).k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$(p).k8sVersionMinor=35)

$(KUBERNETES)/helm: tools/helm/go.mod tools/helm/go.sum
	@mkdir -p $(KUBERNETES)
	CGO_ENABLED=0 $(GO) -C tools/helm build -trimpath -ldflags '$(HELM_FLAGS)' -o $(CURDIR)/$@ helm.sh/helm/v3/cmd/helm

# etcd, the API server, the controllers, the scheduler, the kubelet and kubectl are one program, and CoreDNS another.
# containerd, runc and the network plugins are Debian's, unpacked and not installed.
KUBERNETES_FLAGS := -s -w $(foreach v,gitVersion=v1.35.0 gitMajor=1 gitMinor=35,-X k8s.io/component-base/version.$(v))

.PHONY: kubernetes
kubernetes: $(KUBERNETES)/bin/built $(KUBERNETES)/debian/unpacked $(KUBERNETES)/helm ## build a Kubernetes for tests (10 minutes the first time)

$(KUBERNETES)/bin/built: tools/kubernetes/go.mod tools/kubernetes/go.sum $(wildcard tools/kubernetes/*/*.go)
	@mkdir -p $(KUBERNETES)/bin
	CGO_ENABLED=0 $(GO) -C tools/kubernetes build -trimpath -ldflags '$(KUBERNETES_FLAGS)' -o $(CURDIR)/$(KUBERNETES)/bin/ ./node ./pause ./dns
	@for p in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do ln -sf node $(KUBERNETES)/bin/$$p; done
	@touch $@

$(KUBERNETES)/debian/unpacked:
	@rm -rf $(KUBERNETES)/debian && mkdir -p $(KUBERNETES)/debian/packages
	cd $(KUBERNETES)/debian/packages && apt-get -qq download containerd runc containernetworking-plugins && \
		for p in *.deb; do dpkg-deb -x "$$p" ..; done
	@touch $@

$(KUBERNETES)/image: $(wildcard tools/release/image/*.go) tools/release/go.mod
	@mkdir -p $(KUBERNETES)
	CGO_ENABLED=0 $(GO) -C tools/release build -o $(CURDIR)/$@ ./image

# A program without libraries, as an image needs it that has nothing else.
.PHONY: echo-static
echo-static:
	CGO_ENABLED=1 $(GO) -C echo build -trimpath -tags osusergo,netgo \
		-ldflags '$(LDFLAGS) -linkmode external -extldflags "-static -Wl,--no-warnings"' \
		-o $(abspath $(BIN))/ingero-echo-static ./cmd/ingero-echo

.PHONY: test-k8s
test-k8s: kubernetes $(KUBERNETES)/image ## install the Helm chart on a real Kubernetes, use, upgrade and remove it (root)
	MAKE='$(MAKE)' KUBERNETES=$(CURDIR)/$(KUBERNETES) packaging/kubernetes/images $(KUBERNETES)/images
	INGERO_KUBERNETES=$(CURDIR)/$(KUBERNETES) $(GO) test -count=1 -timeout 15m -v -run TestKubernetes ./packaging

# The programs of the tracer's image, as goreleaser has them in dist.
IMAGE_PROGRAMS := .cache/image

.PHONY: test-image
test-image: $(KUBERNETES)/image $(KUBERNETES)/debian/unpacked ## build the tracer's image, and run it with containerd and runc as docs/install.md says (root; INGERO_DIST=FOLDER: of what is released)
	$(if $(INGERO_DIST),,for arch in amd64 arm64; do for p in ./cmd/ingero ./cluster/cmd/straggler-sink; do \
		CGO_ENABLED=0 GOARCH=$$arch $(GO) build -trimpath -ldflags '$(LDFLAGS)' \
			-o "$(IMAGE_PROGRAMS)/$${p##*/}_linux_$$arch/$${p##*/}" $$p || exit 1; done; done)
	$(if $(filter yes,$(CAN_TRACE)),INGERO_REQUIRE_KERNEL=1) \
	INGERO_KUBERNETES=$(CURDIR)/$(KUBERNETES) INGERO_IMAGE_PROGRAMS='$(abspath $(or $(INGERO_DIST),$(IMAGE_PROGRAMS)))' \
		$(GO) test -count=1 -timeout 10m -v -run TestImage ./packaging

.PHONY: test-helm
test-helm: $(KUBERNETES)/helm ## render the Helm chart, and compare it and deploy/kubernetes with what is expected
	INGERO_HELM=$(CURDIR)/$(KUBERNETES)/helm $(GO) test -count=1 -run '$(CHART_TESTS)' ./packaging

CHART_TESTS := Chart|RightsOfContainers|SchemaKnows|PlainManifests

.PHONY: manifests
manifests: $(KUBERNETES)/helm ## write what the Helm chart renders: deploy/kubernetes, and the golden files of its test
	INGERO_HELM=$(CURDIR)/$(KUBERNETES)/helm $(GO) test -count=1 -run '$(CHART_TESTS)' ./packaging -update

# Compose's own parser and Prometheus's are a module of their own.
.PHONY: test-compose
test-compose: ## read deploy/compose with Compose's parser and Prometheus's (2 minutes the first time)
	$(GO) -C tools/compose vet ./...
	$(GO) -C tools/compose test -count=1 ./...
	$(GO) -C tools/release test -count=1 ./healthy

# For this machine, without a container engine. A program in them is their health check.
IMAGE = $(KUBERNETES)/image -version '$(VERSION)' -revision '$(COMMIT)' \
	-time "$$(git show -s --format=%ct HEAD)" -file :bin/healthy:/usr/bin/healthy

.PHONY: images
images: fleet-collector echo-static $(KUBERNETES)/image ## build the images of deploy/compose into dist/: the collector for fleets, and Echo
	@mkdir -p dist
	CGO_ENABLED=0 $(GO) -C tools/release build -trimpath -ldflags '-s -w' -o $(CURDIR)/bin/healthy ./healthy
	$(IMAGE) -name ghcr.io/ingero-io/ingero-fleet-collector:dev -title "What Ingero's tracers ask which rank is slow" \
		-entrypoint /usr/bin/ingero-fleet-collector -user 65532:65532 \
		-file "$$($(GO) env GOARCH):bin/ingero-fleet-collector:/usr/bin/ingero-fleet-collector" \
		-file :collector/config/ingero-fleet.yaml:/etc/ingero-fleet/ingero-fleet.yaml -out dist/ingero-fleet-collector_image.tar
	$(IMAGE) -name ghcr.io/ingero-io/ingero-echo:dev -title "Ingero's memory of a cluster" \
		-entrypoint /usr/bin/ingero-echo -user 65532:65532 \
		-file "$$($(GO) env GOARCH):bin/ingero-echo-static:/usr/bin/ingero-echo" -out dist/ingero-echo_image.tar

.PHONY: test-fleet
test-fleet: fleet-collector generate-collector ## test the collector's components, and run the collector as it is shipped
	@git diff --exit-code --stat -- ':(glob)collector/**/generated_*' ':(glob)collector/*/documentation.md' || { echo "commit what make generate-collector wrote" >&2; exit 1; }
	$(GO) -C collector vet ./...
	INGERO_FLEET_LIVE=1 $(GO) test -count=1 -parallel 6 -timeout 9m -run TestASlowRankWhileAReplicaIsAwayLive ./cluster/fleetclient
	INGERO_FLEET_COLLECTOR=$(CURDIR)/bin/ingero-fleet-collector $(GO) -C collector test -count=1 -timeout 3m ./...

.PHONY: bench-fleet
bench-fleet: fleet ## measure what the pushes of many nodes cost ingero-fleet serve and the collector (5 minutes)
	cluster/load/bench.sh

# Echo is a module of its own: its store needs cgo, a C++ compiler's library, and 600 MB of module cache.
.PHONY: echo
echo: ## build bin/ingero-echo, which keeps what all nodes send (needs gcc and libstdc++)
	CGO_ENABLED=1 $(GO) -C echo build -trimpath -tags netgo,osusergo -ldflags '$(LDFLAGS)' -o ../bin/ingero-echo ./cmd/ingero-echo

.PHONY: test-echo
test-echo: ## test Echo: its parts, the store, and the program with producers
	$(GO) -C echo vet ./...
	CGO_ENABLED=1 $(GO) -C echo test -count=1 -p 1 -timeout 8m ./...

.PHONY: test-echo-live
test-echo-live: build echo fleet-collector ## ask Echo which of eight ranks on two hosts is late, each host with a tracer (root, a kernel with BTF, ip)
	INGERO_REQUIRE_KERNEL=1 INGERO_ECHO_LIVE=$(CURDIR)/bin tools/undisturbed $(GO) test -count=1 -timeout 8m -v \
		-run TestEchoNamesTheLateRank ./bench/straggler

.PHONY: record-echo-demo
record-echo-demo: build echo fleet-collector ## record anew what "ingero-echo demo" plays back: the same, for two minutes more
	INGERO_REQUIRE_KERNEL=1 INGERO_ECHO_LIVE=$(CURDIR)/bin INGERO_ECHO_RECORD=$(CURDIR)/echo/demo/recorded.jsonl.gz \
		tools/undisturbed $(GO) test -count=1 -timeout 8m -v -run TestEchoNamesTheLateRank ./bench/straggler

# The version before, as far as what programs send each other goes: machines are upgraded one after the other. After a
# change of what they send, name the last commit without it.
EARLIER := 2234d937
EARLIER_PROGRAMS := .cache/earlier

.PHONY: test-upgrade
test-upgrade: build echo fleet-collector ## try tracers and fleets of an earlier version with those of today, and its tracers with Echo (root, a kernel with BTF, ip)
	packaging/earlier $(EARLIER) $(EARLIER_PROGRAMS)
	INGERO_REQUIRE_KERNEL=1 INGERO_EARLIER=$(CURDIR)/$(EARLIER_PROGRAMS) tools/undisturbed \
		$(GO) test -count=1 -timeout 8m -v -run TestTracersAndFleetsOfTwoVersions ./internal/e2e/fleetlive
	ln -sf $(CURDIR)/bin/ingero-echo $(CURDIR)/bin/ingero-fleet-collector $(EARLIER_PROGRAMS)
	INGERO_REQUIRE_KERNEL=1 INGERO_ECHO_EARLIER=1 INGERO_ECHO_LIVE=$(CURDIR)/$(EARLIER_PROGRAMS) tools/undisturbed \
		$(GO) test -count=1 -timeout 8m -v -run TestEchoNamesTheLateRank ./bench/straggler

# The engine of ClickHouse as a library, for tests, of a pinned checksum: nothing of the package is run by npm.
CHDB         := .cache/chdb
CHDB_PACKAGE := @chdb/lib-linux-x64-gnu@26.7.3-stable.1
CHDB_SHA256  := 36ad4e999882821ef13cf2d0f52c93f48e6ee1b4498b35a201c23ce4b8d15bf5

.PHONY: echo-clickhouse-engine
echo-clickhouse-engine: $(CHDB)/libchdb.so ## fetch the engine for make test-echo-clickhouse (178 MB; 566 MB on disk; npm, x86-64)

$(CHDB)/libchdb.so:
	@mkdir -p $(CHDB)/package
	cd $(CHDB) && npm pack --silent $(CHDB_PACKAGE) >/dev/null
	@cd $(CHDB) && tar -xzf *.tgz package/libchdb.so && rm -f *.tgz
	@echo "$(CHDB_SHA256)  $(CHDB)/package/libchdb.so" | sha256sum --check --quiet
	@mv $(CHDB)/package/libchdb.so $@ && rmdir $(CHDB)/package

.PHONY: test-echo-clickhouse
test-echo-clickhouse: $(CHDB)/libchdb.so ## test Echo's store of ClickHouse with the real engine (see echo-clickhouse-engine)
	INGERO_CHDB=$(CURDIR)/$(CHDB)/libchdb.so CGO_ENABLED=0 $(GO) -C echo test -count=1 -timeout 15m ./chsql ./store/clickhouse/...
	INGERO_CHDB=$(CURDIR)/$(CHDB)/libchdb.so CGO_ENABLED=1 $(GO) -C echo test -count=1 -p 1 -timeout 4m -run ClickHouse ./mcptool ./cmd/ingero-echo

.PHONY: bench-echo
bench-echo: echo fleet ## measure how many points Echo keeps a second, and what one costs (LARGE=50000000, SOAK=30m, INGERO_ECHO_BENCH_POINTS=N: more)
	CGO_ENABLED=1 $(GO) -C echo test -run '^$$' -bench Write -benchtime 100x ./store/duckdb
	@if [ -e $(CHDB)/libchdb.so ]; then \
		INGERO_CHDB=$(CURDIR)/$(CHDB)/libchdb.so CGO_ENABLED=0 $(GO) -C echo test -run '^$$' -bench Write -benchtime 100x ./store/clickhouse; \
	else echo "SKIPPED: the store of ClickHouse; first make echo-clickhouse-engine"; fi
	echo/load/bench.sh
	$(if $(wildcard $(CHDB)/libchdb.so),INGERO_CHDB=$(CURDIR)/$(CHDB)/libchdb.so) CGO_ENABLED=1 $(GO) -C echo test -run '^$$' -bench Answers -benchtime 50x -timeout 30m ./cmd/ingero-echo

.PHONY: demo
demo: build ## show how the cause of a stall is found, no GPU needed
	@if [ "$$(id -u)" != 0 ] && sudo -n true 2>/dev/null; then \
		sudo -n bin/ingero demo incident; \
	else \
		bin/ingero demo incident; \
	fi

# Packages whose tests load eBPF programs or run programs against the clock. One at a
# time: they measure, and would disturb each other. And never from the cache: it does
# not know the kernel. Those of LONG_KERNEL_TESTS take minutes each; of the probes' own,
# -short leaves out the perf back end, which takes half a minute a test to detach: LONG_PROBE_TESTS.
LONG_KERNEL_TESTS := ./agent/... ./cmd/... ./internal/e2e/...
LONG_PROBE_TESTS := OnEveryBackend|WithAPerfEventForEach
# Those of their folders that load nothing and measure nothing are with the others.
unmeasured = $(addprefix ./,bench/numbers $(addprefix internal/,doctable gen hostile layout))
pure = $(shell $(GO) list ./... | grep -vE '/ingero/(agent|bench|cmd|demo|internal|capture/probe)(/|$$)') \
	$(shell $(GO) list $(unmeasured))
short_kernel = $(filter-out $(shell $(GO) list $(unmeasured)),$(shell $(GO) list ./bench/... ./demo/... ./internal/... | \
	grep -v '/ingero/internal/e2e'))

.PHONY: test
test: ## vet and run the tests; as root every probe live, but agent, cmd and internal/e2e only in test-e2e
	$(GO) vet ./...
ifeq ($(CAN_TRACE),yes)
	@$(MAKE) --no-print-directory -j 2 --output-sync=line test-pure test-kernel
	@echo
	@echo "The long tests of the tracer, end to end: make test-e2e (15 minutes)"
else
	$(GO) test -timeout 15m ./...
	@echo
	@echo "SKIPPED: tests that load eBPF programs need root and /sys/kernel/btf/vmlinux."
	@echo "         Run them with: sudo make test && sudo make test-e2e"
endif

# The two parts of "make test", side by side: those that need the kernel sleep half of the time, and get CPU time
# before the others. Together they take two thirds of what one after the other takes. Those that do not need it come from
# Go's cache of tests if neither their code nor a file or variable that they read has changed.
.PHONY: test-pure test-kernel
test-pure:
	@nice -n 5 tools/tests -vet=off -timeout 15m $(pure)
test-kernel:
	@INGERO_REQUIRE_KERNEL=1 tools/undisturbed tools/tests -vet=off -count=1 -p 1 -timeout 15m $(short_kernel)
	@INGERO_REQUIRE_KERNEL=1 tools/undisturbed tools/tests -vet=off -short -count=1 -p 1 -timeout 15m ./capture/probe/...

.PHONY: test-e2e
test-e2e: ## run the long tests: agent, cmd, internal/e2e, the perf back end's (root, a kernel with BTF)
	INGERO_REQUIRE_KERNEL=1 tools/undisturbed tools/tests -vet=off -count=1 -p 1 -timeout 15m $(LONG_KERNEL_TESTS)
	INGERO_REQUIRE_KERNEL=1 tools/undisturbed tools/tests -vet=off -count=1 -timeout 15m -run '$(LONG_PROBE_TESTS)' ./capture/probe
	@command -v tmux >/dev/null || { echo; echo "SKIPPED: the view of trace in a real terminal emulator needs tmux: apt-get install tmux"; }

# Hostile clients, files and processes, as data: internal/hostile/attacks.
.PHONY: hostile
hostile: build fleet echo ## attack the programs with hostile requests, SQL, recordings, libraries and names (root, a kernel with BTF; SHORT=1: without those that take seconds; EACH=1: a line for each; ONLY='fleet,node API')
	@mkdir -p .cache
	$(GO) build -o .cache/hostile ./internal/hostile/cmd
	.cache/hostile -bin bin -tree . $(if $(SHORT),-short) $(if $(EACH),-v) $(if $(filter yes,$(CAN_TRACE)),-kernel) $(if $(ONLY),-only '$(ONLY)')

# The public tools of the protocol, with a Node.js that runs them: npm packages, pinned,
# of which nothing runs when they are installed.
MCP_PACKAGES := .cache/mcp

.PHONY: mcp-packages
mcp-packages:
	@mkdir -p $(MCP_PACKAGES)
	@cp internal/mcpconformance/npm/package.json internal/mcpconformance/npm/package-lock.json $(MCP_PACKAGES)/
	@cd $(MCP_PACKAGES) && { cmp -s package-lock.json node_modules/installed || \
		{ npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && cp package-lock.json node_modules/installed; }; }

.PHONY: test-mcp-echo
test-mcp-echo: echo mcp-packages ## the same with Echo (needs npm and gcc)
	$(GO) run ./internal/mcpconformance/cmd -packages $(MCP_PACKAGES)/node_modules -echo bin/ingero-echo

.PHONY: test-mcp
test-mcp: build mcp-packages ## try the MCP server with the conformance suite and the inspector (needs npm)
	$(GO) run ./internal/mcpconformance/cmd -packages $(MCP_PACKAGES)/node_modules -ingero bin/ingero

# npm packages, pinned, of which nothing runs when they are installed; building the program
# needs none of them, because the page is committed.
WEB := serve/dashboard/web

$(WEB)/node_modules/installed: $(WEB)/package-lock.json
	cd $(WEB) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && cp package-lock.json node_modules/installed

.PHONY: web
web: $(WEB)/node_modules/installed ## build the dashboard's page (needs npm)
	cd $(WEB) && npm run --silent build -- --logLevel warn

# In another folder than the committed one, which builds beside this one embed.
.PHONY: web-check
web-check: $(WEB)/node_modules/installed ## fail if the committed page is not what its source makes
	cd $(WEB) && npm run --silent build -- --logLevel warn --outDir $(CURDIR)/.cache/web --emptyOutDir
	@diff -r serve/dashboard/dist .cache/web || { echo "make web, and commit what it wrote" >&2; exit 1; }

# The page in a Chromium of this machine. PICTURES=1 also takes those of the documents.
E2E      := serve/dashboard/e2e
CHROMIUM ?= /usr/bin/chromium

$(E2E)/node_modules/installed: $(E2E)/package-lock.json
	cd $(E2E) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && cp package-lock.json node_modules/installed

.PHONY: test-dashboard
test-dashboard: build $(E2E)/node_modules/installed ## try the dashboard's page in a real browser (needs chromium, node and npm)
	$(GO) build -o bin/made ./$(E2E)/made
	node $(E2E)/run.mjs --ingero bin/ingero --made bin/made --recordings investigations --chromium $(CHROMIUM) \
		--out .cache/dashboard $(if $(PICTURES),--keep docs/images) $(if $(ONLY),--only $(ONLY))

.PHONY: test-web
test-web: $(WEB)/node_modules/installed ## test what the page computes (needs npm)
	cd $(WEB) && npm test --silent

# Programs of other people on a GPU that is simulated: docs/real.md. What is fetched, and how
# much it is, is said before; it stays in the cache. REAL: the packages of the programs to run.
REAL ?= ./internal/real/...

.PHONY: real
real: ## compare recordings of real CUDA programs with what they called, no GPU needed (root, npm, pip, Python's headers; fetches 1.8 GB)
	INGERO_REAL=1 $(if $(filter yes,$(CAN_TRACE)),INGERO_REQUIRE_KERNEL=1) tools/tests -count=1 -p 1 -timeout 15m $(REAL)

.PHONY: real-fetch
real-fetch: ## fetch the programs of make real into the cache, before they are needed
	$(GO) run ./internal/real/cmd

# The frameworks that labels have hooks for, from PyPI: python/frameworks.txt. PyTorch is that of make real. The
# programs use no GPU, but PyTorch loads NVIDIA's libraries; those of the hollow GPU take their place. pip alone takes
# minutes to unpack these packages, so uv does it.
FRAMEWORKS := .cache/frameworks

.PHONY: test-frameworks
test-frameworks: $(FRAMEWORKS)/installed ## try labels with Lightning, transformers, Ray and vLLM (fetches about 1 GB)
	@set -e; variables="$$($(GO) run ./internal/hollow/cmd torch $(FRAMEWORKS)/gpu)"; eval "$$variables"; \
		echo "$$PYTHONPATH" >"$$(echo $(FRAMEWORKS)/venv/lib/python3.*/site-packages)/torch.pth"; unset PYTHONPATH; \
		INGERO_REQUIRE_FRAMEWORKS=1 timeout 600 $(FRAMEWORKS)/venv/bin/python python/test_frameworks.py

$(FRAMEWORKS)/installed: python/frameworks.txt
	@echo "fetching the frameworks, 500 MB (1500 MB on disk)"
	@rm -rf $(FRAMEWORKS)
	python3 -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary=:all: \
		--target $(FRAMEWORKS)/uv uv==0.13.9
	$(FRAMEWORKS)/uv/bin/uv venv --quiet --python "$$(command -v python3)" $(FRAMEWORKS)/venv
	$(FRAMEWORKS)/uv/bin/uv pip install --quiet --no-cache --no-deps --only-binary :all: \
		--python $(FRAMEWORKS)/venv/bin/python -r $<
	@cp $< $@

# What is tried on a machine with a GPU (docs/gpu.md): the folder alone is all it needs.
GPU_KIT := bin/ingero-gpu

.PHONY: gpu-kit
gpu-kit: build ## put all that gpu/run needs on a machine with a GPU into bin/ingero-gpu.tar.gz
	rm -rf $(GPU_KIT) $(GPU_KIT).tar.gz
	mkdir -p $(GPU_KIT)/kit $(GPU_KIT)/programs
	cp gpu/run bin/ingero internal/gen/testdata/functions.txt docs/gpu.md $(GPU_KIT)/
	cp gpu/kit/*.py $(GPU_KIT)/kit/
	cp gpu/programs/*.py internal/real/torch/programs/faulty.py internal/real/torch/programs/ddp.py $(GPU_KIT)/programs/
	tar -C bin -czf $(GPU_KIT).tar.gz ingero-gpu

KERNEL ?= all
ARCH   ?= amd64

.PHONY: test-vm
test-vm: ## run kernel tests on other kernels, in qemu (KERNEL=6.1,7.2 or all, also 6.12-16k and 6.12-64k: arm64 with larger pages; ARCH=arm64; FEW=1; BOTH=1: two at a time)
	$(GO) run ./internal/vm/cmd -kernel '$(KERNEL)' -arch '$(ARCH)' $(if $(FEW),-few) $(if $(BOTH),-both)

.PHONY: test-perfetto
test-perfetto: ## ask Perfetto's own trace processor about exported timelines (needs node and npm)
	npm ci --ignore-scripts --no-audit --no-fund --prefix export/testdata/traceprocessor
	INGERO_TRACE_PROCESSOR=1 $(GO) test -count=1 -run TestTraceProcessor ./export

.PHONY: test-parquet
test-parquet: ## read exported tables with a Parquet reader of other people (needs node and npm)
	npm ci --ignore-scripts --no-audit --no-fund --prefix export/testdata/parquet
	INGERO_PARQUET_READER=1 $(GO) test -count=1 -run TestParquet ./export

# That for fleets has a receiver of OTLP and writes files, as the tests need it.
.PHONY: test-collector
test-collector: fleet-collector ## send metrics and findings to an OpenTelemetry Collector, which is built first
	INGERO_OTEL_COLLECTOR=$(CURDIR)/bin/ingero-fleet-collector $(GO) test -count=1 -p 1 -run TestACollectorReceives ./metrics ./cmd/ingero

.PHONY: test-grafana
test-grafana: ## check the dashboard with Grafana's types and Prometheus's grammar (needs node and npm)
	npm ci --ignore-scripts --no-audit --no-fund --prefix metrics/testdata/grafana
	node metrics/testdata/grafana/check.mjs deploy/grafana/ingero.json
	node metrics/testdata/grafana/check.mjs deploy/grafana/ingero-fleet.json

# Packages without kernel and command line. What is left out: the tests of symbols
# that start programs, which would be of another architecture than the machine; and
# those of the diagnosis that try every case in every order or window; one that reads page
# faults in /proc/self/stat, which the emulator fills with zeros; and two that read the system call of a thread, which
# /proc says of the emulator. capture/host/nvml starts its helper, which the emulator is given by itself, with the
# stand-in of NVIDIA's library.
.PHONY: test-arm64
test-arm64: build-arm64 ## run the tests of pure packages as arm64 programs (needs qemu-user-static)
	qemu-aarch64-static bin/ingero-arm64 version
	sleep 1 | qemu-aarch64-static -L /usr/aarch64-linux-gnu capture/host/nvml/prebuilt/helper_arm64 \
		internal/cudastub/prebuilt/linux_arm64/nvml/libnvidia-ml.so.1 100 | grep -aq 'Stand-in GPU'
	CGO_ENABLED=0 GOARCH=arm64 $(GO) test -timeout 20m -exec qemu-aarch64-static \
		-skip 'TestFunctionsOfLibrariesAreNamed|TestEndedProcessKeepsWhatWasRead|TestEndedProcessIsNamedByWhatWasFoundOutBefore|TestLibraryLoadedLaterIsFound|TestDiagnoseIgnoresTheOrderOfItsInput|TestTimeIsAttributedOnce|TestHighLiveFindingsAreAlsoReportedAfterwards|TestUsageOfThisProcess|TestWhatAProcessThatWaitsHasOpenAndIsIn|TestWhatAThreadPolls|TestWindowsThatAreMovedHaveTheSameFirstFinding' \
		./capture/bpf ./event/... ./account/ledger ./account/memory ./explain/diagnose ./explain/report $$($(GO) list ./capture/host/... | grep -v /nvml$$) ./capture/symbol/...

.PHONY: generate
generate: ## rebuild what is generated (needs clang, libbpf-dev, gcc, gcc-aarch64-linux-gnu)
	$(GO) run ./internal/gen
	$(GO) generate ./capture/bpf ./capture/probe/...
	capture/host/nvml/build.sh
	internal/cudastub/build.sh

.PHONY: generate-check
generate-check: generate ## fail if what is committed is not what is generated
	@git diff --exit-code --stat -- $(GENERATED) || { echo "generated files differ: commit the result of make generate" >&2; exit 1; }
	@new="$$(git ls-files --others --exclude-standard -- $(GENERATED))"; \
		[ -z "$$new" ] || { echo "generated, but not committed:" $$new >&2; exit 1; }

.PHONY: bench-labels
bench-labels: build ## what a label costs the program and the tracer (root, Python 3.8)
	python3 python/bench.py bin/ingero

# Modules with code of ours, but for tools/kubernetes: a Kubernetes would have to be compiled.
LINTED := . echo collector tools/compose tools/release

.PHONY: lint
lint: ## check format and common mistakes
	@out="$$(git ls-files '*.go' | xargs gofmt -l)"; [ -z "$$out" ] || { echo "not gofmt-clean:" $$out >&2; exit 1; }
	GOARCH=arm64 $(GO) vet ./...
	@if $(GO) -C tools build -o ../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint; then \
		failed=; for module in $(LINTED); do \
			(cd "$$module" && $(CURDIR)/bin/golangci-lint run --config $(CURDIR)/.golangci.yml ./...) || failed=1; \
		done; [ -z "$$failed" ]; \
	else \
		echo "SKIPPED: golangci-lint cannot be built here" >&2; [ -z "$$INGERO_REQUIRE_LINT" ]; \
	fi

.PHONY: bench
bench: bench-program ## measure what tracing and recordings cost (root)
	bin/ingero bench overhead
	bin/ingero bench store

MINUTES ?= 10

.PHONY: soak
soak: build ## leave the tracer running beside programs that come and go, crash, fill the disk and kill it (root, gcc; MINUTES=60; INGERO_SOAK_CLOCK=1: also set the clock; KEEP=FOLDER: for recordings with a wrong finding; JSON=1)
	$(GO) build -trimpath -o $(BIN)/soak ./bench/soak/cmd
	$(BIN)/soak -ingero $(BIN)/ingero -minutes $(MINUTES) $(if $(KEEP),-keep '$(KEEP)') $(if $(JSON),-json)

# Results, written into docs/measured by tools/measured. Lines of what is right in all respects are left out.
ACCURACY_SEED ?= 1

.PHONY: measured-accuracy
measured-accuracy: export OMIT = ( ok +ok +ok |^control: .* ok  |^[a-z]+ [0-9]+ +ok +ok )[^;]*$$
measured-accuracy: bench-program ## measure how often explanations and comparisons are right, and write it into docs/measured (root; ACCURACY_SEED=7)
	tools/measured accuracy diagnosis bin/ingero bench diagnosis --seed $(ACCURACY_SEED) --baseline cooccurrence
	tools/measured accuracy real bin/ingero bench diagnosis --real --seed $(ACCURACY_SEED)
	tools/measured accuracy compare bin/ingero bench compare --seed $(ACCURACY_SEED)

.PHONY: measured-benchmarks
measured-benchmarks: bench-program ## measure what tracing and recordings cost, and write it into docs/measured (root)
	@set -e; for part in call loop tracer llama stack,exact bystander; do \
		tools/measured benchmarks $${part%,*} bin/ingero bench overhead --only $$part; done
	tools/measured benchmarks store bin/ingero bench store

.PHONY: measured-fleet
measured-fleet: export OMIT = ( (180)/180|(144)/144|(120)/120|(48)/48|(96)/96|- +-|^[25] fleets,) .* 0 +[0-9]+ +0\.00$$|^(load|heap) |^[0-9]+ nodes of
measured-fleet: bench-program fleet ## measure how well slow ranks are found and what a fleet takes, and write it into docs/measured (root)
	tools/measured fleet simulate bin/ingero-fleet simulate --seed 7
	OMIT= tools/measured fleet unequal bin/ingero-fleet simulate --n 64 --seed 7
	tools/measured fleet live bin/ingero bench fleet
	tools/measured fleet load cluster/load/bench.sh

.PHONY: measured-real
measured-real: export KEEP = ^ *--- |are as the program itself finds them
measured-real: export INGERO_REAL = 1
measured-real: ## compare stacks of real programs with those they find themselves, and write it into docs/measured (as make real)
	tools/measured real stacks $(GO) test -count=1 -p 1 -v -timeout 15m -run TestStacksOf $(REAL)

.PHONY: measured-gpu
measured-gpu: build ## try everything on this machine's GPU, and write it into docs/measured (root, a GPU, PyTorch)
	tools/measured gpu gpu gpu/run --ingero bin/ingero

.PHONY: demo-record
demo-record: ## record again what "ingero demo" replays (root)
	$(GO) run ./demo/record

.PHONY: investigations
investigations: ## record again what docs/investigations.md walks through (root)
	$(GO) run ./demo/record -investigations

.PHONY: clean
clean: ## remove what was built
	rm -rf bin dist .cache
