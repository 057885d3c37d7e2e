# `make demo` shows what Linkmend does; `make test` is what every change must pass; `make help` lists the rest.

.PHONY: build demo test bench fuzz miri mutants advisories acceptance clean help

# The two programs, linkmend and linkmend-workbench (simulator, fleet, demo), in target/release.
build:
	@scripts/require
	cargo build --release --locked --bin linkmend --bin linkmend-workbench

# Kernel TCP over a corrupting link, unprotected and protected: 1 to 2 minutes; with AF_XDP as root, else AF_PACKET.
demo: build
	"$${CARGO_TARGET_DIR:-target}/release/linkmend" demo

# Every check of the project; the tests in network namespaces only as root.
test:
	@scripts/test

# What a frame costs: protocol and daemon in ns (and in instructions, where valgrind is installed), simulator in frames/s.
bench:
	@scripts/bench

# What must hold of the whole, at full length: about ten minutes, root, best on an idle machine.
acceptance: build
	@scripts/acceptance

# Coverage-guided fuzzing (cargo-fuzz, nightly toolchain) of parsers and state machines, FUZZ_SECONDS=60 each.
fuzz:
	@scripts/fuzz

# The rings of AF_XDP under Miri (nightly toolchain with miri and rust-src): data races and accesses that are undefined.
miri:
	@scripts/miri

# Changes the protocol in one place at a time (cargo-mutants); fails if tests notice less than 85 %: hours, or a part (scripts/mutants).
mutants:
	@scripts/mutants

# Known vulnerabilities of what Linkmend is built from (cargo-deny); needs github.com for RustSec's database.
advisories:
	@scripts/require test
	@PATH="$$PATH:$${CARGO_TARGET_DIR:-target}/tools" cargo deny --locked check advisories

# Removes what was built.
clean:
	cargo clean

# This list: the line above each target.
help:
	@awk '/^# / { line = substr($$0, 3) } /^$$/ { line = "" } \
	    /^[a-z]+:/ && line { sub(/:.*/, ""); printf "  make %-11s %s\n", $$0, line }' Makefile
