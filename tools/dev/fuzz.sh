# ./dev fuzz [NAME|all] [SECONDS] [RUNS]: libFuzzer targets, on their corpora; new finds go to build/fuzz-finds.
# Targets run in parallel, one per processor: each has one thread.

# fuzz_one TARGET SECONDS [RUNS]: runs one target until either limit; prints its line, or the end of
# its log.
fuzz_one() {
    local target=$1 short=${1##*/fuzz_}
    mkdir -p "build/corpus/$short" "fuzz/regress/$short"
    if "$target" -max_total_time="$2" ${3:+-runs="$3"} -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="build/fuzz-finds/$short-" "build/corpus/$short" "fuzz/regress/$short" \
        >"build/fuzz-$short.log" 2>&1; then
        echo "  fuzz $short: $(sed -nE 's/^stat::number_of_executed_units: *//p' "build/fuzz-$short.log") runs, no crash"
    else
        tail -30 "build/fuzz-$short.log" >&2
        return 1
    fi
}

dev_fuzz() {
    local name=${1:-all} seconds=${2:-60} runs=${3:-} target targets=()
    need clang libclang-rt-14-dev
    compile fuzz fuzzers
    mkdir -p build/fuzz-finds
    for target in build/fuzz/fuzz/fuzz_*; do
        [ -x "$target" ] && [ -f "$target" ] || continue
        [ "$name" = all ] || [ "$name" = "${target##*/fuzz_}" ] || continue
        targets+=("$target")
    done
    [ ${#targets[@]} -gt 0 ] || die "fuzz: no target $name (./dev fuzz --help)"
    export -f fuzz_one
    printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c "fuzz_one {} $seconds $runs"
}
