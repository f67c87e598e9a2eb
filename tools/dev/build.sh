# ./dev build [PRESET]
dev_build() {
    . tools/dev/setup.sh
    dev_setup build
    compile "${1:-dev}"
    say "built: build/${1:-dev}"
}
