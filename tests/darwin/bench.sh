#!/bin/sh
# bench.sh ARCH OUT OBJECTS HEADERS: what a capture costs on Darwin, "key value unit" a line: instructions of sonde and libSystem, by
# an emulator that logs each one, and calls of Mach, by the simulated libSystem. Instructions of the host count for nothing: there
# a kernel would run. `seed`: the walk of an article (programs/bench.c).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
arch=$1 out=$2 objects=$3 headers=$4
case $arch in arm64) emulator=qemu-aarch64 ;; *) emulator=qemu-x86_64 ;; esac

"$here/archive.sh" "$out" "$objects"
"$here/build.sh" "$arch" "$out" "$headers"
"$here/build.sh" "$arch" "$out" "$headers" bench '-fno-optimize-sibling-calls -O2' "$out/libsonde.a -undefined dynamic_lookup" \
    "$here/programs/bench.c"

# "Trace 0: 0x7f... [flags/pc/...] symbol" is an instruction of the first thread. The program stops at the first mark of a pair
# until the second one; its output names the pairs in order. The host is linked below 2^28, images are mapped above.
$emulator -singlestep -d exec,nochain -D /dev/fd/3 "$out/machohost" "$out/libSystem.dylib" "$out/bench" 3>&1 >"$out/bench.txt" |
    awk '$1 == "Trace" && $2 == "0:" {
            split($4, at, "/")
            if ($5 == "host_mark") {
                if (!inside_mark) {counting = !counting; if (counting) pairs++}
                inside_mark = 1
            } else {
                inside_mark = 0
                if (counting && (length(at[2]) > 16 || substr(at[2], 1, 9) != "000000000")) instructions[pairs]++
            }
        }
        END {for (i = 1; i <= pairs; i++) print instructions[i] + 0}' >"$out/bench.counts"
if grep '^line ' "$out/bench.txt" >&2; then exit 1; fi
paste -d ' ' "$out/bench.txt" "$out/bench.counts" | awk -v arch="$arch" 'NF != 4 {exit 1}
    {key = "darwin.capture." arch "." $1
     print key ".instructions", $4, "instructions"; print key ".calls", $2, "calls"; print key ".frames", $3, "frames"}'
