#!/bin/sh
# bench.sh ARCH OUT OBJECTS HEADERS: what a capture and a hooked call cost on Darwin, "key value unit" a line: instructions of sonde and libSystem, by
# an emulator that logs each one, and calls of Mach, by the simulated libSystem. Instructions of the host count for nothing: there
# a kernel would run. `seed`: the walk of an article (programs/bench.c). `peer`: another article's way (programs/bench_audit.m).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
arch=$1 out=$2 objects=$3 headers=$4
case $arch in arm64) emulator=qemu-aarch64 ;; *) emulator=qemu-x86_64 ;; esac

"$here/archive.sh" "$out" "$objects"
"$here/build.sh" "$arch" "$out" "$headers"
"$here/build.sh" "$arch" "$out" "$headers" bench '-fno-optimize-sibling-calls -O2' "$out/libsonde.a -undefined dynamic_lookup" \
    "$here/programs/bench.c"
rm -f "$out/all.a"
find "$objects/src/CMakeFiles" -name '*.o' -print0 | xargs -0 llvm-ar-19 rcs "$out/all.a"
folders=$(find "$here/../../src" -type d ! -name linux ! -name darwin -printf '-I%p ')
"$here/build.sh" "$arch" "$out" "$headers" bench_audit "-fno-optimize-sibling-calls -fobjc-arc -O2 $folders" \
    "$out/all.a -undefined dynamic_lookup" "$here/programs/bench_audit.m"

# count PROGRAM: its output in PROGRAM.txt, and in PROGRAM.counts the instructions between each pair of its marks.
# "Trace 0: 0x7f... [flags/pc/...] symbol" is an instruction of the first thread. The program stops at the first mark of a pair
# until the second one; its output names the pairs in order. The host is linked below 2^28, images are mapped above.
count() {
    $emulator -singlestep -d exec,nochain -D /dev/fd/3 "$out/machohost" "$out/libSystem.dylib" "$out/$1" 3>&1 >"$out/$1.txt" |
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
            END {for (i = 1; i <= pairs; i++) print instructions[i] + 0}' >"$out/$1.counts"
    if grep '^line ' "$out/$1.txt" >&2; then exit 1; fi
}
count bench
paste -d ' ' "$out/bench.txt" "$out/bench.counts" | awk -v arch="$arch" 'NF != 4 {exit 1}
    {key = "darwin.capture." arch "." $1
     print key ".instructions", $4, "instructions"; print key ".calls", $2, "calls"; print key ".frames", $3, "frames"}'

# A hooked call: instructions on top of a call that is not hooked, on average of 500
count bench_audit
grep -v '^=' "$out/bench_audit.txt" | paste -d ' ' - "$out/bench_audit.counts" | awk -v arch="$arch" 'NF != 2 {exit 1}
    {key = "darwin.audit." arch "."; of[$1] = $2 / 500; print key $1 ".instructions", of[$1], "instructions"}
    END {if (of["sonde.after"] <= of["bare"]) exit 1
         print key "peer_to_sonde", (of["peer.after"] - of["bare"]) / (of["sonde.after"] - of["bare"]), "ratio"}'
sed -n "s/^= /darwin.audit.$arch./p" "$out/bench_audit.txt"
