# ./dev bench [NAME...] [--against REV [--rounds N]]: release build, then each bench program; prints
# "key value unit" lines, the machine's own limits first. `index` and `darwin` run only if they are
# named: the input of the first is a gigabyte, the second needs a build for Darwin, and counts
# instructions instead of time.

# bench_run FOLDER NAME: runs one bench program of the build in FOLDER.
bench_run() {
    local program=$1/bench/bench_$2
    if [ "$2" = darwin ]; then
        bench_darwin "${1%build/release}"
    elif [ "$2" = index ]; then
        "$program" "$cache/bench" jvm "$(corpus libjvm.so)" "$(shipped libjvm.so)" \
            osd "$(corpus ceph-osd)" "$(shipped ceph-osd)"
    else
        "$program"
    fi
}

# bench_darwin CHECKOUT/: counts captures in the host of tests/darwin, on both machines.
bench_darwin() {
    local arch
    [ -d "$SONDE_DARWIN_HEADERS" ] || { say "no headers of macOS ($SONDE_DARWIN_HEADERS): no darwin (./dev setup test)" >&2; return 0; }
    for arch in x86_64 arm64; do
        (cd "${1:-.}" && compile "darwin-$arch-release" &&
            mkdir -p "build/darwin/bench-$arch" &&
            tests/darwin/bench.sh "$arch" "build/darwin/bench-$arch" "build/darwin-$arch-release" "$SONDE_DARWIN_HEADERS")
    done
}

# bench_names FOLDER NAME...: prints the given names; without any, all but index and darwin.
bench_names() {
    local folder=$1 program name
    shift
    echo machine
    [[ " $* " != *" darwin "* ]] || echo darwin
    for program in "$folder"/bench/bench_*; do
        [ -x "$program" ] && [ -f "$program" ] || continue
        name=${program##*/bench_}
        if [ "$name" != machine ] && { [[ " $* " == *" $name "* ]] || { [ $# = 0 ] && [ "$name" != index ]; }; }; then
            echo "$name"
        fi
    done
}

# build_against REV: makes a release build of REV in a worktree below build/against; sets against.
build_against() {
    local commit tree
    commit=$(git rev-parse --verify --quiet "$1^{commit}") || die "bench: git knows no $1"
    tree=build/against/${commit:0:12} against=build/against/${commit:0:12}/build/release
    if [ ! -e "$tree/.git" ]; then
        git worktree prune
        git worktree add --detach "$tree" "$commit" >build/against.log 2>&1 || { cat build/against.log >&2; die "bench: no worktree of $1"; }
    fi
    say "building $1 in $tree ..." >&2
    # older commits have no target `benches`: their bench programs are in `all`
    (cd "$tree" && cmake --preset release && { cmake --build build/release --target programs benches || cmake --build build/release; }) \
        >build/against.log 2>&1 || { tail -40 build/against.log >&2; die "bench: building $1 failed"; }
}

# bench_medians: turns lines "old|new key value unit" into lines "key old new ratio unit [mark]". A
# time or size that is 3 % higher, or a rate that is 3 % lower, is marked. If rounds differ by more
# than that (the median of the differences to the median), the result is marked as no proof.
bench_medians() {
    awk '
        function median(values, n,    i, j, v) {
            for (i = 2; i <= n; i++) {
                v = values[i]
                for (j = i - 1; j > 0 && values[j] > v; j--) values[j + 1] = values[j]
                values[j + 1] = v
            }
            return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
        }
        function middle(which, key,    n, i, list) {
            n = split(all[which, key], list, " ")
            for (i = 1; i <= n; i++) list[i] += 0
            return median(list, n)
        }
        function noise(which, key, m,    n, i, list) {
            n = split(all[which, key], list, " ")
            for (i = 1; i <= n; i++) list[i] = list[i] > m ? list[i] - m : m - list[i]
            return m != 0 ? median(list, n) / m : 0
        }
        NF >= 4 && $3 + 0 == $3 {
            if (!($2 in unit)) {order[++keys] = $2}
            unit[$2] = $4
            all[$1, $2] = all[$1, $2] " " $3
        }
        END {
            for (k = 1; k <= keys; k++) {
                key = order[k]
                if (all["old", key] == "" || all["new", key] == "") {
                    print key, all["old", key] != "" ? "gone" : "new"
                    continue
                }
                old = middle("old", key); new = middle("new", key)
                n = noise("old", key, old); m = noise("new", key, new); n = n > m ? n : m
                ratio = old != 0 ? new / old : 1
                worse = unit[key] ~ /^(ns|us|ms|s|B|MB|instructions)$/ ? ratio : unit[key] ~ /\/s$/ && ratio ? 1 / ratio : 1
                mark = n > 0.03 ? sprintf("noise %.0f %%", n * 100) : worse > 1.03 + n ? "SLOWER" : ""
                printf "%s %.4g %.4g %.3f %s%s\n", key, old, new, ratio, unit[key], mark == "" ? "" : "  " mark
            }
        }'
}

# bench_instructions WHICH FOLDER NAME: prints "WHICH NAME.instructions.METHOD value instructions",
# per operation, for each method that the program compares by the harness.
bench_instructions() {
    local out
    out=$(mktemp -d)
    (cd "$out" && timeout 600 valgrind --tool=callgrind --callgrind-out-file="$out/dump" "$OLDPWD/$2/bench/bench_$3") \
        >"$out/log" 2>&1 || true
    # one dump per method, in order; the last dump is what ran after them
    for file in $(find "$out" -name 'dump*' | sort -V); do
        awk -v w="$1" -v b="$3" '/^desc: Trigger: Client Request: /{sub(/.*Request: /, ""); gsub(/[ \t]/, "_"); name = $0}
            /^(totals|summary): / && name != "" {print w, b ".instructions." name, $2 / 16, "instructions"; exit}' "$file"
    done | awk '{n = ++seen[$2]; if (n > 1) $2 = $2 "." n; print}'
    rm -rf "$out"
}

bench_against() {
    local rev=$1 rounds=$2 name round lines noisy
    shift 2
    build_against "$rev"
    lines=$(mktemp)
    for name in $(bench_names build/release "$@"); do
        : >"$lines"
        for ((round = 0; round < rounds; round++)); do
            for which in $([ $((round % 2)) = 0 ] && echo old new || echo new old); do
                folder=build/release
                [ "$which" = new ] || [ ! -x "$against/bench/bench_$name" ] || folder=$against
                bench_run $folder "$name" 2>/dev/null | sed "s/^/$which /" >>"$lines" || true
            done
        done
        bench_medians <"$lines" | tee "$lines.out"
        if [ "$name" != machine ] && grep -q '  noise ' "$lines.out" && command -v valgrind >/dev/null; then
            { bench_instructions old "$against" "$name"; bench_instructions new build/release "$name"; } | bench_medians | tee -a "$lines.out"
        fi
        cat "$lines.out" >>"$lines.all"
    done
    noisy=$(grep -c '  noise ' "$lines.all" || true)
    slower=$(grep -c '  SLOWER' "$lines.all" || true)
    say "$slower slower by more than 3 %, $noisy too noisy to tell ($rounds rounds)" >&2
    rm -f "$lines" "$lines".*
    [ "$slower" = 0 ]
}

dev_bench() {
    local names=() rev= rounds=31 name against folder which slower
    while [ $# -gt 0 ]; do
        case $1 in
            --against) [ $# -gt 1 ] || die "bench: --against wants a commit"; rev=$2; shift 2 ;;
            --rounds) [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || die "bench: --rounds wants a number"; rounds=$2; shift 2 ;;
            -*) die "bench: unknown option $1 (./dev help)" ;;
            *) names+=("$1"); shift ;;
        esac
    done
    . tools/dev/setup.sh
    dev_setup build bench
    if [ "${names[*]}" = darwin ] && [ -z "$rev" ]; then
        bench_darwin ''
        return
    fi
    export SONDE_BENCH_LLVM_LIBUNWIND=$cache/deb/libunwind-19/usr/lib/llvm-19/lib/libunwind.so.1
    export SONDE_BENCH_GNUSTEP=$cache/deb/libgnustep-base1.28/usr/lib/libgnustep-base.so.1.28
    compile release programs benches
    for name in "${names[@]}"; do
        [ "$name" = darwin ] || [ -x "build/release/bench/bench_$name" ] ||
            die "bench: no $name; there are: $(bench_names build/release | tr '\n' ' ')index darwin"
    done
    if [[ " ${names[*]} " == *" index "* ]]; then
        need llvm-19 binutils elfutils
        corpora
        mkdir -p "$cache/bench"
    fi
    if [ -n "$rev" ]; then
        bench_against "$rev" "$rounds" "${names[@]}"
        return
    fi
    for name in $(bench_names build/release "${names[@]}"); do bench_run build/release "$name"; done
}
