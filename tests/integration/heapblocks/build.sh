#!/bin/sh
# build.sh SOURCES FOLDER LIBRARY [NAME]: the programs, or one of them, linked with Debian's
# libBlocksRuntime at LIBRARY.
set -eu
here=$1 out=$2 library=$3 wanted=${4-all}
flags="-O1 -g -w -fblocks -fno-optimize-sibling-calls -I$here"
link="$library -Wl,-rpath,$(dirname "$library") -lpthread -ldl"
built=

# build NAME ARGUMENT...
build() {
    name=$1
    shift
    case $wanted in
    all | "$name")
        clang-19 $flags "$@" -o "$out/$name" &
        built="$built $out/$name"
        ;;
    esac
}

build blocks "$here/blocks.c" $link
build plugin.so -fPIC -shared -DPLUGIN "$here/blocks.c" $link
build held "$here/held.c" $link
build loads "$here/loads.c" -ldl
build inside -rdynamic "$here/inside.c" "$here/../../../examples/block_runtime.c"
wait
ls $built >/dev/null
