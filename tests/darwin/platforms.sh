#!/bin/sh
# platforms.sh HEADERS: compiles sonde's port, the files in folders darwin, for each of Apple's 64-bit platforms with -Werror: a
# line "ok PLATFORM" or "not ok PLATFORM" for each. Returns 0 if all are ok. The headers are macOS' (tools/npm-packages.list); they
# mark what another platform lacks.
root=$(cd "$(dirname "$0")/../.." && pwd) headers=$1
failed=0
cd "$root" || exit 1
folders=$(find src -type d ! -name linux ! -name darwin -printf '-I%p ')
warnings='-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef -Wno-missing-field-initializers'

for target in x86_64-apple-macos11 arm64-apple-macos11 arm64e-apple-macos11 arm64-apple-ios12 arm64-apple-ios12-simulator \
    x86_64-apple-ios12-simulator x86_64-apple-ios14-macabi arm64-apple-ios14-macabi arm64-apple-tvos12 arm64-apple-xros1 \
    arm64-apple-watchos9; do
    result=ok
    for source in src/*/*/darwin/*.c; do
        case $target:$source in
            # watchOS forbids to stop a thread
            *watchos*:*/darwin_stop.c) continue ;;
        esac
        # shellcheck disable=SC2086 # flags are several words
        clang-19 --target=$target -nostdlibinc -isystem "$headers" -D_GNU_SOURCE -Iinclude $folders -fPIC $warnings -Werror \
            -std=gnu11 -fsyntax-only "$source" || result='not ok'
    done
    echo "$result $target"
    [ "$result" = ok ] || failed=1
done
exit $failed
