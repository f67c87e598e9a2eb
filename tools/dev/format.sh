# ./dev format [--check]: runs clang-format 14 on every C file that git tracks or would track.
dev_format() {
    local files
    need clang-format
    mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.c' '*.h')
    if [ "${1:-}" = --check ]; then
        clang-format --dry-run -Werror "${files[@]}"
    else
        clang-format -i "${files[@]}"
    fi
}
