# ./dev fuzz [NAME|all] [SECONDS] [RUNS]: libFuzzer targets, on their corpora; new finds go to build/fuzz-finds.
# Targets run in parallel, one per processor: each has one thread.

. tools/dev/select.sh

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

# fuzz_listed: prints lines "name file module" of the targets, as tests_labelled.
fuzz_listed() { tests_labelled fuzz fuzz | sed -E 's#^fuzz_([^ ]+) fuzz/#\1 fuzz/fuzz_\1.c#'; }

# fuzz_names SECONDS RUNS NAME...: builds and runs these targets.
fuzz_names() {
    local seconds=$1 runs=$2
    shift 2
    compile fuzz "${@/#/fuzz_}"
    mkdir -p build/fuzz-finds
    export -f fuzz_one
    printf 'build/fuzz/fuzz/fuzz_%s\n' "$@" | xargs -P "$(nproc)" -I{} bash -c "fuzz_one {} $seconds $runs"
}

dev_fuzz() {
    local name=${1:-all} seconds=${2:-60} runs=${3:-} names
    need clang libclang-rt-14-dev
    configure fuzz
    mapfile -t names < <(fuzz_listed | cut -d' ' -f1 | grep -xE "$([ "$name" = all ] && echo '.*' || echo "$name")")
    [ ${#names[@]} -gt 0 ] || die "fuzz: no target $name (./dev fuzz --help)"
    fuzz_names "$seconds" "$runs" "${names[@]}"
}
