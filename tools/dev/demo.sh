# ./dev demo: a release build, then a stock Debian program under `sonde run`.
#
# The program is /usr/bin/python3 with asyncio; examples/demo/orders.py commits to SQLite inside its
# event loop. examples/demo/slowdisk.c makes the storage slow: a FUSE folder whose syncs take 150 ms
# longer. Without FUSE (containers), examples/demo/slowsync.c delays the syncs instead.

demo_folder=
demo_mounted=0

demo_server=

demo_clean() {
    [ -z "$demo_server" ] || kill "$demo_server" 2>/dev/null || true
    [ "$demo_mounted" = 0 ] || fusermount3 -u "$demo_folder/slow" 2>/dev/null || as_root umount "$demo_folder/slow" || true
    [ -z "$demo_folder" ] || rm -rf "$demo_folder"
}

# Sets storage, and slow: the command in front of sonde if storage alone is not slow.
demo_storage() {
    local mount_error
    mkdir -p "$demo_folder/disk" "$demo_folder/slow"
    storage=$demo_folder/disk
    slow=()
    if [ "${SONDE_DEMO_FUSE:-yes}" = no ]; then
        say "FUSE is not asked for (SONDE_DEMO_FUSE=no);"
    elif [ -c /dev/fuse ]; then
        need fuse3 libfuse3-dev
        cc -O2 -o "$demo_folder/slowdisk" examples/demo/slowdisk.c $(pkg-config --cflags --libs fuse3)
        if mount_error=$("$demo_folder/slowdisk" "$demo_folder/disk" 150 "$demo_folder/slow" 2>&1); then
            demo_mounted=1
            storage=$demo_folder/slow
            return
        fi
        say "FUSE does not mount here (${mount_error:-no reason given});"
    else
        say "There is no /dev/fuse here;"
    fi
    say "a seccomp filter that holds fsync and fdatasync up stands in for slow storage."
    cc -O2 -o "$demo_folder/slowsync" examples/demo/slowsync.c
    slow=("$demo_folder/slowsync" 150)
}

# A collector groups the stalls of the report, and the calls of the same program, audited. Its data
# stays in build/demo-collector.
demo_collect() {
    local collector=build/release/collector/sonde-collector data=build/demo-collector said url admin
    said=$demo_folder/collector.out
    [ -x "$collector" ] && [ -s "$demo_folder/orders.sonde" ] || return 0
    rm -rf "$data"
    "$collector" serve --data "$data" --listen 127.0.0.1:0 >"$said" 2>&1 &
    demo_server=$!
    for _ in $(seq 100); do
        grep -q 'listening on port' "$said" && break
        sleep 0.1
    done
    url=http://127.0.0.1:$(sed -n 's/.*listening on port \([0-9]*\).*/\1/p' "$said")
    admin=$(sed -n 's/^admin key *//p' "$said")
    sed -n 's/^ingest key *\([^ ]*\).*/\1/p' "$said" >"$demo_folder/key"
    chmod 600 "$demo_folder/key"
    build/release/cli/sonde run -q --audit examples/demo/orders.ini --report "$demo_folder/audit.sonde" -- \
        /usr/bin/python3 examples/demo/orders.py "$demo_folder/audit.db" >/dev/null 2>&1
    build/release/cli/sonde upload -q --to "$url" --key-file "$demo_folder/key" "$demo_folder/orders.sonde" \
        "$demo_folder/audit.sonde"
    cat <<EOF

A collector at $url has grouped the stalls of this report, and what an audit of the same
program found (sonde run --audit examples/demo/orders.ini):

EOF
    python3 examples/demo/groups.py "$url" "$admin" stall finding
    kill "$demo_server" && wait "$demo_server" || true
    demo_server=
    cat <<EOF

Its page, at http://127.0.0.1:7450/projects/default with the password $admin:
    $collector serve --data $data
EOF
}

dev_demo() {
    local storage slow rc=0
    . tools/dev/setup.sh
    dev_setup build
    need python3
    say "building a release ..."
    compile release programs
    demo_folder=$(mktemp -d)
    trap demo_clean EXIT
    demo_storage
    cat <<EOF

An asyncio program that commits to SQLite inside its event loop, on slow storage, under Debian's own
python3. Nothing of it was changed or made for this:

    \$ sonde run -- /usr/bin/python3 examples/demo/orders.py $storage/orders.db

EOF
    "${slow[@]}" build/release/cli/sonde run --report "$demo_folder/orders.sonde" -- \
        /usr/bin/python3 examples/demo/orders.py "$storage/orders.db" || rc=$?
    cp "$demo_folder/orders.sonde" build/demo.sonde 2>/dev/null || true
    demo_collect
    cat <<EOF

What to try next:
    build/release/cli/sonde show build/demo.sonde          the same report again (--json for programs)
    build/release/cli/sonde run -- YOUR PROGRAM            why does it stall?
    build/release/cli/sonde stacks PID                     where is every thread of a running process?
    build/release/cli/sonde doctor                         what works on this machine, and what does not
EOF
    return $rc
}
