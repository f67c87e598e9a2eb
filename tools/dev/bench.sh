# ./dev bench [NAME...]: release build, then each bench program; prints "key value unit" lines.
dev_bench() {
    local program name
    . tools/dev/setup.sh
    dev_setup build bench
    compile release
    for program in build/release/bench/bench_*; do
        [ -x "$program" ] && [ -f "$program" ] || continue
        name=${program##*/bench_}
        if [ $# = 0 ] || [[ " $* " == *" $name "* ]]; then
            "$program"
        fi
    done
}
