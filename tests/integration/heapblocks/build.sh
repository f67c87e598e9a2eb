#!/bin/sh
# build.sh SOURCES FOLDER LIBRARY: the programs, linked with Debian's libBlocksRuntime at LIBRARY.
set -eu
here=$1 out=$2 library=$3
flags="-O1 -g -w -fblocks -fno-optimize-sibling-calls -I$here"
link="$library -Wl,-rpath,$(dirname "$library") -lpthread -ldl"
clang-19 $flags "$here/blocks.c" -o "$out/blocks" $link &
clang-19 $flags -fPIC -shared -DPLUGIN "$here/blocks.c" -o "$out/plugin.so" $link &
clang-19 $flags "$here/loads.c" -o "$out/loads" -ldl &
clang-19 $flags -rdynamic "$here/inside.c" "$here/../../../examples/block_runtime.c" -o "$out/inside" &
wait
ls "$out/blocks" "$out/plugin.so" "$out/loads" "$out/inside" >/dev/null
