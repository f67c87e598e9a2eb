#!/bin/sh
# run.sh OUT OBJECTS HEADERS: build the host and the programs of this folder in OUT, and run them: a line "ok NAME" or
# "not ok NAME" for each. OBJECTS: the build folder of sonde's objects for Darwin. Returns 0 if all are ok.
here=$(cd "$(dirname "$0")" && pwd)
out=$1 objects=$2 headers=$3
failed=0

# case_ NAME STATUS TEXT COMMAND...: the command ends with the status and prints the text, at least.
case_() {
    name=$1 status=$2 text=$3
    shift 3
    "$@" >"$out/out.txt" 2>&1
    got=$?
    if [ $got = "$status" ] && grep -qF -- "$text" "$out/out.txt"; then
        echo "ok $name"
    else
        echo "not ok $name"
        echo "    ended with $got, not $status; wanted: $text"
        sed 's/^/    /' "$out/out.txt"
        failed=1
    fi
}

run() { program=$1; shift; timeout 60 "$out/machohost" "$out/libSystem.dylib" "$out/$program" "$@"; }

"$here/build.sh" "$out" "$headers" || { echo "not ok the host is built"; exit 1; }

for fixups in -fixup_chains -no_fixup_chains; do
    for level in -O0 -O2; do
        "$here/build.sh" "$out" "$headers" hello $level $fixups "$here/programs/hello.c" ||
            { echo "not ok hello is built"; exit 1; }
        case_ "a program runs: $level $fixups" 3 'pointers in data -12 34 abcdef0123' run hello argument
    done
done
"$here/build.sh" "$out" "$headers" missing -O1 '-undefined dynamic_lookup' "$here/programs/missing.c" ||
    { echo "not ok missing is built"; exit 1; }
case_ "a function that is missing is named" 125 'call of _mach_zone_force_gc' run missing
exit $failed
