#!/bin/sh
# package.sh OUT HEADERS [TARGET]: builds what Package.swift lists for iOS, as Xcode would, without a Mac: a line "ok NAME" or "not ok NAME"
# for each check, and lines "darwin.size.NAME N kB". Returns 0 if all are ok.
# TARGET: only OUT/libCSonde.a is made, for this target of clang, and linked.
# - It calls exactly the functions of package.allow, all of which Apple's list of libSystem's symbols has. Each is declared in a
#   public header: an app that calls others is refused by the App Store.
# - When the linker strips dead code, an app grows by at most SIZE_MAX_KB with stacks, names and blocks, and by at most
#   SIZE_ALL_MAX_KB with the watch, reports, the audit of calls and the upload, too.
# - The module map is valid, and its headers need no others; what they declare is there, but the transport by libcurl
#   and what is called by hand in a debugger.
# - The privacy manifest has the categories of the functions that it calls, and no other (reasons.py).
set -eu
SIZE_MAX_KB=400 SIZE_ALL_MAX_KB=1000
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
headers=$2 failed=0
target=${3:-arm64-apple-ios12}
rm -rf "$1"
mkdir -p "$1/objects"
out=$(cd "$1" && pwd) # what follows is done in several folders
tbd=$out/libSystem.tbd
case $target in *-ios12) linked='ios 12 12' ;; *) linked='macos 11 11' ;; esac

say() { if [ "$1" = 0 ]; then echo "ok package: $2"; else echo "not ok package: $2"; failed=1; fi; }
# listed NAME: the strings of an array of Package.swift
listed() { sed -n "/^let $1 = \[/,/^]/s/^ *\"\(.*\)\".*/\1/p" "$root/Package.swift"; }

version=$(sed -n 's/^project(sonde VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
listed excluded >"$out/excluded"
folders=$({ listed modules; listed headers; } | sed "s#^#-I$root/#; s#.*#& &/darwin#" | tr '\n' ' ')
common="clang-19 --target=$target -nostdlibinc -isystem $headers -D_GNU_SOURCE -DSONDE_VERSION=\"$version\" -I$root/include $folders -fno-color-diagnostics -Werror"

# The compiler puts objects beside their sources, so it is given links.
for folder in $(listed modules); do
    find "$root/$folder" -name '*.[cS]' | sed "s#^$root/##"
done | awk 'NR == FNR {excluded[$0] = 1; next} {path = $0
        while (path != "" && !(path in excluded)) if (!sub("/[^/]*$", "", path)) path = ""
        if (path == "") print}' "$out/excluded" - >"$out/sources"
listed files >>"$out/sources"
while read -r source; do ln -s "$root/$source" "$out/objects/"; done <"$out/sources"
cd "$out/objects"
first=base_status.c
# shellcheck disable=SC2086 # flags are several words
one=$($common -Os -std=gnu11 -c -### $first 2>&1 | grep -e '"-cc1"' | sed 's/"-o" "[^"]*"//')
eval "$one $(find . -name '*.c' ! -name $first | tr '\n' ' ')" >"$out/log" 2>&1 &&
    for source in *.S; do $common -c "$source" -o "$source.o" >>"$out/log" 2>&1 || exit 1; done || { cat "$out/log"; say 1 "it compiles for $target"; exit 1; }
llvm-ar-19 rcs "$out/libCSonde.a" ./*.o
say 0 "it compiles for $target, $(wc -l <"$out/sources") files"

rc=0
grep -q "SONDE_VERSION\", to: .*[^0-9.]$version[^0-9.]" "$root/Package.swift" || rc=1
say $rc "its version is that of CMakeLists.txt, $version"

# every name is Apple's, also of what no program here uses. The list has macOS only: the same names are taken for iOS
sed -E 's/(targets: +\[ *)/\1arm64-ios, /' "$headers/../../darwin/libSystem.tbd" >"$tbd"
# shellcheck disable=SC2086 # three words
link() { ld64.lld-19 -arch "${target%%-*}" -platform_version $linked "$@" "$out/libCSonde.a" "$tbd"; }
app() {
    name=$1
    shift
    $common -Os -c "$here/programs/app.c" "$@" -o "$out/$name.o" && link -dead_strip "$out/$name.o" -o "$out/$name"
}
rc=0
{ $common -Os -c "$here/programs/app.c" -o "$out/all.o" && link -all_load "$out/all.o" -o "$out/all"; } || rc=1
say $rc 'an app with all of it links with Apple'"'"'s libSystem'
[ $# = 2 ] || exit $failed

# what it calls
symbols() { llvm-nm-19 "$1" --extern-only --format=just-symbols "$out/libCSonde.a" | grep '^_' | sort -u; }
symbols --defined-only >"$out/defined"
symbols --undefined-only | comm -23 - "$out/defined" >"$out/called"
sed 's/ *#.*//' "$here/package.allow" | grep . | sort -u >"$out/allowed"
rc=0
comm -3 "$out/called" "$out/allowed" | grep . && { echo '    (first column: called and not in package.allow; second column: not called)'; rc=1; }
say $rc "it calls the $(wc -l <"$out/allowed") functions of package.allow and no other"

# size
rc=0
{ app without && app stacks -DWITH_SONDE && app watch -DWITH_SONDE -DWITH_WATCH && app audit -DWITH_SONDE -DWITH_AUDIT &&
    app upload -DWITH_SONDE -DWITH_UPLOAD && app all_parts -DWITH_SONDE -DWITH_WATCH -DWITH_AUDIT -DWITH_UPLOAD &&
    llvm-strip-19 "$out/without" "$out/stacks" "$out/watch" "$out/audit" "$out/upload" "$out/all_parts"; } || rc=1
say $rc 'a minimal app links'
grows() { # NAME APP THAN: by how many kB one app is larger than the other
    kb=$((($(stat -c %s "$out/$2") - $(stat -c %s "$out/$3") + 512) / 1024))
    echo "darwin.size.$1 $kb kB"
}
at_most() { # MAX_KB WHAT: of the last size
    rc=0
    [ "$kb" -le "$1" ] || rc=1
    say $rc "an app grows by at most $1 kB with $2"
}
grows app_kb stacks without
at_most $SIZE_MAX_KB 'stacks, names and blocks'
for part in watch audit upload; do grows "app_${part}_kb" $part stacks; done
grows app_all_kb all_parts without
at_most $SIZE_ALL_MAX_KB 'the watch, reports, the audit of calls and the upload, too'

# the module
printf '@import CSonde;\nint take(struct sonde_stack *stack);\nint take(struct sonde_stack *stack) { return (int)stack->count; }\n' >"$out/import.m"
rc=0
$(echo "$common" | sed "s/-isystem/-idirafter/") -fmodules -fmodules-cache-path="$out/modules" -fmodule-map-file="$root/include/module.modulemap" -fsyntax-only "$out/import.m" || rc=1
say $rc 'the module is valid'
rc=0
sed -n 's/^ *header "\(.*\)"$/\1/p' "$root/include/module.modulemap" | (cd "$root/include" && xargs cat) >"$out/headers"
python3 -c 'import re, sys; print("\n".join("_" + name for name in re.findall(r"SONDE_API\b[^;{]*?\b(sonde_\w+)\(", open(sys.argv[1]).read())))' \
    "$out/headers" | grep -vxE '_sonde_(upload_curl|block_print|stacks_print)' | sort -u >"$out/declared" || rc=1
comm -23 "$out/declared" "$out/defined" | grep . && { echo '    (declared and not defined)'; rc=1; }
say $rc 'what its headers declare is in it'

# the example of an app, against declarations of what it uses of frameworks
rc=0
clang-19 --target=$target -nostdlibinc -isystem "$headers" -isystem "$here/declared" -I"$root/include" -fobjc-arc -Wall -Wextra -Werror \
    -Wno-unused-parameter -c "$root/examples/apple/app.m" -o "$out/example.o" || rc=1
say $rc 'the example of an app compiles'

# the manifest: Apple asks for reasons for some functions ("Describing use of required reason API")
rc=0
python3 "$here/reasons.py" "$out/libCSonde.a" "$root/share/apple/PrivacyInfo.xcprivacy" "$root/packs/apple-required-reason.ini" || rc=1
say $rc 'the privacy manifest has the categories of the functions that it calls, and no other'
exit $failed
