# ./dev fuzz [NAME|all] [SECONDS]: libFuzzer targets, on their corpora; new finds go to build/fuzz-finds.
dev_fuzz() {
    local name=${1:-all} seconds=${2:-60} target rc=0 short
    need clang libclang-rt-14-dev
    compile fuzz
    mkdir -p build/fuzz-finds
    for target in build/fuzz/fuzz/fuzz_*; do
        [ -x "$target" ] && [ -f "$target" ] || continue
        short=${target##*/fuzz_}
        [ "$name" = all ] || [ "$name" = "$short" ] || continue
        mkdir -p "build/corpus/$short" "fuzz/regress/$short"
        if "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
            -artifact_prefix="build/fuzz-finds/$short-" "build/corpus/$short" "fuzz/regress/$short" \
            >"build/fuzz-$short.log" 2>&1; then
            say "  fuzz $short: $(sed -nE 's/^stat::number_of_executed_units: *//p' "build/fuzz-$short.log") runs, no crash"
        else
            tail -30 "build/fuzz-$short.log" >&2
            rc=1
        fi
    done
    return $rc
}
