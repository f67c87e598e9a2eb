#!/bin/sh
# Builds the corpus: build.sh FOLDER OPTIMISATION [PART...]. Parts: c cpp arc mrc objcxx (all), or
# gnu-arc gnu-mrc (GNUstep's ABI), or debian (C with Debian's libBlocksRuntime, unpacked; SONDE_CACHE).
# Gives, for each flavour F of our runtime (apple debian libobjc2; with Debian's own only apple),
# FOLDER/corpus-F, a program, FOLDER/libcorpus-F.so, the same as a library; and of churn.c the same;
# and FOLDER/libvariables-R.so for the runtimes R of Objective-C (apple gnustep gcc).
set -eu
here=$(dirname "$0")
out=$1 level=$2
rm -f "$out"/corpus-* "$out"/churn-* "$out"/*.so
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
[ -n "$blocks" ] && flavours=apple || flavours="apple debian libobjc2"
for flavour in $flavours; do
    case $flavour in
        apple) is=APPLE one=_Block_tryRetain two=_Block_isDeallocating ;;
        debian) is=DEBIAN one=Block_size two=_Block_dump ;;
        libobjc2) is=LIBOBJC2 one=block_getType_np two=objc_msg_lookup_sender ;;
    esac
    clang-19 -O1 -g -w -fPIC $blocks -DCORPUS_FLAVOUR=$is -DCORPUS_MARK_1="\"$one\"" \
        -DCORPUS_MARK_2="\"$two\"" -c "$here/runtime.c" -o "$out/runtime-$flavour.o" &
done
for source in truth program churn; do
    clang-19 -O1 -g -w -fPIC -fblocks -c "$here/$source.c" -o "$out/$source.o" &
done
[ -n "$blocks" ] || clang-19 $flags $apple -fobjc-arc -c "$here/cycles.m" -o "$out/cycles.o" &
for runtime in apple:macosx-10.15:APPLE gnustep:gnustep-2.0:GNUSTEP gcc:gcc:GCC; do
    rest=${runtime#*:}
    clang-19 -O1 -w -fPIC -fblocks -shared -fuse-ld=lld-19 -fobjc-runtime="${rest%:*}" \
        "-DRUNTIME_${rest#*:}" "$here/variables.m" -o "$out/libvariables-${runtime%%:*}.so" &
done
wait
link="clang-19 -fuse-ld=lld-19"
for flavour in $flavours; do
    corpus="$objects $out/truth.o $out/runtime-$flavour.o"
    $link -rdynamic -o "$out/corpus-$flavour" $corpus "$out/program.o" $libraries &
    $link -shared -Wl,-Bsymbolic -o "$out/libcorpus-$flavour.so" $corpus $libraries &
    [ -n "$blocks" ] || $link -o "$out/cycles-$flavour" "$out/cycles.o" "$out/runtime-$flavour.o" $libraries &
    $link -o "$out/churn-$flavour" "$out/churn.o" "$out/runtime-$flavour.o" $libraries &
    $link -shared -Wl,-Bsymbolic -o "$out/libchurn-$flavour.so" "$out/churn.o" "$out/runtime-$flavour.o" $libraries &
done
wait
for flavour in $flavours; do
    ls "$out/corpus-$flavour" "$out/libcorpus-$flavour.so" "$out/churn-$flavour" "$out/libchurn-$flavour.so" >/dev/null
done
