#!/bin/sh
# Instructions per frame of the benchmark `round`, both link ends together, counted by callgrind inside the rounds alone:
# the difference between a long and a short run, so that the start costs nothing. CASE limits it to cases with this in
# their names.
set -eu
binary=${1:-$(cargo bench -p linkmend-dataplane --bench round --no-run --message-format=json 2>/dev/null |
    sed -n 's/.*"executable":"\([^"]*round[^"]*\)".*/\1/p' | tail -n 1)}
count() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*BenchedEnd*round*' \
        "$binary" --only "$1" --count "$2" 2>&1 | sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}
for bytes in 64 1500; do
    for case in "unprotected, one way, loss 0" "ordered, one way, loss 0" "ordered, one way, loss 0.001" \
        "ordered, both ways, loss 0.001" "non-blocking, one way, loss 0" "non-blocking, one way, loss 0.001" \
        "non-blocking, both ways, loss 0.001"; do
        name="$case, $bytes B"
        case $name in *"${CASE:-}"*) ;; *) continue ;; esac
        case $name in *"both ways"*) ways=2 ;; *) ways=1 ;; esac
        short=$(count "$name" 16000)
        long=$(count "$name" 96000)
        echo "$name: $(((long - short) / (80000 * ways))) instructions per frame"
    done
done
