#!/bin/sh
# platforms.sh HEADERS [TARGET...]: compiles all of sonde for Darwin, the portable files and those in folders darwin, for each of
# Apple's 64-bit platforms with -Werror: a line "ok TARGET" or "not ok TARGET" for each. Returns 0 if all are ok. The headers are
# macOS' (tools/npm-packages.list); they mark what another platform lacks. macOS 11 itself is built by the presets darwin-*.
# One compiler reads all files of a target: starting one for each file costs ten times as much.
root=$(cd "$(dirname "$0")/../.." && pwd) headers=$1
shift
cd "$root" || exit 1

compile() {
    target=$1
    folders=$(find src -type d ! -name linux ! -name darwin -printf '-I%p ')
    warnings='-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wno-missing-field-initializers'
    # watchOS forbids to stop a thread
    case $target in *watchos*) forbidden=/darwin_stop.c ;; *) forbidden=/linux/ ;; esac
    # shellcheck disable=SC2086 # flags are several words
    common="clang-19 --target=$target -nostdlibinc -isystem $headers -D_GNU_SOURCE -DSONDE_VERSION=\"\" -Iinclude $folders -fPIC -fno-color-diagnostics $warnings -Werror"
    # the command that the driver would run for the first file, with all others behind it
    one=$($common -std=gnu11 -fsyntax-only -### src/common/base/base_status.c 2>&1 | grep -e '"-cc1"')
    others=$(find src -name '*.c' ! -path '*/linux/*' ! -path "*$forbidden*" ! -name base_status.c | sort | tr '\n' ' ')
    [ -n "$one" ] && eval "$one $others" || return 1
    for source in $(find src -name '*.S' ! -path '*/linux/*'); do
        $common -c "$source" -o /dev/null || return 1
    done
}

if [ "${1-}" = one ]; then
    log=$(compile "$2" 2>&1) && echo "ok $2" || { printf '%s\nnot ok %s\n' "$log" "$2"; exit 1; }
    exit 0
fi
# If none is named: each platform once; their second machines only with SONDE_LONG.
[ $# -gt 0 ] || set -- arm64e-apple-macos11 arm64-apple-ios12 x86_64-apple-ios12-simulator arm64-apple-ios14-macabi \
    arm64-apple-tvos12 arm64-apple-xros1 arm64-apple-watchos9 \
    ${SONDE_LONG:+arm64-apple-ios12-simulator x86_64-apple-ios14-macabi arm64-apple-tvos12-simulator arm64-apple-xros1-simulator}
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 "$0" "$headers" one
