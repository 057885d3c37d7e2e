# `make demo` shows what Linkmend does, `make test` runs the checks that every change must pass, and `make help` lists the rest.

.PHONY: build demo test bench book wheels packages static fuzz miri mutants advisories acceptance kernels matrix clean help

# Build the two programs, linkmend and linkmend-workbench (simulator, fleet, demo), in target/release.
build:
	@scripts/require
	cargo build --release --locked --bin linkmend --bin linkmend-workbench

# Run kernel TCP over a corrupting link, unprotected and protected, for 2 minutes after about 3 of building; as root with AF_XDP.
demo:
	@scripts/require
	cargo build --profile demo --locked -p linkmend-workbench --bin linkmend-workbench
	"$${CARGO_TARGET_DIR:-target}/demo/linkmend-workbench" demo

# Run every check of the project; the tests in network namespaces run only as root.
test:
	@scripts/test

# Measure the cost of a frame: protocol and daemon in ns (and in instructions if valgrind is installed), simulator in frames/s.
bench:
	@scripts/bench

# Check the requirements end to end and at full length: about 25 minutes, as root, on an otherwise idle machine.
acceptance: build
	@scripts/acceptance

# Compare the simulated TCP with Linux kernels in virtual machines, and write the table of docs/kernel.md: about 10 minutes, with QEMU.
kernels:
	@scripts/kernels

# Run two link ends in virtual machines, on Debian's kernels and each emulated network card, and write the table of docs/matrix.md: hours, with QEMU.
matrix:
	@scripts/matrix

# Build docs/ as a book in target/book with mdBook, which takes minutes to install, and check every link in it.
book:
	@scripts/require book
	@scripts/book

# Build the Python package for other machines: a wheel and the source distribution, in target/wheels.
wheels:
	@scripts/wheels

# Build the Debian packages linkmend and linkmend-lab in target/packages, and pass them to lintian.
packages:
	@scripts/packages

# Build programs that need no library, for x86-64, aarch64 and armv7, in target/static, and run each of them.
static:
	@scripts/static

# Fuzz parsers and state machines (cargo-fuzz, nightly toolchain), FUZZ_SECONDS=60 each.
fuzz:
	@scripts/fuzz

# Run the tests of the AF_XDP rings under Miri (nightly toolchain with miri and rust-src): data races, undefined behaviour.
miri:
	@scripts/miri

# Mutate the protocol in one place at a time (cargo-mutants); fails if tests catch less than 85 %. Takes hours; scripts/mutants runs a part.
mutants:
	@scripts/mutants

# Check dependencies for known vulnerabilities (cargo-deny); needs github.com for RustSec's database.
advisories:
	@scripts/require test
	@PATH="$$PATH:$${CARGO_TARGET_DIR:-target}/tools" cargo deny --locked check advisories

# Remove build artifacts.
clean:
	cargo clean

# Print this list.
help:
	@awk '/^# / { line = substr($$0, 3) } /^$$/ { line = "" } \
	    /^[a-z]+:/ && line { sub(/:.*/, ""); printf "  make %-11s %s\n", $$0, line }' Makefile
