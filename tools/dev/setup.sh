# ./dev setup [build|test|long|bench]...: installs the Debian packages that each group of commands
# needs.

packages_build=(gcc libc6-dev cmake ninja-build pkg-config libiberty-dev libcurl4-openssl-dev libzstd-dev zlib1g-dev
    libmicrohttpd-dev libsqlite3-dev nettle-dev libxxhash-dev libpq-dev)
unpacked_build=(libc++abi-19-dev)
packages_test=(clang g++ libclang-rt-14-dev clang-format clang-tidy gdb gdb-multiarch libc6-dbg gcc-aarch64-linux-gnu
    libc6-dev-arm64-cross libstdc++6-arm64-cross qemu-user protobuf-compiler python3 binutils musl-tools libunwind-dev
    tk python3-tk xvfb xterm libsdl2-dev emacs-nox
    libglib2.0-dev libuv1-dev libevent-dev libsystemd-dev tcl llvm-19 clang-19 lld-19 libobjc4 sqlite3 libsqlite3-dev dwz xz-utils nodejs golang-go make git curl procps groff-base openssl python3-zstandard python3-dbusmock python3-pytest python3-yaml python3-jsonschema dbus strace lsof iproute2 psmisc ltrace)
wanted_test=(chromium) # opens exports for speedscope
unpacked_test=(nginx luajit redis-server redis-tools libjemalloc2 liblua5.1-0 lua-cjson lua-bitop
    libhiredis0.14 liblzf1 postgresql-15 libpq5 libgnustep-base1.28 debuginfod libmicrohttpd12 libarchive13 libblocksruntime0
    lldb-19 liblldb-19 python3-lldb-19)
# of other releases, or that the machine may have in another version: release, name, binary, packages
python_test=(forky python3.14 usr/bin/python3.14 python3.14-minimal libpython3.14-minimal libpython3.14-stdlib libc6
    libexpat1 zlib1g libssl3t64 libuuid1 libffi8)
node_test=(bookworm node18 usr/bin/node nodejs libnode108 node-acorn
    node-cjs-module-lexer node-undici libuv1 libc-ares2 libnghttp2-14 libicu72 libssl3 libbrotli1 zlib1g
    libc6 libstdc++6 libgcc-s1)
# the zoo of --long (tests/integration/zoo/wide_programs.c): whole programs, installed because they need their libraries
packages_long=(stress-ng zenity lighttpd memcached mosquitto dnsmasq-base haproxy openssh-server dbus tmux ruby lua5.4 lua-luv
    php-cli guile-3.0 erlang-base ocaml-nox libev-perl libanyevent-perl libio-async-perl libpoe-perl default-jdk-headless
    python3-gevent python3-twisted python3-tornado python3-uvloop python3-trio python3-pygame python3-wxgtk4.0 python3-pyqt5)
packages_bench=(valgrind libunwind-dev libc6-dbg strace ltrace heaptrack clang-19 lld-19 llvm-19 qemu-user gcc-aarch64-linux-gnu
    libc6-dev-arm64-cross)
unpacked_bench=(libunwind-19 libgnustep-base1.28)

dev_setup() {
    local group
    [ $# -gt 0 ] || set -- build test bench
    for group in "$@"; do
        case $group in
            build) need "${packages_build[@]}"; unpack "${unpacked_build[@]}" ;;
            test) need "${packages_build[@]}" "${packages_test[@]}"; want "${wanted_test[@]}"; unpack "${unpacked_build[@]}" "${unpacked_test[@]}"; unpack_program "${python_test[@]}"; unpack_program "${node_test[@]}"; from_npm test; locked_npm sentry-sdk tests/integration/collector/sentry ;;
            long) (need "${packages_long[@]}") || want "${packages_long[@]}" ;;
            bench) need "${packages_build[@]}" "${packages_bench[@]}"; unpack "${unpacked_bench[@]}" ;;
            *) die "setup: unknown group '$group' (build, test, long, bench)" ;;
        esac
    done
}
