# Shared by the commands of ./dev. Sourced, with the checkout as working folder.

cache=${SONDE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sonde}
# headers of libSystem (tools/npm-packages.list), for the presets darwin-*
export SONDE_DARWIN_HEADERS=$cache/npm/@ryoppippi+zig-linux-x64@0.14.0-dev.2456/lib/libc/include/any-macos-any

say() { printf '%s\n' "$*"; }
die() { printf 'dev: %s\n' "$*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else die "this needs root, and there is no sudo: $*"
    fi
}

# need PACKAGE...: Debian packages, installed when missing. Quiet when all are there.
need() {
    local missing=() p
    # one query for all; a name that dpkg does not know counts as missing
    mapfile -t missing < <(printf '%s\n' "$@" | grep -vxFf <(
        dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | sed -n 's/ installed$//p'))
    [ ${#missing[@]} = 0 ] && return 0
    say "installing from Debian's packages: ${missing[*]}"
    local log; log=$(mktemp)
    if ! { as_root apt-get update && as_root env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -20 "$log" >&2
        die "apt-get could not install: ${missing[*]}"
    fi
    rm -f "$log"
}

# want PACKAGE...: the same for large programs, which not every release has; without them only some
# tests skip.
want() {
    local p
    for p in "$@"; do
        (need "$p") || say "no $p: its tests skip"
    done
}

# unpack PACKAGE...: unpacks Debian packages in $cache/deb/PACKAGE as test input. They are not
# installed: some would replace packages of the machine, others would start a server.
unpack() {
    local p folder
    for p in "$@"; do
        [ -e "$cache/deb/$p/.done" ] && continue
        say "fetching from Debian, as test input: $p"
        mkdir -p "$cache/deb"
        folder=$(mktemp -d "$cache/deb/.$p.XXXXXX")
        if ! (cd "$folder" && { apt-get download "$p" || { as_root apt-get update && apt-get download "$p"; } } &&
                dpkg-deb -x ./*.deb . && rm -f ./*.deb && touch .done) >"$folder.log" 2>&1; then
            tail -20 "$folder.log" >&2
            rm -rf "$folder" "$folder.log"
            die "could not fetch $p"
        fi
        chmod 755 "$folder"
        rm -rf "${cache:?}/deb/$p" "$folder.log"
        mv "$folder" "$cache/deb/$p"
    done
}

# unpack_program SUITE NAME BINARY PACKAGE...: unpacks a program of a release of Debian, with the
# libraries that it needs, in $cache/deb/NAME; `run` there starts it. The release's lists are its own:
# nothing of the machine's apt changes. Where it cannot be had, its tests skip.
unpack_program() ( # a shell of its own, whose end removes what is half done
    local suite=$1 name=$2 binary=$3 to=$cache/deb/$2 apt folder options deb
    shift 3
    [ -e "$to/.done" ] && return 0
    say "fetching from Debian $suite, as test input: $name"
    mkdir -p "$cache/deb"
    folder=$(mktemp -d "$cache/deb/.program.XXXXXX")
    trap 'rm -rf "$folder" "$folder.log"' EXIT
    trap 'exit 130' INT TERM
    apt=$folder/apt
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$folder/debs"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$apt/sources.list"
    options=(-o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$apt/lists"
        -o "Dir::Cache=$apt/cache" -o Dir::State::status=/dev/null)
    if ! (cd "$folder/debs" && timeout 300 apt-get "${options[@]}" update &&
            timeout 300 apt-get "${options[@]}" download "$@" &&
            for deb in *.deb; do dpkg-deb -x "$deb" ..; done) >"$folder.log" 2>&1; then
        tail -3 "$folder.log" >&2
        say "no $name in Debian $suite: its tests skip"
        return 0
    fi
    rm -rf "$apt" "$folder/debs" "$folder.log"
    # Debian's Node.js has some of its scripts in /usr/share; releases up to 12 have the C library in /lib
    cat >"$folder/run" <<EOF
#!/bin/sh
to=$to
if [ -d \$to/usr/share/nodejs ] && [ "\$1" != --in-namespace ]; then
    exec unshare --mount \$0 --in-namespace "\$@"
elif [ -d \$to/usr/share/nodejs ]; then
    mount --bind \$to/usr/share /usr/share && shift
else
    export PYTHONHOME=\$to/usr
fi
for loader in \$to/usr/lib64/ld-linux-x86-64.so.2 \$to/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2; do
    [ -x \$loader ] && exec \$loader --library-path \$to/usr/lib/x86_64-linux-gnu:\$to/lib/x86_64-linux-gnu \$to/$binary "\$@"
done
exit 127
EOF
    chmod 755 "$folder" "$folder/run"
    touch "$folder/.done"
    rm -rf "${to:?}"
    mv "$folder" "$to"
)

# from_npm GROUP: unpacks files of npm packages in $cache/npm/PACKAGE (a slash in the name becomes a
# +) as test input. They are not installed, and none of their scripts is run. Versions and checksums
# are pinned in tools/npm-packages.list. Without npm or a registry the tests that need them skip.
from_npm() {
    local group package sum paths folder kept log
    while read -r group package sum paths; do
        kept=$cache/npm/${package//\//+}
        [ "$group" = "$1" ] && [ ! -e "$kept/.done" ] || continue
        if ! command -v npm >/dev/null; then
            say "no npm: tests of $package and what follows it skip"
            return 0
        fi
        say "fetching from the npm registry, as test input: $package"
        mkdir -p "$cache/npm"
        folder=$(mktemp -d "$cache/npm/.fetch.XXXXXX")
        log=$folder.log
        if ! (cd "$folder" && timeout 300 npm pack --ignore-scripts --fetch-retries=1 --fetch-timeout=60000 "$package") \
            >"$log" 2>&1 </dev/null; then
            say "could not fetch $package: tests of it and of what follows it skip"
            tail -3 "$log"
            rm -rf "$folder" "$log"
            return 0
        fi
        [ "sha512-$(openssl dgst -sha512 -binary "$folder"/*.tgz | base64 -w0)" = "$sum" ] || die "$package is not what it was"
        # shellcheck disable=SC2086 # several paths
        tar -C "$folder" --strip-components=1 --no-same-owner -xzf "$folder"/*.tgz $(printf 'package/%s ' $paths)
        rm -f "$folder"/*.tgz "$log"
        touch "$folder/.done"
        chmod 755 "$folder"
        rm -rf "$kept"
        mv "$folder" "$kept"
    done < <(grep -v '^#' tools/npm-packages.list)
}

# locked_npm NAME FOLDER: installs the npm packages that FOLDER/package-lock.json pins, with their checksums, in
# $cache/npm/NAME as test input. None of their scripts is run. Without npm or a registry the tests that need them skip.
locked_npm() {
    local kept=$cache/npm/$1 sum folder
    sum=$(sha256sum <"$2/package-lock.json")
    [ "$(cat "$kept/.done" 2>/dev/null)" != "$sum" ] || return 0
    if ! command -v npm >/dev/null; then
        say "no npm: tests of $1 skip"
        return 0
    fi
    say "fetching from the npm registry, as test input: $1"
    mkdir -p "$cache/npm"
    folder=$(mktemp -d "$cache/npm/.fetch.XXXXXX")
    cp "$2/package.json" "$2/package-lock.json" "$folder"
    if ! (cd "$folder" && timeout 300 npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=60000) \
        >"$folder.log" 2>&1 </dev/null; then
        say "could not fetch $1: its tests skip"
        tail -3 "$folder.log"
        rm -rf "$folder" "$folder.log"
        return 0
    fi
    rm -f "$folder.log"
    chmod 755 "$folder"
    printf '%s\n' "$sum" >"$folder/.done"
    rm -rf "$kept"
    mv "$folder" "$kept"
}

# corpora: fetches the largest debug information of Debian, with inflated sections, and the stripped
# files: a gigabyte, only for benchmarks and --long. corpus NAME (libjvm.so, ceph-osd): prints the
# path of the inflated file; shipped NAME: that of the file as shipped.
corpora() {
    local image file
    unpack openjdk-17-jre-headless openjdk-17-dbg ceph-osd ceph-osd-dbg
    mkdir -p "$cache/inflated"
    for image in "$cache"/deb/openjdk-17-jre-headless/usr/lib/jvm/*/lib/server/libjvm.so \
        "$cache"/deb/ceph-osd/usr/bin/ceph-osd; do
        file=$(corpus "${image##*/}")
        [ ! -e "$file" ] || continue
        objcopy --decompress-debug-sections "$(shipped "${image##*/}")" "$file.part"
        mv "$file.part" "$file"
    done
}
shipped() {
    local id
    id=$(readelf -n "$(find "$cache"/deb/openjdk-17-jre-headless "$cache"/deb/ceph-osd -name "$1" -type f)" 2>/dev/null |
        sed -n 's/.*Build ID: //p')
    find "$cache"/deb/openjdk-17-dbg "$cache"/deb/ceph-osd-dbg -path "*/${id:0:2}/${id:2}.debug"
}
corpus() { printf '%s\n' "$cache/inflated/$1.debug"; }

# configure PRESET: configure the build, or update it to the CMakeLists.txt; quiet unless it fails.
configure() {
    local preset=$1 log=build/$1.log
    mkdir -p build
    if [ ! -f "build/$preset/build.ninja" ]; then
        cmake --preset "$preset" >"$log" 2>&1 || { cat "$log" >&2; die "configuring $preset failed"; }
    fi
    ninja -C "build/$preset" build.ninja >"$log" 2>&1 || { tail -40 "$log" >&2; die "configuring $preset failed"; }
}

# compile PRESET [TARGET...]: configure and build; quiet unless it fails.
compile() {
    local preset=$1 log=build/$1.log
    shift
    configure "$preset"
    cmake --build "build/$preset" ${1:+--target "$@"} >"$log" 2>&1 || { grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking)' "$log" | tail -60 >&2; die "building $preset failed"; }
}
