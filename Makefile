# `make demo` shows what Linkmend does; `make test` is what every change must pass.

.PHONY: build demo test bench fuzz acceptance install clean

build:
	@scripts/require
	cargo build --release --locked --bin linkmend

demo: build
	target/release/linkmend demo

test:
	@scripts/test

# Frame-life micro-benchmark in ns (and in instructions, where valgrind is installed).
bench:
	@scripts/bench

# What must hold of the whole, at full length: about ten minutes, root, best on an otherwise idle machine.
acceptance: build
	@scripts/acceptance

# Coverage-guided fuzzing of the parsers and the pair of state machines; needs cargo-fuzz and a nightly toolchain.
fuzz:
	@scripts/fuzz

clean:
	cargo clean
