#!/bin/sh
# cli.sh ARCH OUT OBJECTS HEADERS SONDE: links the program `sonde` for macOS from OBJECTS, the build folder of its objects, once with
# Apple's list of libSystem's symbols and once with the simulated libSystem, and runs each command that reads files in the host. Output
# and status must be those of SONDE, the same program of this system, for the same input: a line "ok NAME" or "not ok NAME" for each.
# Returns 0 if all are ok. build.sh has built the host in OUT.
set -u
here=$(cd "$(dirname "$0")" && pwd)
arch=$1 out=$(realpath "$2") objects=$(realpath "$3") headers=$4 sonde=$(realpath "$5") failed=0 compared=0
in=$out/cli
case $arch in arm64) emulator=qemu-aarch64 ;; *) emulator='' ;; esac

say() { if [ "$1" = 0 ]; then echo "ok $arch: $2"; else echo "not ok $arch: $2"; failed=1; fi; }
stop() { echo "not ok $arch: $1"; exit 1; }

rm -rf "$in"
mkdir -p "$in/kept-native" "$in/kept-ported" "$in/store" "$in/bin"
cd "$in" || exit 1
ninja -C "$objects" -t cleandead >/dev/null # objects of files that are no more
find "$objects/src/CMakeFiles" -name '*.o' -print0 | xargs -0 llvm-ar-19 rcs all.a
link() {
    find "$objects/cli/CMakeFiles/sonde.dir" -name '*.o' -print0 |
        xargs -0 ld64.lld-19 -arch "$arch" -platform_version macos 13 13 -dead_strip -o "$1" all.a "$2"
}
link sonde-apple "$headers/../../darwin/libSystem.tbd" >log 2>&1
rc=$?
sed 's/^/    /' log
say $rc "sonde links with Apple's libSystem, and needs nothing else"
link bin/sonde "$out/libSystem.dylib" || stop 'sonde links with the simulated libSystem'
cp -r "$here/../../packs" packs # beside the folder of the program

# Both have the same environment, but for the folder where they keep indexes.
export HOME="$in" SONDE_SCRUB='' COLUMNS=100
unset DEBUGINFOD_URLS XDG_STATE_HOME
# shellcheck disable=SC2086 # no emulator is no word
ported() { XDG_CACHE_HOME=$in/kept-ported timeout 300 $emulator "$out/machohost" "$out/libSystem.dylib" "$in/bin/sonde" "$@"; }
native() { XDG_CACHE_HOME=$in/kept-native "$sonde" "$@"; }

# both NAME STATUS ARGUMENT...: both programs end with the status and print the same. Standard input is $input. $volatile: for sed, what
# differs between two runs.
input=/dev/null volatile=
both() {
    name=$1 wanted=$2 rc=0
    shift 2
    native "$@" <"$input" >native.out 2>native.err
    native_status=$?
    ported "$@" <"$input" >ported.out 2>ported.err
    ported_status=$?
    [ $native_status = "$wanted" ] && [ $ported_status = "$wanted" ] ||
        { rc=1 && echo "    status $native_status, ported $ported_status, wanted $wanted"; }
    for what in out err; do
        [ -z "$volatile" ] || sed -i "$volatile" native.$what ported.$what
        cmp native.$what ported.$what >/dev/null || { rc=1 && diff native.$what ported.$what | head -10 | cut -c1-200 | sed 's/^/    /'; }
    done
    [ -s native.out ] || [ -s native.err ] || { rc=1 && echo '    nothing was printed'; }
    compared=$((compared + $(cat native.out native.err | wc -c)))
    say $rc "sonde $name"
}

# ported_only NAME STATUS TEXT ARGUMENT...: what macOS lacks says so.
ported_only() {
    name=$1 wanted=$2 text=$3 rc=0
    shift 3
    ported "$@" </dev/null >ported.out 2>&1
    got=$?
    [ $got = "$wanted" ] && grep -qF -- "$text" ported.out || { rc=1 && echo "    ended with $got" && sed 's/^/    /' ported.out; }
    say $rc "sonde $name"
}

# same NAME FILE FILE: files that both wrote
same() { rc=0; [ -s "$2" ] && cmp "$2" "$3" || rc=1; say $rc "$1"; }


# --- inputs: a program of macOS with its dSYM, one of this system, crash logs, reports ---
"$here/build.sh" "$arch" "$out" "$headers" cli-program '-O1 -g -w' '-undefined dynamic_lookup' "$here/../integration/macho/program.m" &&
    cp "$out/cli-program" program && dsymutil-19 program -o store/program.dSYM || stop 'the program of macOS is built'
clang-19 --target="$arch-apple-macos11" -nostdlibinc -isystem "$headers" -w -O1 -fobjc-arc -c "$here/../integration/blocks/corpus/cases_arc.m" -o blocks.o ||
    stop 'blocks are built'
cat >elf.c <<'C'
struct pair { int first; double second[3]; struct pair *next; };
struct pair pairs[4];
static inline int inner(int x) { return pairs[x & 3].first * x; }
__attribute__((noinline)) int middle(int x) { return inner(x) + inner(x + 1); }
int main(int argc, char **argv) { (void)argv; return middle(argc) > 0x10000; }
C
cc -g -O2 elf.c -o elf || stop 'the program of this system is built'
for kind in zlib zstd xz; do # others, with a build-id of their own
    cc -g -O2 "-Wl,--build-id=0x$(printf '%s-%s' $kind "$arch" | od -An -tx1 | tr -d ' \n')" elf.c -o elf-$kind || stop "elf-$kind is built"
done
# debug information that is compressed, and names of functions in .gnu_debugdata only
for kind in zlib zstd; do
    llvm-objcopy-19 --compress-debug-sections=$kind elf-$kind || stop "debug information is compressed by $kind"
done
nm -f posix --defined-only elf-xz | awk '$2 == "t" || $2 == "T" {print $1}' >keep
objcopy -S --keep-symbols=keep elf-xz mini && xz -q -k -f mini && strip elf-xz && objcopy --add-section .gnu_debugdata=mini.xz elf-xz ||
    stop 'the names of functions are compressed by xz'
# the simulated libz; libzstd and others are not there, as on a Mac
mkdir -p system/usr/lib
"$here/build.sh" "$arch" "$out" "$headers" libz -O1 '-dylib -install_name /usr/lib/libz.1.dylib' "$here/frameworks/zlib.c" &&
    cp "$out/libz" system/usr/lib/libz.1.dylib || stop 'the simulated libz is built'

address() { llvm-nm-19 "$1" | sed -n "s/^0*\([0-9a-f]*\) [tT] $2\$/\1/p"; }
base=$((0x100000000)) loaded=$((0x102a08000))
helper=$((0x$(address program _helper) - base + 8)) exported=$((0x$(address program _exported) - base + 16))
uuid=$(llvm-dwarfdump-19 --uuid program | cut -d' ' -f2)
cat >log.ips <<J
{"app_name":"program","bug_type":"309","incident_id":"5C32DF84"}
{
  "threads" : [{"id":1,"triggered":true,"frames":[{"imageOffset":$helper,"imageIndex":1},{"imageOffset":$exported,"imageIndex":1},
   {"imageOffset":12,"imageIndex":0}]}],
  "usedImages" : [
   {"source":"P","arch":"arm64e","base":6806884352,"size":4096,"uuid":"00000000-1111-2222-3333-444455556666","path":"\/usr\/lib\/dyld","name":"dyld"},
   {"source":"P","arch":"$arch","base":$loaded,"size":49152,"uuid":"$uuid","path":"\/private\/var\/program","name":"program"}
  ]
}
J
{
    printf 'Process:             program [2341]\n\nThread 0 Crashed:\n'
    printf '0   program                       \t0x%016x 0x%x + %d\n' $((loaded + helper)) $loaded $helper
    printf '1   program                       \t0x%016x 0x%x + %d\n' $((loaded + exported)) $loaded $exported
    printf '\nBinary Images:\n0x%x - 0x%x program %s  <%s> /private/var/program\n' $loaded $((loaded + 49151)) "$arch" \
        "$(echo "$uuid" | tr -d - | tr A-F a-f)"
} >log.crash
sleep 300 &
sleeper=$!
tries=0 # its stack is to be that of a sleep, not of its start
until grep -q nanosleep /proc/$sleeper/wchan || [ $((tries += 1)) -gt 50 ]; do sleep 0.1; done
native stacks --report=stacks.sonde --device=one "$sleeper" >log 2>&1 || { kill $sleeper; stop 'a report of stacks is made'; }
kill $sleeper
printf 'open*\nread\nclose\n' >list
for n in 1 2; do
    native run --record=list --report=calls$n.sonde -- cat elf.c $([ $n = 1 ] || echo list) >log 2>&1 || stop 'a report of calls is made'
done
cat >rules.ini <<'J'
[pack]
  use = linux-process
[rule "environment"]
  api      = getenv, secure_getenv
  class    = identity
  severity = note
  from     = !module:libc.so*
  message  = reads the environment
[sdk "analytics"]
  match = module:libstat*.so, symbol:stat_*
J

# Cores of this system, by gdb: of threads that wait, of a script, of a program with blocks.
cat >threads.c <<'C'
#include <pthread.h>
#include <unistd.h>
static __attribute__((noinline)) int waits(int fd) { char c; return (int)read(fd, &c, 1) + 1; }
static void *work(void *fd) { return (void *)(long)waits(*(int *)fd); }
int main(void) { int fds[2]; pthread_t t; if (pipe(fds) != 0) return 1; pthread_create(&t, 0, work, fds); return waits(fds[0]); }
C
cat >script.py <<'P'
import time
def inner(): time.sleep(300)
def outer(): inner()
outer()
P
cat >closures.c <<'C'
#include <unistd.h>
void *_Block_copy(const void *block);
extern void *_NSConcreteStackBlock[];
void *kept[2];
int main(int argc, char **argv) {
    for (int i = 0; i < 2; i++) kept[i] = _Block_copy(^(int more) { return argc + i + more; });
    (void)argv; return (int)sleep(300);
}
C
cc -g -O1 threads.c -o threads -lpthread &&
    clang-19 -fblocks -g -O1 -w closures.c -x c -DCORPUS_MARK_1='"a"' -DCORPUS_MARK_2='"b"' "$here/../integration/blocks/corpus/runtime.c" -o closures ||
    stop 'programs for cores are built'
core() { # NAME PROGRAM...: a core of the program that waits
    name=$1
    shift
    "$@" &
    pid=$!
    for _ in $(seq 100); do # until it waits
        grep -q '^State:.S' /proc/$pid/status && [ "$(cut -d' ' -f1 /proc/$pid/syscall)" != running ] && break
        sleep 0.1
    done
    sleep 0.5
    gcore -o "$name" $pid >log 2>&1
    rc=$?
    kill $pid
    [ $rc = 0 ] && mv "$name.$pid" "$name.core" || stop "a core of $name is written"
}
core threads ./threads
core script python3 script.py
core closures ./closures

# --- the commands ---
native index --output=native-indexes store/program.dSYM program elf >native.out 2>&1
ported index --output=ported-indexes store/program.dSYM program elf >ported.out 2>&1
for index in native-indexes/*; do
    same "sonde index writes the same file, $(($(wc -c <"$index") / 1000)) kB" "$index" "ported-indexes/$(basename "$index")"
done

addresses=$(llvm-nm-19 program | sed -n 's/^0*\([0-9a-f]*\) [tT] .*/\1/p' | while read -r at; do printf 'program+0x%x\n' $((0x$at - base + 4)); done)
# shellcheck disable=SC2086 # one word for each address
both 'symbolize names addresses of a program of macOS' 0 symbolize --symbols=store --image=program $addresses
# shellcheck disable=SC2086
both 'symbolize --json does' 0 symbolize --json --symbols=store --image=program $addresses
both 'symbolize names an inlined call of a program of Linux' 0 symbolize "elf+0x$(address elf middle)"
input=log.ips both 'symbolize names a crash log of Apple in JSON' 0 symbolize --symbols=store
input=log.crash both 'symbolize names a crash log of Apple in text' 0 symbolize --symbols=store
inlined=0x$(address elf middle)
ported_only 'symbolize says that zlib is missing' 0 'libz.1.dylib (of the system) is not here' symbolize "elf-zlib+$inlined"
export MACHOHOST_ROOT="$in/system"
both 'symbolize names an inlined call by compressed debug information' 0 symbolize "elf-zlib+$inlined"
unset MACHOHOST_ROOT
ported_only 'symbolize says that zstd is missing' 0 'libzstd.1.dylib (Homebrew: zstd) is not here' symbolize "elf-zstd+$inlined"
ported_only 'symbolize says that xz is missing' 3 'liblzma.5.dylib (Homebrew: xz) is not here' symbolize "elf-xz+$inlined"
ported_only 'stacks --core says that zlib is missing' 0 'libz.1.dylib (of the system) is not here' stacks --core=threads.core
export MACHOHOST_ROOT="$in/system" # Debian compresses its debug files with zlib
both 'stacks --core shows threads that wait' 0 stacks --core=threads.core
volatile='/"time": "/d; /"report_id": "/d' both 'stacks --core --json does' 0 stacks --json --core=threads.core
both 'stacks --core shows functions of a script' 0 stacks --core=script.core
unset MACHOHOST_ROOT
both 'blocks --core lists the blocks of a heap' 0 blocks --json --core=closures.core
both 'stacks --core of a file that is no core' 6 stacks --core=elf.c
both 'types shows a structure' 0 types elf 'struct pair'
both 'types --json shows a function' 0 types --json elf "0x$(address elf middle)"
both 'blocks lists the blocks of an object' 0 blocks blocks.o
both 'blocks --json does' 0 blocks --json program
for report in stacks calls1; do
    both "show of $report" 0 show "$report.sonde"
    both "show --json of $report" 0 show --json "$report.sonde"
    both "symbolize --report of $report" 0 symbolize "--report=$report.sonde"
done
for format in folded firefox speedscope pprof otlp-1.10 apple bs glibc; do
    both "export --format=$format" 0 export --format=$format stacks.sonde
done
both 'export --format=sarif' 0 export --format=sarif calls1.sonde
both 'diff finds what is new' 0 diff calls1.sonde calls2.sonde
both 'audit diff --json does' 0 audit diff --json calls1.sonde calls2.sonde
both 'audit compile prints rules' 0 audit compile rules.ini
native audit compile rules.ini -o native.audit >log 2>&1
ported audit compile rules.ini -o ported.audit >log 2>&1
same 'sonde audit compile writes the same rules' native.audit ported.audit
mkdir -m 700 spool
native run --spool="$in/spool" --record=list -- cat elf.c >log 2>&1 || stop 'a spool folder is made'
for _ in $(seq 100); do # its supervisor may still be writing
    native spool list "$in/spool" | grep -q ' over ' && break
    sleep 0.1
done
both 'spool list shows a folder' 0 spool list "$in/spool"
both 'spool list --json does' 0 spool list --json "$in/spool"
both 'a broken rule has its line' 5 audit compile elf.c
# errors: their numbers differ between the systems, their texts do not
both 'show of a file that is not there' 3 show nothing.sonde
both 'show of a folder' 1 show store
both 'blocks of a text' 6 blocks elf.c
both 'an unknown option' 2 show --nothing
# A terminal of 60 columns, with colours and fitted lines; script(1) makes it.
on_terminal() { env -u COLUMNS TERM=xterm script -qec "stty cols 60; $*" /dev/null </dev/null 2>&1; }
XDG_CACHE_HOME=$in/kept-native on_terminal "$sonde" show stacks.sonde >native.out
XDG_CACHE_HOME=$in/kept-ported on_terminal $emulator "$out/machohost" "$out/libSystem.dylib" "$in/bin/sonde" show stacks.sonde >ported.out
rc=0
cmp native.out ported.out && grep -q "$(printf '\033')" ported.out && grep -q '…' ported.out || rc=1
say $rc 'sonde show fits its lines to a terminal, with colours'
# what is not there
for command in watch mark doctor; do
    ported_only "$command says that it is not there" 6 'not on this system' $command 1
done
ported_only 'run says so, with the status of its own failures' 125 'not on this system' run -- true
for command in 'stacks 1' 'blocks --pid=1' 'holders 1 0x1000'; do
    # shellcheck disable=SC2086 # words
    ported_only "$command says so" 6 'sonde reads no other processes on this system' $command
done
both 'privacy compares calls with a manifest' 0 privacy "$here/../../share/apple/PrivacyInfo.xcprivacy" calls1.sonde
ported_only 'upload does' 6 'libsonde-upload, which is not built for this system' upload --to=https://collector.example/ stacks.sonde
ported_only 'version says that no names of C++ are decoded' 0 'names: none' version

# what llvm says of the program's code, each eighth byte: the function, and the one that it is inlined into
first=$((0x$(llvm-objdump-19 --section-headers program | awk '$2 == "__text" {print $4}')))
size=$((0x$(llvm-objdump-19 --section-headers program | awk '$2 == "__text" {print $3}')))
for at in $(seq $first 8 $((first + size - 1))); do printf '%d\n' "$at"; done >vaddrs
while read -r at; do printf '0x%x\n' "$at"; done <vaddrs | llvm-symbolizer-19 --obj=store/program.dSYM/Contents/Resources/DWARF/program --basenames |
    grep -v '^$' | sed -E 's/(:[0-9]+):[0-9]+$/\1/; s/^__(.*)_block_invoke$/block in \1/' | paste -d' ' - - | grep -v ':0$' >llvm.names
# shellcheck disable=SC2046
ported symbolize --symbols=store --image=program $(while read -r at; do printf 'program+0x%x ' $((at - base)); done <vaddrs) </dev/null 2>/dev/null |
    sed -nE 's#^  (.*)  /.*/([a-z.]+:[0-9]+).*#\1 \2#p' >ported.names
rc=0
[ "$(wc -l <llvm.names)" -gt 50 ] && diff llvm.names ported.names >log || { rc=1 && head -10 log | sed 's/^/    /'; }
say $rc "$(wc -l <llvm.names) functions and lines at $(wc -l <vaddrs) addresses are those of llvm-symbolizer"
echo "$compared bytes of output of the ported sonde compared, $arch"
exit $failed
