# ./dev test MODULE: the tests of one module; builds only these and what they need.
#
# cmake writes build/dev/tests.list: one line per test with its name, folder, labels and the modules whose
# headers it sees.

# tests_of MODULE: prints lines of tests.list, by the first that matches: the module's own folder
# (tests/unit/MODULE), a path below tests, integration tests of that name, a test of that name,
# tests that see the module's headers.
tests_of() {
    local module=${1#src/} list=build/dev/tests.list folder
    module=${module#tests/} module=${module%/}
    for folder in src/*/"$module"; do
        if [ -d "$folder" ]; then module=${folder#src/}; fi # by its last part alone
    done
    for folder in "tests/unit/$module" "tests/$module" "tests/integration/$module" "$module"; do
        awk -v f="$folder" '$2 == f || index($2, f "/") == 1 {print; found = 1} END {exit !found}' "$list" && return
    done
    awk -v n="$module" '$1 == n {print; found = 1} END {exit !found}' "$list" && return
    [ -d "src/$module" ] && awk -v m=",${module##*/}," 'index($4, m) {print; found = 1} END {exit !found}' "$list"
}

# near_modules NAME: prints names similar to a misspelt one.
near_modules() {
    { (cd src && ls -d */ */*/) | tr -d ' ' | sed 's,/$,,'; awk '{print $2; print $1}' build/dev/tests.list; } | sed -E 's,^tests/(unit/)?,,' | sort -u |
        python3 -c 'import difflib, sys
name, known = sys.argv[1], sys.stdin.read().split()
near = [k for k in known if name and name in k][:6] or difflib.get_close_matches(name, known, 6, 0.5)
print(" ".join(near))' "$1"
}

# test_modules MODULE...: build and run their tests, add up the counts.
test_modules() {
    local module names=() targets=() found name
    configure dev
    for module in "$@"; do
        found=$(tests_of "$module") ||
            die "test: no stage and no module '$module'; near: $(near_modules "${module##*/}") (./dev test --help)"
        mapfile -t -O ${#names[@]} names < <(awk '{print $1}' <<<"$found")
        name=${module%/}
        # of handler code, check what it calls
        if grep -qE "^sonde_module\(([a-z]+/)?${name##*/} +ASYNC_SAFE" src/CMakeLists.txt; then targets+=("ascheck_${name##*/}"); fi
    done
    for name in "${names[@]}"; do targets+=("test_$name"); done
    compile dev "${targets[@]}"
    run_ctest dev -R "^($(IFS='|'; echo "${names[*]}"))\$"
    sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) \.* *([^ ].*)/    \1: \2/p' build/dev.ctest.log
}
