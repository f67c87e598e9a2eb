#!/usr/bin/env bash
# circles-test.sh BUILD: checks by the symbols of objects that no two files of the libraries and
# programs need each other, directly or through others. Prints each circle, and fails with status 1.
set -euo pipefail
build=${1:?usage: circles-test.sh BUILD}
objects=$(mktemp)
trap 'rm -f "$objects"' EXIT
for folder in src cli preload recorder execinfo upload collector; do
    find "$build/$folder" -name '*.o'
done | while read -r object; do # not those of files that are gone
    source=$(sed -E "s,^$build/,,; s,CMakeFiles/[^/]*\.dir/,,; s,\.o\$,," <<<"$object")
    [ ! -e "$source" ] || echo "$object"
done >"$objects"
[ -s "$objects" ] || { echo "circles: nothing is built in $build" >&2; exit 1; }

# prints "user definer" lines; if several programs define a symbol, the user's own program or src
# has it
edges() {
    xargs nm -A <"$objects" | sed -E "s,^$build/,," | awk '
        { file = $1; sub(/:.*/, "", file); program = file; sub(/\/.*/, "", program); name = $NF; kind = $(NF - 1) }
        kind == "U" { uses[++count] = file " " program " " name; next }
        kind ~ /^[TDBRVWC]$/ { defined[program " " name] = file }
        END {
            for (i = 1; i <= count; i++) {
                split(uses[i], use, " ")
                own = use[2] " " use[3]
                to = own in defined ? defined[own] : defined["src " use[3]]
                if (to != "" && to != use[1]) print use[1], to
            }
        }' | sed -E 's,CMakeFiles/[^/]*\.dir/,,g; s/\.[cS]\.o//g' | sort -u
}
found=$(edges | tsort 2>&1 >/dev/null || true)
[ -z "$found" ] || { printf '%s\n' "$found" | sed 's/^tsort: //'; exit 1; }
