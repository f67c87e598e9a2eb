# Selects what the sanitizer stages, the fuzzers and clang-tidy check in one run of ./dev test: what changed, and
# a rotating share of the rest, so that several runs cover all. --long, or a checkout without
# history, selects all. The gcc, clang and aarch64 stages always run everything.

select_commits=20 # changed: by the last so many commits (--since REV: after REV), or not committed
select_shares=4   # one of so many shares of the rest

# select_code: prints a checksum of the C code on stdin without comments. Fails if gcc cannot read
# it.
select_code() { gcc -fpreprocessed -dD -E -P -x c - 2>/dev/null | tr -s '[:space:]' ' ' | cksum; }

# select_without_comments REV: prints the paths of stdin that changed since REV in more than
# comments.
select_without_comments() {
    local path now before
    while read -r path; do
        if [[ $path == *.[ch] && -e $path ]] && now=$(select_code <"$path") &&
            before=$(git show "$1:$path" 2>/dev/null | select_code) && [ "$now" = "$before" ]; then
            continue
        fi
        echo "$path"
    done
}

# Sets select_changed (a file of paths; empty: take all), select_turn and select_told.
select_begin() {
    local base count
    [ -z "${select_told:-}" ] || return 0
    mkdir -p build
    select_changed=build/changed.list
    base=${since:-HEAD~$select_commits}
    if [ "$long" = 1 ]; then
        select_changed= select_told='all (--long)'
    elif ! git diff -M --name-status "$base" -- >$select_changed 2>/dev/null; then
        [ -z "$since" ] || die "test: --since: git knows no $since"
        select_changed= select_told='all (no history)'
    else
        sed -i -E '/^R100/d; s/.*\t//' $select_changed # a pure move is no change
        select_without_comments "$base" <$select_changed >$select_changed.code
        mv $select_changed.code $select_changed
        git ls-files --others --exclude-standard >>$select_changed
        # changes with each commit and each day
        count=$(git rev-list --count HEAD)
        select_turn=$(((count + $(date +%s) / 86400) % select_shares))
        select_told="what changed after ${base} and share $((select_turn + 1)) of $select_shares of the rest"
    fi
}

# select_names: from lines "name folder/|file...", prints names that have a changed file there, or
# whose turn it is by a checksum of the name.
select_names() {
    if [ -z "$select_changed" ]; then
        cut -d' ' -f1
        return
    fi
    awk -v turn="$select_turn" -v shares="$select_shares" '
        BEGIN {for (i = 32; i < 127; i++) code[sprintf("%c", i)] = i}
        FILENAME != "-" {changed[$0]; for (at = $0; sub(/\/[^\/]*$/, "", at);) changed[at "/"]; next}
        {
            sum = 0
            for (i = 1; i <= length($1); i++) sum = (sum * 31 + code[substr($1, i, 1)]) % 1000003
            take = sum % shares == turn
            for (i = 2; i <= NF; i++) take = take || ($i in changed)
            if (take) print $1
        }' $select_changed -
}

# tests_labelled PRESET REGEX: prints lines "name folder module..." of the tests with such a label.
# The modules are the last that the test names: in the order of the layers, these are what it tests.
tests_labelled() {
    awk -v labels="^($2)\$" -v folders="$(cd src && echo */*/)" '
    BEGIN {n = split(folders, f, " "); for (i = 1; i <= n; i++) {split(f[i], part, "/"); of[part[2]] = "src/" f[i]}}
    {
        n = split($3, has, ",")
        for (i = 1; i <= n; i++) if (has[i] ~ labels) break
        if (i > n) next
        m = split($4, uses, ",")
        own = $2; sub(/^tests\/(unit|integration)\//, "src/", own)
        print $1, $2 "/", (own != $2 ? own "/" : ""), of[uses[m - 1]]
    }' "build/$1/tests.list"
}

# run_selected PRESET LABELS: builds and runs the selected tests with one of the labels.
run_selected() {
    local preset=$1 labels=$2 names all
    configure "$preset"
    select_begin
    all=$(tests_labelled "$preset" "$labels" | wc -l)
    mapfile -t names < <(tests_labelled "$preset" "$labels" | select_names)
    say "    $select_told: ${#names[@]} of $all test programs"
    [ ${#names[@]} = "$all" ] || say "    ${names[*]}" | fold -s -w 110 | sed '2,$s/^/    /'
    [ ${#names[@]} -gt 0 ] || return 0
    compile "$preset" "${names[@]/#/test_}"
    run_ctest "$preset" -R "^($(IFS='|'; echo "${names[*]}"))\$"
}
