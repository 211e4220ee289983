# SPDX-License-Identifier: GPL-2.0
#
# The work is done by scripts/, bench/ and tests/, one program for each target.

VARIANT ?= rust
ARCH ?= x86_64

# Given to the scripts if set; this make's own flags are not for the kernel's.
export KSRC QUICK FRESH K N DURATION SEED FILTER
unexport MAKEFLAGS MFLAGS MAKEOVERRIDES VARIANT ARCH KERNELS CONFIGS PART

.PHONY: help deps tree kernel kernels kunit test suites harness-check mutants-check mutants \
	bench bench-scale bench-softlimit bench-untrusted bench-dying bench-priority bench-retain \
	bench-containers bench-profile debug-kernel boots-kernels boots \
	failinject retained torture mutants-debug sanitize selftests litmus model \
	zombies stock-check tools-check lint series patches configs bisect ncheck objcheck rustavailable \
	doctor release clean distclean docs-figures rebase htmldocs rustdoc dashboard

help: ## this list
	@scripts/help

deps: ## install what is missing (Debian 12 or 13), or say what it is
	@scripts/deps

tree: ## prepare build/linux; KSRC=/path/to/linux takes that source
	@scripts/tree

kernel: tree ## build one kernel: VARIANT=NAME ARCH=x86_64|um|arm64; scripts/kernel lists them
	@scripts/kernel $(VARIANT) $(ARCH)

kernels: tree ## build the bench's kernels: stock, rust and verify
	@scripts/kernels bench

kunit: tree ## run the KUnit suites on one ARCH=x86_64|um|arm64; FILTER='mm_reclaim_iter*'
	@$(if $(filter arm64,$(ARCH)),scripts/deps arm64)
	@$(if $(filter-out file,$(origin VARIANT)),VARIANT=$(VARIANT)) scripts/kunit $(ARCH)

test: deps tree ## run the KUnit suites on x86_64
	@scripts/kunit x86_64

suites: deps tree ## run the KUnit suites with 4 CPUs, on a kernel without sanitizers
	@scripts/kernels suites
	@tests/run suites

harness-check: deps tree ## check, in seconds, that the harness finds what is wrong
	@tests/run harness

mutants-check: tree ## check, in seconds, that the mutants still fit the code
	@tests/run mutants_check

mutants: deps tree ## show that the suites catch each documented mutation
	@tests/run mutants

bench: deps kernels ## boot and measure each kernel; QUICK=1 and N="250 500" limit it
	@bench/run drop_caches

bench-scale: deps kernels ## stock and rust at scale, in nine scenarios; QUICK=1 is short
	@bench/run scale

bench-softlimit: deps kernels ## stock, and soft limits off and on; QUICK=1 is short
	@bench/run softlimit

bench-untrusted: deps kernels ## what a container can do to others, and who pays; QUICK=1 is short
	@bench/run untrusted

bench-dying: deps kernels ## what groups keep that were removed; QUICK=1 is short
	@bench/run dying

bench-priority: deps kernels ## who keeps memory when all of it is short; QUICK=1 is short
	@bench/run priority

bench-retain: deps kernels ## page cache that outlives limits; QUICK=1 is short
	@bench/run retain

bench-containers: deps kernels ## hosts with many containers, idle and busy; QUICK=1 is short
	@bench/run containers

bench-profile: deps kernels ## count instructions and misses of hot paths, and RCU sections; QUICK=1 is short
	@bench/run profile

debug-kernel: tree
	@scripts/kernels failinject

boots-kernels: tree
	@scripts/kernels boots

boots: deps kernels $(if $(filter others,$(PART)),,boots-kernels) ## boot the Rust kernel in each way in which it must work; QUICK=1 is short
	@tests/run boots $(addprefix --part ,$(PART))

failinject: deps debug-kernel ## let each allocation fail once; QUICK=1 is short
	@tests/run failinject

retained: deps tree ## files used at random while a pool comes between; DURATION=SECONDS
	@scripts/deps $(if $(QUICK),,retained)
	@scripts/kernels "retained$(if $(QUICK), QUICK)"
	@tests/run retained

torture: deps debug-kernel ## everything at once, at random; DURATION=SECONDS, SEED=NUMBER
	@tests/run torture

mutants-debug: deps tree ## show that torture and its like catch deliberate bugs
	@scripts/kernels mutants-debug
	@tests/run mutants_debug

selftests: deps tree ## the kernel's own selftests on stock and rust, compared; QUICK=1 is short
	@scripts/kernels "selftests$(if $(QUICK), QUICK)"
	@tests/run selftests

sanitize: deps tree ## run kernels that look for faults: lockdep, KASAN, KCSAN; QUICK=1 is short
	@scripts/kernels sanitize $(KERNELS)
	@tests/run sanitize $(addprefix --kernel ,$(KERNELS))

zombies: deps tree ## remove cgroups that something holds: memcg_zombies.py must say what
	@scripts/deps zombies
	@scripts/kernels zombies
	@tests/run zombies

stock-check: deps tree ## show that the C implementation needs the fixes of patches/stock, on UML
	@tests/run stock

litmus: tree ## prove the protocols by the kernel's memory model, with herd7
	@tests/run litmus

tools-check: deps ## test tools/cgroup on copies of other hosts, in seconds
	@tests/run tools

model: deps ## explore the protocols with a model checker, on the host; QUICK=1 is short
	@tests/run model

lint: tree ## checkpatch, rustfmt, clippy and W=1 on the series
	@scripts/lint

configs: tree ## compile in many configurations; CONFIGS="NAME..." and QUICK=1 limit it
	@$(if $(QUICK),,scripts/deps configs)
	@tests/run configs $(CONFIGS)

series: tree ## write the mail-ready series to build/series
	@scripts/series

patches: tree ## write one patch, the series and what to configure to build/patches; tries them
	@scripts/patches

bisect: deps tree ## build each commit of the series with the option on and off; run its suites
	@tests/run bisect

ncheck: tree ## show that MEMCG_SHRINKER_RUST=n changes no code
	@tests/run ncheck

objcheck: deps kernels ## check the built code: no panics, and little stack
	@tests/run objcheck

doctor: tree ## say why the option is missing, and what mends that; CONFIG=FILE: with that configuration
	@python3 -m harness.doctor $(if $(CONFIG),"$(CONFIG)")

rustavailable: tree ## check that the kernel accepts the Rust toolchain
	@scripts/rustavailable

dashboard: deps ## draw docs/dashboard/mm_reclaim.json, for Grafana, with a made-up week
	@scripts/prometheus
	@/usr/bin/python3 -m harness.dashboard

docs-figures: ## write the tables of README and docs/; CHECK=1 compares, FROM=FILE takes a run
	@python3 -m harness.figures $(if $(CHECK),--check) $(addprefix --from ,$(FROM)) $(addprefix --as ,$(INTO))

htmldocs: tree ## build the files of Documentation/ with Sphinx, without a warning
	@scripts/deps htmldocs
	@scripts/htmldocs

rustdoc: deps tree ## build the crate's documentation, without a warning
	@scripts/kernel rust x86_64
	@scripts/rustdoc

rebase: ## apply the series to KSRC=/path/to/linux with 3-way merge, and list what conflicts
	@scripts/rebase

release: ## run everything there is, for hours; goes on where it was interrupted; K=EXPR limits it
	@python3 -m harness.tier release

clean: ## remove what was built, and keep what was fetched
	@scripts/clean

distclean: ## remove build/ altogether
	rm -rf build
