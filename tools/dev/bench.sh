# ./dev bench [NAME...]: release build, then each bench program; prints "key value unit" lines.
# `index` is run only when it is named: its input is a gigabyte.
bench_index() {
    need llvm-19 binutils elfutils
    corpora
    mkdir -p "$cache/bench"
    "$1" "$cache/bench" jvm "$(corpus libjvm.so)" "$(shipped libjvm.so)" \
        osd "$(corpus ceph-osd)" "$(shipped ceph-osd)"
}

dev_bench() {
    local program name
    . tools/dev/setup.sh
    dev_setup build bench
    export SONDE_BENCH_LLVM_LIBUNWIND=$cache/deb/libunwind-19/usr/lib/llvm-19/lib/libunwind.so.1
    export SONDE_BENCH_GNUSTEP=$cache/deb/libgnustep-base1.28/usr/lib/libgnustep-base.so.1.28
    compile release all benches
    for program in build/release/bench/bench_*; do
        [ -x "$program" ] && [ -f "$program" ] || continue
        name=${program##*/bench_}
        if [ "$name" = index ]; then
            [[ " $* " != *" index "* ]] || bench_index "$program"
        elif [ $# = 0 ] || [[ " $* " == *" $name "* ]]; then
            "$program"
        fi
    done
}
