#!/usr/bin/env bash
# Runs ./dev demo as a new user would and looks for what it promises.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=build/demo.log
begin=$(date +%s)
if ! ./dev demo >"$out" 2>&1; then
    tail -30 "$out"
    echo "demo: exit status is not 0"
    exit 1
fi
bad=0
want() { grep -qE "$1" "$out" || { echo "demo: nothing like '$1' in $out"; bad=1; }; }
want '(fdatasync|fsync|pwrite)'
want 'sqlite3_step'
want 'python3\.11\+0x[0-9a-f]+'
want '_start'
want 'clock_nanosleep'
want 'What to try next'
stalls=$(grep -cE '^stall ' "$out" || true)
[ "$stalls" -ge 3 ] || { echo "demo: $stalls stalls reported, at least 3 were made"; bad=1; }
echo "  demo: $stalls stalls, $(($(date +%s) - begin)) s"
exit $bad
