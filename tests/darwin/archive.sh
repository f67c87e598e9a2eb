#!/bin/sh
# archive.sh OUT OBJECTS: an archive OUT/libsonde.a of the modules that a program needs for stacks, names and blocks. OBJECTS: the
# build folder of sonde's objects for Darwin. Without arguments: the targets of that build that are needed.
set -eu
modules='base arch image depot unwind os capture mem host target style swift demangle symbol symfile inflate python v8 runtime jit block blockheap probe when record registry hook api'
if [ $# = 0 ]; then
    for module in $modules; do echo "sonde_$module"; done
    exit
fi
mkdir -p "$1"
rm -f "$1/libsonde.a"
for module in $modules; do
    find "$2/src/CMakeFiles/sonde_$module.dir" -name '*.o'
done | xargs llvm-ar-19 rcs "$1/libsonde.a"
