# SPDX-License-Identifier: Apache-2.0 OR MIT
# A front for meson. Each target first installs the Debian packages that it
# lacks (scripts/deps says which), so these work on a bare machine.

BUILD  = build
PREFIX = /usr/local
ROWS   =
REF    =
SEEDS  = 20000
# One a day has not seen.
FIRST  = $(shell date +%Y%m%d0000000)
T      = 60
TALLY  = scripts/tally $(BUILD)

.PHONY: help all demo test soak check check-vm test-rdma bench-rdma test-kernel test-kernel-debug test-packages bench bench-against fuzz mutants install deb clean

help:
	@echo 'make demo              real files into a service that is killed, and back; a'
	@echo '                       node that processes share'
	@echo 'make test              build, and run every test'
	@echo 'make soak [SEEDS=n]    nodes at random, on networks that fail: n seeds'
	@echo 'make check             sanitizers, source rules, layout, requirement tags'
	@echo 'make check-vm          what needs a kernel of its own, in virtual machines;'
	@echo '                       test-rdma: RDMA over soft-RoCE;'
	@echo '                       test-kernel: the engine, and a node, inside Linux;'
	@echo '                       test-packages: the package of make deb under systemd, RPM,'
	@echo '                       and a container'
	@echo 'make test-kernel-debug test-kernel on kernels with KASAN and lockdep, and a newer one'
	@echo 'make bench [ROWS=re]   measure against the goals; build/bench.json'
	@echo 'make bench-rdma        RDMA beside perftest, UCX, libfabric, in a virtual machine'
	@echo 'make bench-against REF=commit [ROWS=re]  is HEAD as fast as that commit?'
	@echo 'make fuzz [T=60]       each decoder with random input, T seconds each'
	@echo 'make mutants           does a test fail for each bug of tests/mutants, and for'
	@echo '                       new ones? (scripts/mutate)'
	@echo 'make all               build the library and the command'
	@echo 'make install [PREFIX=/usr/local] [DESTDIR=]'
	@echo 'make deb               a Debian package of the command, library and units'
	@echo 'make clean             remove every build directory'

all:
	@scripts/deps build
	@scripts/test --build-only release installed

demo:
	@scripts/deps build
	@scripts/demo

test:
	@scripts/deps build
	@scripts/test release; $(TALLY)

soak:
	@scripts/deps build
	@scripts/test --build-only release
	@echo 'swarm: $(SEEDS) seeds from $(FIRST)'
	@M0_SEEDS_NR=$(SEEDS) $(BUILD)/tests/sim/swarm $(FIRST)

check:
	@scripts/deps build sanitize check fuzz package
	@scripts/check

# 77: QEMU or a package cannot be had, and it says so.
check-vm: test-rdma test-kernel test-packages

test-rdma:
	@scripts/deps build
	@scripts/test --build-only release
	@tests/vm/run --build $(BUILD) rdma rdma-two verbs node node-two suite || [ $$? = 77 ]

test-packages:
	@scripts/deps build
	@scripts/test --build-only release installed
	@scripts/deb $(BUILD) >/dev/null
	@tests/vm/run --build $(BUILD) packages || [ $$? = 77 ]
	@scripts/deps package
	@scripts/rpm build-rpm >/dev/null
	@tests/abi/rpms build-rpm
	@deb=$$(scripts/deb $(BUILD)); COLIBRI=$(BUILD)/tools/colibri \
		tests/abi/container "$$deb" $(BUILD)/container || [ $$? = 77 ]

test-kernel:
	@scripts/deps build
	@scripts/test --build-only release
	@tests/vm/run --build $(BUILD) kernel kernel-node kernel-beside kernel-net kernel-device kernel-namespaces kernel-device-suite kernel-store || [ $$? = 77 ]

# Every story on a kernel with checks, which is built first; then some on a newer kernel.
# Hours on a slow machine: for the night.
test-kernel-debug:
	@scripts/deps build
	@scripts/test --build-only release
	@tests/vm/run --build $(BUILD) --debug kernel-fault 'kernel*' || [ $$? = 77 ]
	@tests/vm/run --build $(BUILD) --newer kernel-node kernel-device || [ $$? = 77 ]

bench:
	@scripts/deps build bench
	@bench/run --build $(BUILD) $(if $(ROWS),--rows '$(ROWS)')

# Rates over soft-RoCE: none is judged.
bench-rdma:
	@scripts/deps build
	@scripts/test --build-only release
	@tests/vm/run --build $(BUILD) bench-rdma || [ $$? = 77 ]

bench-against:
	@scripts/deps build bench
	@bench/against --build $(BUILD) $(if $(ROWS),--rows '$(ROWS)') -- '$(REF)'

fuzz:
	@scripts/deps build sanitize fuzz
	@scripts/fuzz -t $(T)

mutants:
	@scripts/deps build check
	@scripts/mutants; kept=$$?; scripts/mutate && exit $$kept

# The second build only writes down where files go.
install: all
	@meson configure $(BUILD) --prefix='$(PREFIX)'
	@scripts/test --build-only release installed
	@DESTDIR='$(DESTDIR)' meson install --no-rebuild -C $(BUILD)

deb: all
	@scripts/deb $(BUILD)

clean:
	rm -rf build build-debug build-demo build-asan build-tsan build-fuzz build-mutants build-cov build-debian build-rpm
