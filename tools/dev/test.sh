# ./dev test [--long] [STAGE|MODULE...]: what CI runs, or the tests of a module (modules.sh). Each stage prints its seconds; the last line is
# "N passed, N failed, N skipped" over all of them.

stages_all=(lint layers ports darwin gcc clang sanitize tsan aarch64 fuzz tidy demo) # and with --long: fresh loaded

stage_help() {
    cat <<'EOF'
usage: ./dev test [--long] [STAGE...]
       ./dev test [--long] MODULE...
A module is a folder of src/ (stacks/depot, or depot), a folder of tests by its path (integration/zoo) or one test by its
name (zoo_found). Only its tests and what they need are built, with gcc in build/dev.
Stages:
  lint      format and house rules
  layers    the build refuses a wrong include and an unsafe call in handler code
  ports     the portable files compile for macOS, arm64 and x86-64, against Apple's headers; nothing is linked
  darwin    the package for apps; Mach-O programs, built against Apple's headers, and the commands of sonde that read
            files run in the host of tests/darwin: x86-64, and arm64 under qemu-user (--long: 50 runs of each, and once without optimization of sonde)
  gcc       build with gcc -Werror, bench programs too; no circles of files; unit and integration tests
  clang     build with clang -Werror; unit tests
  sanitize  unit and bad-input tests under AddressSanitizer and UBSan *
  tsan      tests of concurrent code under ThreadSanitizer *
  aarch64   cross build; unit and portable tests under qemu-user
  fuzz      fuzz targets for a few seconds each *
  tidy      clang-tidy *
  demo      ./dev demo, end to end
  fresh     ./dev demo in a debootstrapped minimal root (with --long only)
  loaded    the tests of gcc beside stress-ng with four threads a processor (with --long only)
  *         what changed lately and a quarter of the rest, another one each commit and day
  --long    whole soaks instead of shortened ones; all of what has a *
  --since REV
            what changed after this commit instead of by the last 20
EOF
}

count_passed=0 count_failed=0 count_skipped=0
failures=()

# tally NAME STATUS: count one check that is not a test program.
tally() {
    if [ "$2" = 0 ]; then
        count_passed=$((count_passed + 1))
    else
        count_failed=$((count_failed + 1))
        failures+=("$1")
    fi
}

# ctest_counts LOG: prints "passed failed skipped crashed" from a log of ctest -V; the last run of
# each program counts. A program that died, timed out or failed without printing totals counts as
# crashed.
ctest_counts() {
    sed -nE -e 's/^([0-9]+): ([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3 \4/p' \
        -e 's/^ *[0-9]+\/[0-9]+ Test +#([0-9]+): .*\*\*\*(Timeout|Exception|Failed|Not Run).*/\1 \2/p' "$1" | awk '
        NF == 2 {dead[$1] = $2 != "Failed" || f[$1] == 0; next}
        {dead[$1] = 0; p[$1] = $2; f[$1] = $3; s[$1] = $4}
        END {for (t in dead) {P += p[t]; F += f[t]; S += s[t]; D += dead[t]}
             print P + 0, F + 0, S + 0, D + 0}'
}

# show_lines LOG PATTERN: prints the lines of programs in a log of ctest -V that match; of a failure,
# also the lines that follow it, which are what a command printed.
show_lines() {
    awk -v pattern="^($2)" '
        !match($0, /^[0-9]+: /) {next}
        {n = substr($0, 1, RLENGTH); line = substr($0, RLENGTH + 1)}
        line ~ /^(ok|skip|again|FAIL) |^[0-9]+ passed, / {left[n] = 0}
        line ~ pattern {print "    " line; left[n] = line ~ /^FAIL / ? 30 : 0; next}
        left[n] > 0 {left[n]--; print "        " substr(line, 1, 300)}' "$1"
}

ctest_bad='s/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .*\*\*\*(Failed|Timeout|Exception|Not Run).*/\1/p'

# run_ctest PRESET CTEST-ARGUMENT...: run test programs in parallel and add up their counts. Failed
# tests that can fail where processors lack are tried again, alone: we do not control other load on
# the host.
run_ctest() {
    local preset=$1 log=build/$1.ctest.log jobs p f s crashed bad
    shift
    jobs=$(nproc)
    [ "$preset" != dev ] || jobs=$((2 * jobs)) # most of these tests wait, for a stall to pass
    (cd "build/$preset" && SONDE_TEST_LONG=$long ctest -V -j "$jobs" "$@") >"$log" 2>&1 || true
    show_lines "$log" '(FAIL|skip|again) |.*: runtime error: |SUMMARY: '
    bad=$(sed -nE "$ctest_bad" "$log" | paste -sd'|')
    if [ -n "$bad" ]; then
        (cd "build/$preset" && SONDE_TEST_LONG=$long ctest -V -L alone -R "^($bad)\$") >"$log.again" 2>&1 || true
        sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .*/    second try: \1/p' "$log.again"
        show_lines "$log.again" 'FAIL '
        cat "$log.again" >>"$log"
    fi
    read -r p f s crashed < <(ctest_counts "$log")
    if [ $((p + f + s)) = 0 ]; then
        tail -40 "$log"
        crashed=$((crashed + 1))
    fi
    if [ "$f" != 0 ] || [ "$crashed" != 0 ]; then
        grep -E '\*\*\*(Failed|Timeout|Exception|Not Run)' "$log" || true
        say "    whole output: $log"
        failures+=("$preset: $((f + crashed)) failed")
    fi
    count_passed=$((count_passed + p))
    count_failed=$((count_failed + f + crashed))
    count_skipped=$((count_skipped + s))
}

stage_lint() {
    local rc=0
    dev_format --check || rc=$?
    tally "clang-format (./dev format mends it)" $rc
    rc=0
    tools/house-rules.sh || rc=$?
    tally "house rules" $rc
}

stage_layers() {
    local rc=0
    tools/layers-test.sh || rc=$?
    tally "layers" $rc
}

stage_ports() {
    local arch rc
    if [ ! -d "$SONDE_DARWIN_HEADERS" ]; then
        say "    no headers of macOS ($SONDE_DARWIN_HEADERS): skipped"
        count_skipped=$((count_skipped + 1))
        return 0
    fi
    for arch in arm64 x86_64; do
        rc=0
        (compile "darwin-$arch") || rc=$?
        tally "portable files for darwin-$arch" $rc
    done
}

stage_darwin() {
    local arch rc
    if [ ! -d "$SONDE_DARWIN_HEADERS" ]; then
        say "    no headers of macOS ($SONDE_DARWIN_HEADERS): skipped"
        count_skipped=$((count_skipped + 1))
        return 0
    fi
    rc=0
    mkdir -p build
    SONDE_LONG=${long#0} tests/darwin/platforms.sh "$SONDE_DARWIN_HEADERS" >build/platforms.log 2>&1 || rc=$?
    [ $rc = 0 ] || sed 's/^/    /' build/platforms.log
    tally "darwin: all of sonde compiles for $(grep -c '^ok ' build/platforms.log) more platforms" $rc
    rc=0
    tests/darwin/package.sh "$PWD/build/darwin/package" "$SONDE_DARWIN_HEADERS" >build/package.log 2>&1 || rc=$?
    [ $rc = 0 ] || sed 's/^/    /' build/package.log
    grep '^darwin\.size' build/package.log | sed 's/^/    /' || true
    tally "darwin: the package for apps" $rc
    (compile dev programs) || { tally 'darwin: sonde for this machine' 1; return 0; }
    export SONDE_CLI=$PWD/build/dev/cli/sonde
    for arch in x86_64 arm64; do # at the same time: most of it is one thread
        run_darwin "$arch" "darwin-$arch" $((long == 1 ? 50 : 1)) &
    done
    wait
    for arch in x86_64 arm64; do
        tell_darwin "darwin-$arch"
        [ "$long" = 0 ] || { run_darwin "$arch" "darwin-$arch-debug" 1; tell_darwin "darwin-$arch-debug"; }
    done
}

# run_darwin ARCH PRESET REPEATS: leaves its lines in build/darwin/PRESET.log
run_darwin() {
    local rc=0 out=build/darwin/$2
    mkdir -p "$out"
    (compile "$2") >"$out.log" 2>&1 || { echo "not ok $1: build" >>"$out.log"; return 0; }
    SONDE_REPEATS=$3 tests/darwin/run.sh "$1" "$out" "build/$2" "$SONDE_DARWIN_HEADERS" >>"$out.log" 2>&1 || rc=$?
    tests/darwin/cli.sh "$1" "$out" "build/$2" "$SONDE_DARWIN_HEADERS" build/dev/cli/sonde >>"$out.log" 2>&1 || rc=$?
    tests/darwin/watch.sh "$1" "$out" "build/$2" "$SONDE_DARWIN_HEADERS" >>"$out.log" 2>&1 || rc=$?
    [ $rc = 0 ] || echo "not ok $1: all of run.sh, cli.sh and watch.sh" >>"$out.log"
}

# tell_darwin PRESET
tell_darwin() {
    local line log=build/darwin/$1.log
    ! grep -q '^not ok' "$log" || sed 's/^/    /' "$log"
    while read -r line; do
        case $line in
            ok\ *) tally "$1: ${line#ok }" 0 ;;
            not\ ok\ *) tally "$1: ${line#not ok }" 1 ;;
            darwin.*|[0-9]*\ portable\ tests\ *|[0-9]*\ captures\ of\ *|[0-9]*\ runs\ of\ *|[0-9]*\ bytes\ of\ *) say "    $line" ;;
        esac
    done <"$log"
}

stage_gcc() { # the one build of the bench programs
    local rc=0
    compile dev all benches || return
    tools/circles-test.sh build/dev || rc=$?
    tally "circles of files" $rc
    run_ctest dev
}
stage_clang() { compile clang && run_ctest clang -L unit; }
stage_sanitize() { run_selected asan-ubsan 'unit|sanitize'; }
stage_tsan() { run_selected tsan tsan; }
stage_aarch64() {
    local names
    configure aarch64
    mapfile -t names < <(tests_labelled aarch64 'unit|portable' | cut -d' ' -f1)
    compile aarch64 programs "${names[@]/#/test_}"
    run_ctest aarch64 -L 'unit|portable'
}

stage_fuzz() {
    local rc=0 names all
    need clang libclang-rt-14-dev
    configure fuzz
    select_begin
    all=$(fuzz_listed | wc -l)
    mapfile -t names < <(fuzz_listed | select_names)
    say "    $select_told: ${#names[@]} of $all targets"
    [ ${#names[@]} = 0 ] || fuzz_names "$([ "$long" = 1 ] && echo 600 || echo 15)" "" "${names[@]}" || rc=$?
    tally "fuzz" $rc
}

stage_tidy() {
    local rc=0 all files short=()
    # the analyzer's cost is the paths that it follows: with a quarter of its default a quarter
    [ "$long" = 1 ] || short=(--extra-arg={-Xclang,-analyzer-config,-Xclang,max-nodes=60000})
    configure clang
    select_begin
    mapfile -t all < <(git ls-files 'src/*.c' ':!*/darwin/*' 'cli/*.c' 'preload/*.c' 'recorder/*.c' 'execinfo/*.c' 'collector/*.c')
    mapfile -t files < <(printf '%s\n' "${all[@]}" | sed 's/.*/& &/' | select_names)
    say "    $select_told: ${#files[@]} of ${#all[@]} files"
    printf '%s\n' "${files[@]}" |
        xargs -P "$(nproc)" -n 8 clang-tidy --quiet "${short[@]}" -p build/clang >build/tidy.log 2>/dev/null || true
    if grep -E '(warning|error):' build/tidy.log | sort -u | head -40 | grep .; then rc=1; fi
    tally "clang-tidy" $rc
}

stage_demo() {
    local rc=0
    tools/demo-test.sh || rc=$?
    tally "demo" $rc
}

stage_fresh() {
    local rc=0
    tools/fresh-machine-test.sh ./dev demo >build/fresh.log 2>&1 || rc=$?
    [ $rc = 0 ] || tail -20 build/fresh.log
    tally "demo on a fresh machine" $rc
}

# cpu_s: prints CPU seconds used by this shell and its children; wall time means little on a shared
# machine.
cpu_s() { awk '{print int(($14 + $15 + $16 + $17) / 100)}' "/proc/$$/stat"; }

# Without long soaks: this tests the effect of load.
stage_loaded() {
    local stress long=0
    need stress-ng
    compile dev
    stress-ng --cpu "$((4 * $(nproc)))" --timeout 3h --quiet &
    stress=$!
    run_ctest dev
    kill "$stress" 2>/dev/null || true
    wait "$stress" 2>/dev/null || true
}

dev_test() {
    local stages=() modules=() arg begin cpu name
    long=0 since=
    while [ $# -gt 0 ]; do
        arg=$1
        shift
        case $arg in
            --long) long=1 ;;
            --since) [ $# -gt 0 ] || die "test: --since wants a commit"; since=$1; shift ;;
            -h|--help) stage_help; return 0 ;;
            -*) die "test: unknown option $arg (./dev test --help)" ;;
            *) if declare -F "stage_$arg" >/dev/null; then stages+=("$arg"); else modules+=("$arg"); fi ;;
        esac
    done
    if [ ${#stages[@]} = 0 ] && [ ${#modules[@]} = 0 ]; then
        stages=("${stages_all[@]}")
        [ $long = 0 ] || stages+=(fresh loaded)
    fi
    . tools/dev/setup.sh; . tools/dev/format.sh; . tools/dev/fuzz.sh; . tools/dev/modules.sh
    dev_setup build test
    [ $long = 0 ] || { corpora; from_npm long; dev_setup long; }
    [ ${#modules[@]} = 0 ] || test_modules "${modules[@]}"
    for name in "${stages[@]}"; do
        begin=$(date +%s) cpu=$(cpu_s)
        say "== $name"
        "stage_$name"
        say "== $name: $(($(date +%s) - begin)) s, $(($(cpu_s) - cpu)) s of processors"
    done
    if [ ${#failures[@]} -gt 0 ]; then
        say "failed:"
        printf '  %s\n' "${failures[@]}"
    fi
    say "$count_passed passed, $count_failed failed, $count_skipped skipped"
    [ "$count_failed" = 0 ]
}
