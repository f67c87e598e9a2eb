#!/bin/sh
# run.sh ARCH OUT OBJECTS HEADERS: for x86_64 or arm64, build the host and the programs of this folder in OUT, and run them: a line "ok NAME" or
# "not ok NAME" for each. OBJECTS: the build folder of sonde's objects for Darwin. SONDE_CLI: sonde for this machine. Returns 0 if all are ok.
# SONDE_REPEATS: how often each program is run; it is ok if all runs are. From 50 on, loops that are long only to meet a rare moment are
# shared among the runs: each makes a tenth of what a single run makes, so all make five times as much. SONDE_PARTS: another share.
here=$(cd "$(dirname "$0")" && pwd)
arch=$1 out=$2 objects=$3 headers=$4
failed=0 repeats=${SONDE_REPEATS:-1} parts=${SONDE_PARTS:-$((${SONDE_REPEATS:-1} < 50 ? 1 : 10))} runs=0 bad_runs=0 captures=0
# rounds: of calls.c, with four threads and four sets of flags: 30,000 captures on both machines
case $arch in
    arm64) emulator=qemu-aarch64 signed=-mbranch-protection=pac-ret+leaf rounds=200 ;;
    *) emulator='' signed=-O1 rounds=1700 ;;
esac

export SONDE_SOURCE_DIR="$here/../.." SONDE_TEST_FOLDER="$out/folders" XDG_CACHE_HOME="$out/kept"
ninja -C "$objects" -t cleandead >/dev/null # objects of files that are no more
rm -rf "$SONDE_TEST_FOLDER" && mkdir -p "$SONDE_TEST_FOLDER"

# once STATUS TEXT COMMAND...: the command ends with the status and prints the text, at least.
once() {
    wanted=$1 text=$2
    shift 2
    "$@" >"$out/out.txt" 2>&1
    got=$?
    [ $got = "$wanted" ] && { [ -z "$text" ] || grep -qF -- "$text" "$out/out.txt"; }
}

# case_ NAME STATUS TEXT COMMAND...: all runs of the command do that.
case_() {
    name=$1 bad=0 left=$repeats
    shift
    while [ "$left" -gt 0 ]; do
        once "$@" || {
            bad=$((bad + 1))
            echo "    ended with $got, not $wanted; wanted: $text"
            sed 's/^/    /' "$out/out.txt"
        }
        captured=$(sed -n 's/^\([0-9]*\) captures, at most .*/\1/p' "$out/out.txt") # of calls.c
        captures=$((captures + ${captured:-0}))
        left=$((left - 1))
    done
    runs=$((runs + repeats)) bad_runs=$((bad_runs + bad))
    if [ $bad = 0 ]; then
        echo "ok $arch: $name"
    else
        echo "not ok $arch: $name ($bad of $repeats runs)"
        failed=1
    fi
}

# each_way WAYS TITLE TEXT CFLAGS LDFLAGS SOURCE...: the program of the first source is built with each of the sets of flags between |,
# and prints the text. The sources are in the folder programs.
each_way() {
    left_ways="$1|" title=$2 said=$3 cflags=$4 libraries=$5 built=${6%.*} files=
    shift 5
    for source; do files="$files $here/programs/$source"; done
    while [ -n "$left_ways" ]; do
        flags=${left_ways%%|*} left_ways=${left_ways#*|}
        # shellcheck disable=SC2086 # several files
        "$here/build.sh" "$arch" "$out" "$headers" "$built" "$cflags $flags" "$libraries" $files ||
            { echo "not ok $built is built"; exit 1; }
        case_ "$title: $flags" 0 "$said" run "$built"
    done
}
calls=-fno-optimize-sibling-calls
ways="-O0|-O2|-O2 $signed"
frame_ways="-O0|-O2|-O2 -fomit-frame-pointer|-O2 $signed"
small_ways="-O0|-O2|-Os -fomit-frame-pointer|-O2 $signed"

# shellcheck disable=SC2086 # no emulator is no word
run() { program=$1; shift; timeout 200 $emulator "$out/machohost" "$out/libSystem.dylib" "$out/$program" "$@"; }

"$here/build.sh" "$arch" "$out" "$headers" || { echo "not ok the host is built"; exit 1; }

for fixups in -fixup_chains -no_fixup_chains; do
    for level in -O0 -O2; do
        "$here/build.sh" "$arch" "$out" "$headers" hello $level $fixups "$here/programs/hello.c" ||
            { echo "not ok hello is built"; exit 1; }
        case_ "a program runs: $level $fixups" 3 'pointers in data -12 34 abcdef0123' run hello argument
    done
done
"$here/build.sh" "$arch" "$out" "$headers" missing -O1 '-undefined dynamic_lookup' "$here/programs/missing.c" ||
    { echo "not ok missing is built"; exit 1; }
case_ "a function that is missing is named" 125 'call of _mach_zone_force_gc' run missing

# sonde itself: its objects as an archive, of which the linker takes what is needed
"$here/archive.sh" "$out" "$objects" || { echo "not ok the archive is made"; exit 1; }
each_way "-O0|-O2|-O2 -fomit-frame-pointer|-Os -fomit-frame-pointer|-O2 $signed" 'the stack of the own thread' '0 mistakes' "$calls" \
    "$out/libsonde.a" capture.c

uses="-I$here/../../src/common/base -I$here/../../src/machine/arch -I$here/../../src/machine/os -I$here/../../src/stacks/capture"
each_way "$frame_ways" 'stacks of other threads' '0 mistakes' "$calls $uses" \
    "$out/libsonde.a" threads.c workers.c

each_way "$frame_ways" 'the public functions about threads' '0 mistakes' "$calls -DDUELS=$((300 / parts))" \
    "$out/libsonde.a -undefined dynamic_lookup" api.c workers.c

each_way "$ways" "queues that threads work for, and their stacks' bounds" '0 mistakes' "$calls" \
    "$out/libsonde.a -undefined dynamic_lookup" queues.c workers.c

# what sonde's port lacks is named when it is called
for flags in '-O0' '-O2'; do
    for fixups in -fixup_chains -no_fixup_chains; do
        "$here/build.sh" "$arch" "$out" "$headers" names "-fno-optimize-sibling-calls $flags" \
            "$out/libsonde.a -undefined dynamic_lookup $fixups" "$here/programs/names.c" "$here/programs/workers.c" ||
            { echo "not ok names is built"; exit 1; }
        case_ "a spinning method seen from another thread: $flags $fixups" 0 '0 mistakes' run names
    done
done

"$here/build.sh" "$arch" "$out" "$headers" names '-fno-optimize-sibling-calls -O2 -g' \
    "$out/libsonde.a -undefined dynamic_lookup" "$here/programs/names.c" "$here/programs/workers.c" &&
    dsymutil-19 "$out/names" -o "$out/names.dSYM" && llvm-strip-19 "$out/names" || { echo "not ok names is stripped"; exit 1; }
case_ "a stripped program has the names of its dSYM" 0 '0 mistakes' run names

each_way "$ways" 'threads in code without unwind information' '0 mistakes' "$calls $uses" \
    "$out/libsonde.a" bare.c

each_way "$small_ways" 'threads stopped anywhere in small functions' ', 0 mistakes' "$calls -DROUNDS=$((500 / parts)) $uses" \
    "$out/libsonde.a" busy.c

each_way "$small_ways" 'threads busy in libSystem' ', 0 mistakes' "$calls -DROUNDS=$((rounds / parts)) $uses" \
    "$out/libsonde.a" calls.c

# hooks: every kind of pointer, in both formats; arm64e, whose pointers are signed
hooks() { # NAME FLAGS FIXUPS [SOURCE]: the program and the library that it loads
    "$here/build.sh" "$arch" "$out" "$headers" "$1-later" "$2" "-dylib $3" "$here/programs/later.c" ${4:+"$4"} &&
        "$here/build.sh" "$arch" "$out" "$headers" "$1" "-fno-optimize-sibling-calls $2" \
            "$out/libsonde.a -undefined dynamic_lookup $3" "$here/programs/hooks.c" "$here/programs/image_words.c" \
            "$here/programs/workers.c" ${4:+"$4"} ||
        { echo "not ok $1 is built"; exit 1; }
}
for flags in '-O0' '-O2' "-O2 $signed"; do
    for fixups in -fixup_chains -no_fixup_chains; do
        hooks hooks "$flags" $fixups
        # (lazy pointers of sonde itself would be bound meanwhile)
        SONDE_BIND_NOW=1 && export SONDE_BIND_NOW
        case_ "calls by all kinds of pointers: $flags $fixups" 0 '0 mistakes' run hooks "$out/hooks-later"
        unset SONDE_BIND_NOW
    done
done
for flags in '-O0' '-O2' "-O2 $signed"; do
    "$here/build.sh" "$arch" "$out" "$headers" lazy "-fno-optimize-sibling-calls -fno-builtin $uses $flags" \
        "$out/libsonde.a -undefined dynamic_lookup -no_fixup_chains" "$here/programs/lazy.c" "$here/programs/image_words.c" \
        "$here/programs/workers.c" || { echo "not ok lazy is built"; exit 1; }
    case_ "calls by lazy pointers, before and after they are bound: $flags" 0 '0 mistakes' run lazy
done
if [ "$arch" = arm64 ]; then
    for flags in '-O0' '-O2'; do
        hooks hooks "$flags -DSIGNED" -fixup_chains "$here/programs/signed.S"
        python3 "$here/arm64e.py" "$out/hooks" "$out/hooks-e" >"$out/out.txt" &&
            python3 "$here/arm64e.py" "$out/hooks-later" "$out/hooks-later-e" >>"$out/out.txt" &&
            [ "$(grep -cx '3 signed pointers' "$out/out.txt")" = 2 ] || { echo "not ok hooks is an arm64e"; exit 1; }
        case_ "calls by signed pointers of arm64e: $flags" 0 '0 mistakes' run hooks-e "$out/hooks-later-e"
    done
fi

# Swift's async functions, as clang compiles them for macOS 12 and later
for flags in '-O0' '-O2' "-O2 $signed"; do
    "$here/build.sh" "$arch" "$out" "$headers" async "$uses $flags -fswift-async-fp=always -DNAMES_OF=always -I$here/../integration/swift" \
        "$out/libsonde.a" "$here/programs/async.c" "$here/programs/workers.c" "$here/../integration/swift/fixture.c" ||
        { echo "not ok async is built"; exit 1; }
    case_ "who awaits in functions of Swift's kind: $flags" 0 '0 mistakes' run async
done

# an app's bundle, as on macOS
app=$out/Shop.app/Contents
"$here/build.sh" "$arch" "$out" "$headers" libLater -O1 '-dylib -install_name @rpath/libLater.dylib' "$here/programs/later.c" &&
    "$here/build.sh" "$arch" "$out" "$headers" bundle "-O1" "$out/libsonde.a -undefined dynamic_lookup" "$here/programs/bundle.c" &&
    mkdir -p "$app/MacOS" "$app/Frameworks" && cp "$out/bundle" "$app/MacOS/Shop" && cp "$out/libLater" "$app/Frameworks/libLater.dylib" ||
    { echo "not ok the bundle is built"; exit 1; }
case_ "what is in the bundle is the app's" 0 '0 mistakes' run Shop.app/Contents/MacOS/Shop "$app/Frameworks/libLater.dylib" "$out/hooks-later"

"$here/build.sh" "$arch" "$out" "$headers" port "-O1 $uses" \
    "$out/libsonde.a" "$here/programs/port.c" || { echo "not ok port is built"; exit 1; }
case_ "memory, regions and images by the port" 0 'done' run port

# portable tests, from the sources that run on Linux; the whole of sonde as an archive
# (without objects of files that are gone)
rm -f "$out/all.a"
ninja -C "$objects" -t cleandead >"$out/out.txt"
find "$objects/src/CMakeFiles" -name '*.o' -print0 | xargs -0 llvm-ar-19 rcs "$out/all.a"
unit=$here/../unit
folders=$(find "$here/../../src" -type d ! -name linux ! -name darwin -printf '-I%p ')

# the watch inside a program; crash reporters have the handlers of signals and the ports of exceptions
no_handlers() { ! llvm-nm-19 --undefined-only --format=just-symbols "$out/all.a" | grep -xE '_(sigaction|signal|bsd_signal|sigaltstack|sigset|.*_exception_ports)'; }
case_ 'no function takes signals or exceptions' 0 '' no_handlers
each_way "$ways" 'loops that mark their waits and stall' '0 mistakes' "$calls" \
    "$out/all.a -undefined dynamic_lookup" stalls.c workers.c
"$here/build.sh" "$arch" "$out" "$headers" CoreFoundation '-O1 -fno-optimize-sibling-calls -D_FORTIFY_SOURCE=0' \
    '-dylib -install_name /System/Library/Frameworks/CoreFoundation.framework/CoreFoundation' "$here/frameworks/corefoundation.c" ||
    { echo "not ok the simulated CoreFoundation is built"; exit 1; }
export SONDE_COREFOUNDATION="$out/CoreFoundation"
each_way "$ways" 'the main run loop stalls, in its modes' '0 mistakes' "$calls" \
    "$out/all.a -undefined dynamic_lookup" runloop.c workers.c
each_way "$ways" 'no stall: a debugger, the background, a suspended process' '0 mistakes' "$calls" \
    "$out/all.a -undefined dynamic_lookup" guards.c workers.c

# programs in Objective-C
each_way "$ways" 'a method that spins and a block with what it holds' '0 mistakes' "$calls -fobjc-arc" \
    "$out/libsonde.a -undefined dynamic_lookup" objc.m workers.c

each_way "$ways" 'calls of methods, own and inherited' '0 mistakes' "$calls -fobjc-arc" \
    "$out/libsonde.a -undefined dynamic_lookup" methods.m workers.c

each_way "$ways" 'which thread an NSThread is' '0 mistakes' "$calls -fobjc-arc" \
    "$out/libsonde.a -undefined dynamic_lookup" nsthread.m workers.c

each_way "$ways" 'blocks and who holds what, by the zones of the heap' '0 mistakes' "" \
    "$out/libsonde.a -undefined dynamic_lookup" zones.m workers.c

for fixups in -fixup_chains -no_fixup_chains; do
    "$here/build.sh" "$arch" "$out" "$headers" objc "-fno-optimize-sibling-calls -fobjc-arc -O2" \
        "$out/libsonde.a -undefined dynamic_lookup $fixups" "$here/programs/objc.m" "$here/programs/workers.c" &&
        llvm-strip-19 "$out/objc" || { echo "not ok objc is stripped"; exit 1; }
    case_ "a stripped program has the names of its methods and exports: $fixups" 0 '0 mistakes' run objc
done

for flags in -O2 -Os; do
    "$here/build.sh" "$arch" "$out" "$headers" tails "$flags $folders" "$out/all.a -undefined dynamic_lookup" \
        "$here/programs/tails.m" || { echo "not ok tails is built"; exit 1; }
    case_ "methods that end by a jump, behind messages: $flags" 0 '0 mistakes' run tails "$out/tails"
done

audited() { # its report has the calls that exceed a limit
    rm -f "$out/album.report"
    run album "$out/album.report" && "$SONDE_CLI" show "$out/album.report" >"$out/album.txt" &&
        grep -q ' 25 calls, 5 more than allowed ' "$out/album.txt" && [ "$(grep -c 'more than allowed' "$out/album.txt")" = 1 ]
}
for flags in '-O0' '-O2' "-O2 $signed"; do
    "$here/build.sh" "$arch" "$out" "$headers" album "-fno-optimize-sibling-calls -fobjc-arc $flags $folders" \
        "$out/all.a -undefined dynamic_lookup" "$here/programs/album.m" "$here/programs/workers.c" ||
        { echo "not ok album is built"; exit 1; }
    case_ "an app audits itself by rules, before and after consent: $flags" 0 '0 mistakes' audited
done

# a hooked call beside another way (bench.sh counts its instructions)
"$here/build.sh" "$arch" "$out" "$headers" bench_audit "-fno-optimize-sibling-calls -fobjc-arc -O2 $folders" \
    "$out/all.a -undefined dynamic_lookup" "$here/programs/bench_audit.m" || { echo "not ok bench_audit is built"; exit 1; }
case_ "500 thumbnails, before and after consent, and by another way" 0 '0 mistakes' run bench_audit "$arch"
grep '^darwin\.' "$out/out.txt"

# the packs: each function that they list is called; then conditions, limits, phases, as text and compiled here
packs="$here/../../packs/apple-required-reason.ini $here/../../packs/ios-privacy.ini"
all_of_packs() {
    rm -f "$out/packs.report"
    # shellcheck disable=SC2086 # several files
    run packs "$out/packs.rules" "$out/packs.report" && "$SONDE_CLI" show --json "$out/packs.report" >"$out/packs.json" &&
        python3 "$here/packs.py" check "$out/packs.json" $packs && "$SONDE_CLI" show "$out/packs.report" >"$out/packs.txt"
}
said() { tr '\n' ' ' <"$out/packs.txt" | tr -s ' ' | grep -qF -- "$1"; }
predicates() {
    all_of_packs && said 'warning keys pack packs 2 calls' && grep -qF '/private/var/keys/a/b.pem' "$out/packs.txt" &&
        grep -qF '/private/var/keys/b.txt' "$out/packs.txt" && said 'warning writes pack packs 1 call' &&
        said 'warning version-6 pack packs 1 call' && grep -qF '[2001:db8::1]:443' "$out/packs.txt" &&
        said 'warning abroad pack packs 2 calls' && said 'getppid 7 calls, 4 more than allowed' &&
        said 'warning early pack packs 7 calls' && said 'no calls: late' || { cat "$out/packs.txt"; false; }
}
mkdir -p "$out/packs.d"
# shellcheck disable=SC2086 # several files
python3 "$here/packs.py" make "$out/libSystem.dylib" "$arch" "$out/packs.d" $packs &&
    "$SONDE_CLI" audit compile "$here/programs/packs.ini" -o "$out/packs.rules" >"$out/out.txt" &&
    "$here/build.sh" "$arch" "$out" "$headers" Simulated "-O1 -w -fno-builtin -I$here/sim" \
        '-dylib -undefined dynamic_lookup -install_name /System/Library/Frameworks/Simulated.framework/Simulated' "$out/packs.d/system.m" ||
    { echo "not ok the packs' functions are built"; exit 1; }
for flags in '-O0' '-O2'; do
    "$here/build.sh" "$arch" "$out" "$headers" packs "-fno-optimize-sibling-calls -w -fno-builtin -I$here/sim $flags" \
        "$out/all.a $out/Simulated -undefined dynamic_lookup" "$here/programs/packs.m" "$here/programs/workers.c" "$out/packs.d/calls.m" ||
        { echo "not ok packs is built"; exit 1; }
    DYLD_INSERT_LIBRARIES=$out/Simulated && export DYLD_INSERT_LIBRARIES
    case_ "each call of the packs of rules is found: $flags" 0 ' as wanted' all_of_packs
    case_ "paths, flags, addresses, limits and phases of rules: $flags" 0 '' predicates
    unset DYLD_INSERT_LIBRARIES
done

# a bundle: the app and each framework against their own manifests
manifest() { # FOLDER FORMAT CATEGORY...
    mkdir -p "$1" && python3 -c "import plistlib, sys
types = [{'NSPrivacyAccessedAPIType': 'NSPrivacyAccessedAPICategory' + name, 'NSPrivacyAccessedAPITypeReasons': ['C617.1']} for name in sys.argv[3:]]
plistlib.dump({'NSPrivacyAccessedAPITypes': types}, open(sys.argv[1] + '/PrivacyInfo.xcprivacy', 'wb'), fmt=getattr(plistlib, 'FMT_' + sys.argv[2]))" "$@"
}
sdk() { # NAME FLAGS: the framework NAME
    "$here/build.sh" "$arch" "$out" "$headers" "Foo.app/Frameworks/$1.framework/$1" "-O1 -fno-optimize-sibling-calls $2" \
        "-dylib -undefined dynamic_lookup -install_name @rpath/$1.framework/$1" "$here/programs/foo_sdk.c"
}
bundled() { # what `sonde privacy` says of each part
    rm -f "$out/foo.report"
    run Foo.app/Foo "$out/foo.rules" "$out/foo.report" && "$SONDE_CLI" privacy "$out/Foo.app" "$out/foo.report" >"$out/foo.txt" || return 1
    category=NSPrivacyAccessedAPICategory
    sed -n -e '/^[^ ]*: .*xcprivacy/p; /: no manifest$/p' -e 's/^\([a-z ]*\): '$category'\([A-Za-z]*\)\(, [0-9]* calls*\)\{0,1\}$/\1: \2\3/p
        s/^neither: '$category'\([A-Za-z]*, [0-9]* by .*\)$/\1/p' "$out/foo.txt" | grep -v '^neither' >"$out/foo.parts"
    cat >"$out/foo.wanted" <<'J'
Foo.app: PrivacyInfo.xcprivacy, Analytics.bundle/PrivacyInfo.xcprivacy
declared but never called: DiskSpace
declared and called: SystemBootTime, 1 call
declared and called: UserDefaults, 1 call
FileTimestamp, 1 by libraries of the system
Other.framework: no manifest
called but undeclared: FileTimestamp, 1 call
Stat.framework: Frameworks/Stat.framework/PrivacyInfo.xcprivacy
called but undeclared: DiskSpace, 2 calls
declared and called: FileTimestamp, 1 call
J
    diff "$out/foo.wanted" "$out/foo.parts" || { cat "$out/foo.txt"; return 1; }
}
rm -rf "$out/Foo.app"
mkdir -p "$out/Foo.app/Frameworks/Stat.framework" "$out/Foo.app/Frameworks/Other.framework"
manifest "$out/Foo.app" XML UserDefaults DiskSpace && manifest "$out/Foo.app/Analytics.bundle" BINARY SystemBootTime &&
    manifest "$out/Foo.app/Frameworks/Stat.framework" BINARY FileTimestamp && sdk Stat '-DASK=stat_ask -DWITH_SPACE' &&
    sdk Other '-DASK=other_ask' && printf '[pack]\nuse = apple-required-reason\n' >"$out/foo.ini" &&
    "$SONDE_CLI" audit compile "$out/foo.ini" -o "$out/foo.rules" >"$out/out.txt" &&
    "$here/build.sh" "$arch" "$out" "$headers" Foo.app/Foo '-O2 -fno-optimize-sibling-calls' \
        "$out/all.a $out/Simulated $out/Foo.app/Frameworks/Stat.framework/Stat $out/Foo.app/Frameworks/Other.framework/Other -undefined dynamic_lookup" \
        "$here/programs/foo.m" "$here/programs/workers.c" || { echo "not ok Foo.app is built"; exit 1; }
DYLD_INSERT_LIBRARIES=$out/Simulated:$out/Foo.app/Frameworks/Stat.framework/Stat:$out/Foo.app/Frameworks/Other.framework/Other
export DYLD_INSERT_LIBRARIES
case_ "an app's bundle: its calls and its frameworks' against their own manifests" 0 '' bundled
unset DYLD_INSERT_LIBRARIES

# libsonde-preload.dylib, inserted into a program that knows nothing of it, as a scheme of Xcode does
preload=$out/libsonde-preload.dylib
"$here/../../preload/darwin/link.sh" "$arch" "$objects" "$out/libSystem.dylib" "$preload" &&
    "$here/build.sh" "$arch" "$out" "$headers" plain '-O2 -fno-optimize-sibling-calls' '-undefined dynamic_lookup' "$here/programs/plain.m" &&
    printf '[rule "photo"]\napi = -[Photos thumbnail:]\nlimit = 400/60s\n' >"$out/plain.ini" &&
    "$SONDE_CLI" audit compile "$out/plain.ini" -o "$out/plain.rules" >"$out/out.txt" || { echo "not ok the library to insert is built"; exit 1; }
# inserted VARIABLE=VALUE...: run it with these variables only. $stalls: its run loop stalls
stalls=
# shellcheck disable=SC2086 # no emulator is no word
inserted() { env -i PATH="$PATH" HOME="$out" DYLD_INSERT_LIBRARIES="$out/CoreFoundation:$preload" "$@" \
    $emulator "$out/machohost" "$out/libSystem.dylib" "$out/plain" $stalls; }
inserted_all() { # the watch and the audit, with a report in a folder and one in a file
    rm -rf "$out/plain.spool" "$out/plain.report" && stalls=yes
    inserted SONDE_WATCH=250ms SONDE_AUDIT=plain.rules SONDE_REPORT="$out/plain.report" SONDE_SPOOL="$out/plain.spool" SONDE_BUILD=9 &&
        grep -q '^ *#[0-9]* *load_photos' "$out/out.txt" && grep -q '^sonde: photo: -\[Photos thumbnail:\] by show_album < main' "$out/out.txt" &&
        [ "$("$SONDE_CLI" show "$out/plain.report" | grep -c ' 500 calls, 100 more than allowed ')" = 1 ] &&
        [ "$(find "$out/plain.spool" -name '*.sonde' ! -name counts.sonde | wc -l)" = 2 ]
}
case_ "a library that is inserted watches and audits" 0 'sum 124750' inserted_all
case_ "the inserted library does nothing unasked" 0 'sum 124750' inserted
stalls=
case_ "a wrong variable is told" 0 'sonde: SONDE_WATCH is "soon": expected the time after which a loop stalls, at least 20ms (250ms, 2s), 1 or 0. Nothing is started' \
    inserted SONDE_WATCH=soon SONDE_AUDIT=plain.rules
case_ "a variable that is not known is told" 0 'sonde: SONDE_AUDITS is not known, and does nothing. There are SONDE_WATCH,' inserted SONDE_AUDITS=1
case_ "rules that are not there are told" 0 "sonde: no audit: SONDE_AUDIT is $(realpath "$out")/nowhere: it cannot be read" inserted SONDE_AUDIT=nowhere
case_ "rules that are none are told" 0 "sonde: no audit: SONDE_AUDIT is $(realpath "$out")/plain.ini: " inserted SONDE_AUDIT=plain.ini
case_ "a registry of blocks is told" 0 'sonde: 3 blocks were made, 1 of them have ended' inserted SONDE_BLOCKS=1
case_ "the library to insert needs only Apple's libSystem" 0 '' "$here/../../preload/darwin/link.sh" "$arch" "$objects" \
    "$headers/../../darwin/libSystem.tbd" "$out/preload-apple.dylib"
# shellcheck disable=SC2086
case_ "the privacy manifest has the categories of the functions that it calls, and no other" 0 '' \
    python3 "$here/reasons.py" "$preload" "$here/../../share/apple/PrivacyInfo.xcprivacy" $here/../../packs/apple-required-reason.ini

# the corpus of blocks, as clang compiles it for Apple's runtimes
blocks=$unit/../integration/blocks
part() { name=$1; shift; clang-19 --target="$arch-apple-macos11" -nostdlibinc -isystem "$headers" -w -g -c "$@" -o "$out/corpus-$name.o"; }
for level in -O0 -O2; do
    part c $level "$blocks/corpus/cases_c.c" &&
        part cpp $level -x c++ -std=c++17 -DCORPUS_CXX=corpus_cpp "$blocks/corpus/cases_cxx.mm" &&
        part arc $level -fobjc-arc "$blocks/corpus/cases_arc.m" && part mrc $level "$blocks/corpus/cases_mrc.m" &&
        part objcxx $level -fobjc-arc -std=c++17 -DCORPUS_CXX=corpus_objcxx "$blocks/corpus/cases_cxx.mm" &&
        part truth -O1 "$blocks/corpus/truth.c" &&
        "$here/build.sh" "$arch" "$out" "$headers" corpus \
            "-O1 -D_GNU_SOURCE -DSONDE_CORPUS_INLINED=$([ $level = -O0 ] && echo 0 || echo 1) $folders -I$here/../harness -I$blocks" \
            "$(echo "$out"/corpus-c.o "$out"/corpus-cpp.o "$out"/corpus-arc.o "$out"/corpus-mrc.o "$out"/corpus-objcxx.o "$out"/corpus-truth.o) $out/all.a -undefined dynamic_lookup" \
            "$here/harness.c" "$here/../harness/test_check.c" "$here/programs/corpus_live.c" "$blocks/corpus.c" "$blocks/live.c" ||
        { echo "not ok the corpus of blocks is built"; exit 1; }
    case_ "what each block of the corpus holds: $level" 0 '1 passed, 0 failed' run corpus </dev/null
done

# each also without optimization, and with the older format of fixups
# A report's way out of an app that is killed in a stall: live file, next start, transport, names of the dSYM
killed_and_sent() { # HOW PROGRAM [NEXT]: NEXT is the program at the next start
    rm -rf "$out/sent.spool" "$out/sent.report"
    run "$2" "$out/sent.spool" die "$1"
    [ $? = 137 ] && run "${3:-$2}" "$out/sent.spool" send "$out/sent.report"
}
send_and_name() {
    killed_and_sent '' sent && python3 "$here/sent.py" "$SONDE_CLI" "$out/sent.report" "$out/sent.dSYM" spin parse_mail answer_input die main
}
not_blamed() { # WHY HOW PROGRAM [NEXT]: it is open, not fatal, and the report says why
    why=$1
    shift
    killed_and_sent "$@" && "$SONDE_CLI" show "$out/sent.report" >"$out/sent.txt" && cat "$out/sent.txt" &&
        grep -q 'stall 1: .* and not over' "$out/sent.txt" && grep -q "not known to be the reason: $why" "$out/sent.txt"
}
sent() { # NAME FLAGS
    mkdir -p "$(dirname "$out/$1")"
    "$here/build.sh" "$arch" "$out" "$headers" "$1" "$2 -g -fno-optimize-sibling-calls" \
        "$out/all.a -undefined dynamic_lookup" "$here/programs/sent.c" || { echo "not ok sent is built"; exit 1; }
}
for flags in -O1 "-O1 -fomit-frame-pointer"; do
    sent sent "$flags" && rm -rf "$out/sent.dSYM" &&
        dsymutil-19 "$out/sent" -o "$out/sent.dSYM" && llvm-strip-19 "$out/sent" || { echo "not ok sent has a dSYM"; exit 1; }
    case_ "a stall is saved, killed, finished, sent and named: $flags" 0 'frames as llvm-symbolizer has them' send_and_name
done
mkdir -p "$out/Mail.appex" "$out/updated"
cp "$out/sent" "$out/Mail.appex/sent"
sent updated-sent '-O1 -DUPDATED' && mv "$out/updated-sent" "$out/updated/sent"
case_ 'killed in the background: not fatal' 0 'in the background' not_blamed 'it was in the background' background sent
case_ 'killed after it was asked to end: not fatal' 0 'asked to end' not_blamed 'it was asked to end' asked sent
case_ 'killed with a debugger: not fatal' 0 'debugger' not_blamed 'a debugger was attached' attached sent
case_ 'an extension is killed: not fatal' 0 'extension' not_blamed 'it is an app extension' '' Mail.appex/sent
SIM_MEMORY_LEFT=20; export SIM_MEMORY_LEFT
case_ 'killed with little memory left: not fatal' 0 'memory' not_blamed 'its memory was short' '' sent
SIM_MEMORY_LEFT=2000
case_ 'killed with memory left: fatal' 0 'frames as llvm-symbolizer has them' send_and_name
unset SIM_MEMORY_LEFT
case_ 'the app is updated after a stall: not fatal' 0 'updated' not_blamed 'the program was updated' '' sent updated/sent
after_restart() { # WHY [SYSTEM]
    rm -rf "$out/sent.spool" "$out/sent.report"
    run sent "$out/sent.spool" die ''
    [ $? = 137 ] && (SIM_BOOT=two SIM_SYSTEM=${2:-$SIM_SYSTEM}; run sent "$out/sent.spool" send "$out/sent.report") &&
        "$SONDE_CLI" show "$out/sent.report" | tee "$out/sent.txt" && grep -q "not known to be the reason: $1" "$out/sent.txt"
}
SIM_BOOT=one; export SIM_BOOT
case_ 'the machine is restarted after a stall: not fatal' 0 'restarted' after_restart 'the machine was restarted'
SIM_SYSTEM=14.0; export SIM_SYSTEM
case_ 'the system is updated after a stall: not fatal' 0 'updated' after_restart 'the system was updated' 14.1
unset SIM_BOOT SIM_SYSTEM

# Network.framework, and the one of older systems
"$here/build.sh" "$arch" "$out" "$headers" Network -O1 '-dylib -install_name /System/Library/Frameworks/Network.framework/Network' \
    "$here/frameworks/network.c" &&
    "$here/build.sh" "$arch" "$out" "$headers" NetworkBefore '-O1 -DWITHOUT_CONSTRAINED' \
        '-dylib -install_name /System/Library/Frameworks/Network.framework/Network' "$here/frameworks/network.c" ||
    { echo "not ok the simulated Network.framework is built"; exit 1; }
export SONDE_NETWORK="$out/Network" SONDE_NETWORK_BEFORE="$out/NetworkBefore"

cases=0
for flags in '-O2' '-O0 -no_fixup_chains'; do
    while read -r name files; do
        case $name in '#') continue ;; esac
        # shellcheck disable=SC2046 # one word for each file
        "$here/build.sh" "$arch" "$out" "$headers" "unit_$name" \
            "${flags%% *} -D_GNU_SOURCE -include $here/portable.h -Wno-missing-field-initializers $folders -I$here/../harness -I$unit/reports/report -I$unit/reports/spool -I$here/../../src/machine/host" \
            "$out/all.a -undefined dynamic_lookup ${flags#-O?}" \
            "$here/harness.c" "$here/../harness/test_check.c" $(echo " $files" | sed "s# # $unit/#g") ||
            { echo "not ok unit_$name is built"; exit 1; }
        case_ "portable tests, $flags: $name" 0 ' passed, 0 failed' run "unit_$name" </dev/null
        passed=$(sed -n 's/^\([0-9]*\) passed.*/\1/p' "$out/out.txt")
        cases=$((cases + ${passed:-0}))
        if [ "$name" = kept ]; then
            cp "$out/out.txt" "$out/kept.txt"
            case_ "the spool's folder is not in backups, $flags" 0 com.apple.backupd python3 -c \
                'import plistlib, re, sys; print(plistlib.loads(bytes.fromhex(re.search("excluded ([0-9a-f]+)", open(sys.argv[1]).read())[1])))' "$out/kept.txt"
        fi
    done <"$here/cases.list"
done
echo "$cases portable tests ran in the host, $arch"

# The package for apps, as package.sh compiles it: for iOS on arm64, for macOS on x86-64
app=$out/app package=$out/app/package/libCSonde.a
case $arch in arm64) system=ios target=arm64-apple-ios12 ;; *) system=macos target=x86_64-apple-macos11 ;; esac
rm -rf "$app" && mkdir -p "$app" && SONDE_DARWIN=$system "$here/build.sh" "$arch" "$app" "$headers" &&
    "$here/package.sh" "$app/package" "$headers" $target >"$out/out.txt" || { cat "$out/out.txt"; echo 'not ok the package is built'; exit 1; }
for_app() { SONDE_DARWIN=$system "$here/build.sh" "$arch" "$app" "$headers" "$@"; }
# shellcheck disable=SC2086 # no emulator is no word
in_app() { program=$1; shift; timeout 200 $emulator "$out/machohost" "$app/libSystem.dylib" "$app/$program" "$@"; }
for flags in -O0 -O2; do
    for_app capture "$calls $flags" "$package" "$here/programs/capture.c" &&
        for_app threads "$calls $uses $flags" "$package" "$here/programs/threads.c" "$here/programs/workers.c" &&
        for_app first "$calls $flags" "$package -undefined dynamic_lookup -no_fixup_chains" "$here/programs/first.c" \
            "$here/programs/workers.c" || { echo "not ok programs are built with the package"; exit 1; }
    for program in capture threads; do
        case_ "$system, $program: $flags" 0 '0 mistakes' in_app $program
    done
    for way in one all moment watch; do
        case_ "$system, no first call while a thread is suspended, $way: $flags" 0 '0 mistakes' in_app first $way
    done
done
for_app CoreFoundation "$calls -O1 -D_FORTIFY_SOURCE=0" \
    '-dylib -install_name /System/Library/Frameworks/CoreFoundation.framework/CoreFoundation' "$here/frameworks/corefoundation.c" &&
    for_app stalls "$calls -O2" "$package -undefined dynamic_lookup" "$here/programs/stalls.c" "$here/programs/workers.c" &&
    for_app runloop "$calls -O2" "$package -undefined dynamic_lookup" "$here/programs/runloop.c" "$here/programs/workers.c" &&
    for_app methods "$calls -fobjc-arc -O2" "$package -undefined dynamic_lookup" "$here/programs/methods.m" "$here/programs/workers.c" &&
    for_app sent "$calls -g -O1" "$package -undefined dynamic_lookup" "$here/programs/sent.c" && rm -rf "$app/sent.dSYM" &&
    dsymutil-19 "$app/sent" -o "$app/sent.dSYM" && llvm-strip-19 "$app/sent" || { echo "not ok programs are built with the package"; exit 1; }
sent_by_app() {
    rm -rf "$app/sent.spool" "$app/sent.report"
    in_app sent "$app/sent.spool" die ''
    [ $? = 137 ] && in_app sent "$app/sent.spool" send "$app/sent.report" &&
        python3 "$here/sent.py" "$SONDE_CLI" "$app/sent.report" "$app/sent.dSYM" spin parse_mail answer_input die main
}
export SONDE_COREFOUNDATION="$app/CoreFoundation"
for program in stalls runloop methods; do
    case_ "$system, the package for apps, $program" 0 '0 mistakes' in_app $program
done
case_ "$system, the package for apps: a stall is saved, killed, finished, sent and named" 0 'frames as llvm-symbolizer has them' sent_by_app

echo "$captures captures of threads busy in libSystem, $arch"
echo "$runs runs of programs, $bad_runs bad, $arch"
repeats=1

# each function of Apple's that sonde calls has a name that Apple's libSystem has
case_ "names are those of Apple's libSystem" 0 '' ld64.lld-19 -arch "$arch" -platform_version macos 13 13 \
    "$out/capture-capture.c.o" "$out/libsonde.a" "$headers/../../darwin/libSystem.tbd" \
    -U _sim_reads -o "$out/capture-apple"
# (those that no part of the port defines yet are sonde's own, and the simulation's are the tests')
for name in threads api queues names; do
    # shellcheck disable=SC2046 # one word for each name
    case_ "names of the calls in $name are those of Apple's libSystem" 0 '' \
        ld64.lld-19 -arch "$arch" -platform_version macos 13 13 \
        "$out/$name-$name.c.o" "$out/$name-workers.c.o" "$out/libsonde.a" "$headers/../../darwin/libSystem.tbd" \
        $(llvm-nm-19 -u "$out/$name" | sed -nE 's/.*(_sim_|_sonde__)/-U \1/p') -o "$out/$name-apple"
done
exit $failed
