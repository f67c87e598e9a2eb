#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# postgres.sh FOLDER: runs a PostgreSQL server until it is ended, with its data and its socket in
# FOLDER, which must be another user's to read if root runs this (the server refuses root). Status
# 77: there is none; the reason is printed.
set -eu
folder=$1
packages=${SONDE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sonde}/deb
server=$packages/postgresql-15/usr/lib/postgresql/15
[ -x "$server/bin/postgres" ] || { echo "postgresql-15 is not fetched (./dev setup test)"; exit 77; }
if [ "$(id -u)" != 0 ]; then
    as() { exec "$@"; }
    root=$packages/postgresql-15/usr
    libraries=$(echo "$packages"/libpq5/usr/lib/*-linux-gnu)
else # all of it runs from a copy: the cache is another user's
    command -v setpriv >/dev/null || { echo "no setpriv: the server refuses root"; exit 77; }
    as() { exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
    root=$folder/usr
    libraries=$folder/libraries
    if [ ! -d "$root" ]; then
        chmod 755 "$folder"
        mkdir -p "$root/lib/postgresql" "$root/share/postgresql" "$libraries"
        copy() { cp -rl "$1" "$2" 2>/dev/null || cp -r "$1" "$2"; }
        copy "$server" "$root/lib/postgresql/"
        copy "$packages/postgresql-15/usr/share/postgresql/15" "$root/share/postgresql/"
        cp -P "$packages"/libpq5/usr/lib/*-linux-gnu/* "$libraries/"
        chown 65534:65534 "$folder"
    fi
fi
export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
bin=$root/lib/postgresql/15/bin
if [ ! -d "$folder/cluster" ]; then
    "$bin/postgres" --version >"$folder/version" 2>&1 ||
        { head -1 "$folder/version"; exit 77; } # a library is missing
    (cd "$folder" && as "$bin/initdb" -D "$folder/cluster" -U postgres -A trust -N --no-locale -E UTF8 >"$folder/initdb" 2>&1) ||
        { cat "$folder/initdb"; exit 1; }
fi
cd "$folder"
# fsync=off: what it loses when the machine fails is not tested here
as "$bin/postgres" -D "$folder/cluster" -k "$folder" -c listen_addresses= -c fsync=off \
    -c shared_buffers=16MB -c max_connections=60 -c max_parallel_workers=0
