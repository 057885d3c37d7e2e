#!/bin/sh
# Instructions per frame of the benchmark `frame_life`, both link ends together, counted by callgrind: the difference
# between a long and a short run, so that the start costs nothing.
set -eu
binary=$(cargo bench -p linkmend-protocol --bench frame_life --no-run --message-format=json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*frame_life[^"]*\)".*/\1/p' | tail -n 1)
count() {
    env $2 LINKMEND_BENCH_FRAMES="$1" valgrind --tool=callgrind --callgrind-out-file=/dev/null "$binary" 2>&1 |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
for case in "LINKMEND_BENCH_LOSS=0" "LINKMEND_BENCH_LOSS=0.001" \
    "LINKMEND_BENCH_NON_BLOCKING=1 LINKMEND_BENCH_LOSS=0" "LINKMEND_BENCH_NON_BLOCKING=1 LINKMEND_BENCH_LOSS=0.001"; do
    short=$(count 64000 "$case")
    long=$(count 384000 "$case")
    echo "$case: $(((long - short) / 320000)) instructions per frame"
done
