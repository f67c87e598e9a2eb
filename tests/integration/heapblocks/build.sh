#!/bin/sh
# build.sh SOURCES FOLDER LIBRARY SONDE [NAME]: the programs, or one of them, linked with Debian's
# libBlocksRuntime at LIBRARY, and our own library at SONDE. NAME arc: those of ARC alone.
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
# The runtime of the corpus, whose functions call each other as another library may see; and programs
# of ARC on it, which have it beside them.
corpus=$here/../blocks/corpus
runtime() { # NAME FLAVOUR MARK MARK
    build "$1" -fPIC -shared -fsemantic-interposition -DCORPUS_FLAVOUR="$2" -DCORPUS_MARK_1="\"$3\"" \
        -DCORPUS_MARK_2="\"$4\"" "$corpus/runtime.c" -fuse-ld=lld-19 -ldl
}
case $wanted in
arc)
    wanted=all
    runtime libarc-apple.so APPLE _Block_tryRetain _Block_isDeallocating
    runtime libarc-libobjc2.so LIBOBJC2 block_getType_np objc_msg_lookup_sender
    wait
    for flavour in apple libobjc2; do
        # all segments of such a small program lie in one page of its file
        for source in "$here/arc.m" "$corpus/cycles.m"; do
            build "$(basename "$source" .m)-$flavour" -fPIC -fobjc-runtime=macosx-10.15 -fobjc-arc "$source" \
                "$out/libarc-$flavour.so" -Wl,-rpath,"$out" -fuse-ld=lld-19
        done
    done
    wait
    ls $built >/dev/null
    exit
    ;;
esac
build libsymbolic.so -fPIC -shared -Dmain=library_main "$here/inside.c" \
    "$here/../../../examples/block_runtime.c" -Wl,-Bsymbolic
wait # it is linked with
build symbolic "$here/symbolic.c" "$out/libsymbolic.so" "-Wl,-rpath,$out"
build inside -rdynamic "$here/inside.c" "$here/../../../examples/block_runtime.c"
wait
ls $built >/dev/null
