#!/bin/sh
# link.sh ARCH BUILD LIBSYSTEM OUT: links libsonde-preload.dylib to the file OUT from the objects of a build for Darwin (the folder
# BUILD). LIBSYSTEM: the library, or Apple's list of its symbols. It exports what include/sonde declares, so that an app may call it,
# too. CoreFoundation is a weak library of which nothing is used: start.c says why.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
arch=$1 build=$2 system=$3 out=$4
own=$build/preload/darwin/CMakeFiles/sonde_preload.dir
rm -f "$out.a"
find "$build/src/CMakeFiles" -name '*.o' -print0 | xargs -0 llvm-ar-19 rcs "$out.a"
# what an app may call that knows of it
wanted=$(for name in watch_phase watch_note watch_pause watch_resume watch_stalled idle_enter idle_leave beat loop_phase scope_enter scope_leave; do
    echo "-u _sonde_$name"
done)
# its own initialiser comes last: those of the modules have run then
# shellcheck disable=SC2086 # several words
ld64.lld-19 -arch "$arch" -platform_version macos 13 13 -dylib -install_name @rpath/libsonde-preload.dylib -dead_strip \
    -exported_symbol '_sonde_[a-z]*' -weak_library "$here/CoreFoundation.tbd" $wanted "$out.a" "$own/settings.c.o" "$own/start.c.o" \
    "$system" -o "$out"
rm -f "$out.a"
