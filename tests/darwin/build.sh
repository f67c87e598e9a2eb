#!/bin/sh
# build.sh ARCH OUT HEADERS: for x86_64 or arm64, the Mach-O host and the simulated libSystem, in the folder OUT. HEADERS: Apple's headers of libSystem
# (tools/npm-packages.list).
# build.sh ARCH OUT HEADERS NAME CFLAGS LDFLAGS SOURCE...: also a Mach-O program OUT/NAME of these sources, linked with the simulated
# libSystem. Objects and archives among the flags of the linker are linked, too.
# SONDE_DARWIN=ios: all for iOS 14 instead of macOS, without the host.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
arch=$1 out=$2 headers=$3
warnings='-Wall -Wextra -Werror'

case ${SONDE_DARWIN:-macos} in ios) system=ios14 linked='ios 14 14' ;; *) system=macos11 linked='macos 13 13' ;; esac
apple() { clang-19 --target=$arch-apple-$system -nostdlibinc -isystem "$headers" $warnings -Wno-unused-command-line-argument "$@"; }
# shellcheck disable=SC2086 # three words
link() { ld64.lld-19 -arch $arch -platform_version $linked "$@"; }

mkdir -p "$out"
if [ $# -gt 3 ]; then
    name=$4 cflags=$5 ldflags=$6
    shift 6
    objects=
    for source in "$@"; do
        object=$out/$name-$(basename "$source").o fast=
        # a machine that tests of the watch play in virtual time: no code of sonde, and without optimization half of all that is emulated
        case $source in */world.c) fast=-O2 ;; esac
        # shellcheck disable=SC2086 # flags are several words
        apple $cflags $fast -I"$root/include" -c "$source" -o "$object"
        objects="$objects $object"
    done
    # shellcheck disable=SC2086
    link $objects $ldflags "$out/libSystem.dylib" -o "$out/$name"
    exit
fi

# The host: a Linux program, on sonde's reader of Mach-O. It is linked statically, so that an emulator needs no other file of its
# machine, and its functions have the addresses of its symbols.
case $arch in
    arm64) cc='aarch64-linux-gnu-gcc -static' ;;
    *) cc='cc -static -no-pie' ;;
esac
# shellcheck disable=SC2086
[ -n "${SONDE_DARWIN-}" ] || $cc -g -O1 $warnings -I"$root/include" -I"$root/src/images/image" -I"$root/src/common/base" -I"$root/src/machine/arch" \
    -I"$here/host" "$here"/host/*.c "$here/host/border_$arch.S" "$root"/src/images/image/image_macho*.c "$root/src/machine/arch/arch_sign.c" \
    $(find "$root/src/common/base" -name '*.c' ! -name base_mem_macho.c) -o "$out/machohost" # libc's memcpy is faster

# The simulated libSystem: a Mach-O of its own. It defines what the compiler takes for its own functions.
objects=
for source in "$here"/sim/*.[cmS]; do
    object=$out/sim-$(basename "$source").o
    apple -O1 -fno-builtin -D_FORTIFY_SOURCE=0 -c "$source" -o "$object"
    objects="$objects $object"
done
# the runtime of blocks and of Objective-C's objects is that of the corpus of blocks
object=$out/sim-runtime.c.o
apple -O1 -w -fno-builtin -fno-blocks -DCORPUS_MARK_1='"__Block_tryRetain"' -DCORPUS_MARK_2='"__Block_isDeallocating"' \
    -c "$here/../integration/blocks/corpus/runtime.c" -o "$object"
objects="$objects $object"
# shellcheck disable=SC2086
link -dylib -install_name /usr/lib/libSystem.B.dylib -undefined dynamic_lookup $objects -o "$out/libSystem.dylib"
