#!/bin/sh
# watch.sh ARCH OUT OBJECTS HEADERS: what watching the main run loop costs on Darwin, "key value unit" a line, beside the way of an
# article (programs/bench_watch.m) in the same host: CPU time of a pass, with and without an observer, wake-ups, and what a stall
# of a second gives. Times of an emulated machine are left out. OUT has the host and libSystem already.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
arch=$1 out=$2 objects=$3 headers=$4
case $arch in arm64) emulator=qemu-aarch64 ;; *) emulator='' ;; esac

rm -f "$out/watch.a"
find "$objects/src/CMakeFiles" -name '*.o' -print0 | xargs -0 llvm-ar-19 rcs "$out/watch.a"
"$here/build.sh" "$arch" "$out" "$headers" CoreFoundation '-O1 -fno-optimize-sibling-calls -D_FORTIFY_SOURCE=0' \
    '-dylib -install_name /System/Library/Frameworks/CoreFoundation.framework/CoreFoundation' "$here/frameworks/corefoundation.c"
export SONDE_COREFOUNDATION="$out/CoreFoundation"
"$here/build.sh" "$arch" "$out" "$headers" bench_watch '-fno-optimize-sibling-calls -fobjc-arc -O2' \
    "$out/watch.a -undefined dynamic_lookup" "$here/programs/bench_watch.m"

# shellcheck disable=SC2086 # no emulator is no word
measure() { $emulator "$out/machohost" "$out/libSystem.dylib" "$out/bench_watch" "$@"; }
for mode in sonde seed; do
    measure $mode wakes >"$out/bench_$mode.txt" &
done
wait
{
    [ -n "$emulator" ] || for mode in none sonde seed; do measure $mode turns; done
    cat "$out/bench_sonde.txt" "$out/bench_seed.txt"
} | sed "s/^/darwin.watch.$arch./"
