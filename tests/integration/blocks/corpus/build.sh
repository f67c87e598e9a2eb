#!/bin/sh
# Builds the corpus: build.sh FOLDER OPTIMISATION [PART...]. Parts: c cpp arc mrc objcxx (all), or
# gnu-arc gnu-mrc (GNUstep's ABI), or debian (C with Debian's libBlocksRuntime, unpacked; SONDE_CACHE).
# Gives FOLDER/corpus, a program, and FOLDER/libcorpus.so, the same as a library.
set -eu
here=$(dirname "$0")
out=$1 level=$2
shift 2
[ $# -gt 0 ] || set -- c cpp arc mrc objcxx
flags="$level -g -w -fPIC -fblocks"
apple="-fobjc-runtime=macosx-10.15"
blocks= objects= libraries="-lstdc++ -ldl"
for part; do
    case $part in
        c) set -- "$here/cases_c.c" -std=c11 ;;
        debian) set -- "$here/cases_c.c" -std=c11
                folder=${SONDE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sonde}/deb/libblocksruntime0/usr/lib
                library=$(ls "$folder"/*/libBlocksRuntime.so.0)
                blocks=-DCORPUS_BLOCKS_ELSEWHERE
                libraries="$libraries $library -Wl,-rpath,$(dirname "$library")" ;;
        cpp) set -- -x c++ -std=c++17 -DCORPUS_CXX=corpus_cpp "$here/cases_cxx.mm" ;;
        arc) set -- $apple -fobjc-arc "$here/cases_arc.m" ;;
        mrc) set -- $apple "$here/cases_mrc.m" ;;
        objcxx) set -- $apple -fobjc-arc -std=c++17 -DCORPUS_CXX=corpus_objcxx "$here/cases_cxx.mm" ;;
        gnu-arc) set -- -fobjc-runtime=gnustep-2.0 -fobjc-arc "$here/cases_arc.m" ;;
        gnu-mrc) set -- -fobjc-runtime=gnustep-2.0 "$here/cases_mrc.m" ;;
        *) echo "no part $part" >&2; exit 2 ;;
    esac
    clang-19 $flags "$@" -c -o "$out/$part.o" &
    objects="$objects $out/$part.o"
done
for source in runtime truth program; do
    clang-19 -O1 -g -w -fPIC -fblocks $blocks -c "$here/$source.c" -o "$out/$source.o" &
done
wait
clang-19 -fuse-ld=lld-19 -rdynamic -o "$out/corpus" $objects "$out/runtime.o" "$out/truth.o" "$out/program.o" $libraries
clang-19 -fuse-ld=lld-19 -shared -Wl,-Bsymbolic -o "$out/libcorpus.so" $objects "$out/runtime.o" "$out/truth.o" $libraries
