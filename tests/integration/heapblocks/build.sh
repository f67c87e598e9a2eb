#!/bin/sh
# build.sh SOURCES FOLDER LIBRARY SONDE [NAME]: the programs, or one of them, linked with Debian's
# libBlocksRuntime at LIBRARY, and our own library at SONDE.
set -eu
here=$1 out=$2 library=$3 sonde=$4 wanted=${5-all}
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
build held-alone -DREGISTRY -I"$here/../../../include" "$here/held.c" $link "$sonde" "-Wl,-rpath,$(dirname "$sonde")"
build loads "$here/loads.c" -ldl
build inside -rdynamic "$here/inside.c" "$here/../../../examples/block_runtime.c"
wait
ls $built >/dev/null
