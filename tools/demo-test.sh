#!/usr/bin/env bash
# Runs ./dev demo as a new user would, and checks for the promised output: with its FUSE folder, and
# as on a machine without FUSE.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p build
out=build/demo.log
bad=0
want() { grep -qE "$1" "$out" || { echo "demo: nothing like '$1' in $out"; bad=1; }; }
for fuse in no yes; do
    begin=$(date +%s)
    if ! SONDE_DEMO_FUSE=$fuse ./dev demo >"$out" 2>&1; then
        tail -30 "$out"
        echo "demo: exit status is not 0"
        exit 1
    fi
    want 'blocked in (fdatasync|fsync)'
    want 'sqlite3_step'
    want '^  main blocked .* under take_order \(orders\.py:9\)$'
    want '^  heaviest app function  take_order orders\.py:9  '
    want '^    #[0-9]+ +take_order +/.*/examples/demo/orders\.py:9  \[Python\]$'
    want '_start'
    want 'clock_nanosleep'
    want '^  group [0-9]+  stall  [0-9]+ times, [0-9]+ ms: take_order'
    want '^  group [0-9]+  finding  [0-9]+ times: f(data)?sync  by .*take_order'
    want 'What to try next'
    stalls=$(grep -cE '^stall ' "$out" || true)
    [ "$stalls" -ge 3 ] || { echo "demo: $stalls stalls reported, at least 3 were made"; bad=1; }
    echo "  demo, FUSE $fuse: $stalls stalls, $(($(date +%s) - begin)) s"
    [ $bad = 0 ] || exit 1
done
