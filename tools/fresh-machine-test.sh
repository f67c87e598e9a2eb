#!/usr/bin/env bash
# fresh-machine-test.sh [COMMAND...]: a minimal Debian 12 (debootstrap, plus git) in a folder, a
# clean clone of this checkout in it, and there: ./dev demo, or the command given. Needs root; some
# minutes; part of the long tests. The root file system is made once and cached; each run works on a
# copy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
here=$PWD
cache=${SONDE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sonde}
base=$cache/bookworm-root
[ $# -gt 0 ] || set -- ./dev demo
[ "$(id -u)" = 0 ] || { echo "fresh-machine-test: needs root" >&2; exit 77; }
command -v debootstrap >/dev/null || apt-get install -y --no-install-recommends debootstrap >/dev/null

mirror=$(sed -nE 's/^(URIs:|deb( \[[^]]*\])?) *(https?:[^ ]+).*/\3/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1 || true)
if [ ! -f "$base.done" ]; then
    mkdir -p "$cache"
    rm -rf "$base"
    debootstrap --variant=minbase --include=git,ca-certificates bookworm "$base" "$mirror" >"$cache/debootstrap.log" 2>&1 ||
        { tail -20 "$cache/debootstrap.log" >&2; exit 1; }
    touch "$base.done"
fi
root=$(mktemp -d)
clean() {
    local m
    for m in dev/pts dev/shm dev proc sys; do mountpoint -q "$root/$m" && umount -l "$root/$m"; done
    rm -rf --one-file-system "$root"
}
trap clean EXIT
cp -a "$base/." "$root"
# the machine's own package sources, name resolution and certificates
rm -f "$root/etc/apt/sources.list"
cp -a /etc/apt/sources.list* "$root/etc/apt/" 2>/dev/null || true
cp -a /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
cp -a /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
[ ! -d /usr/local/share/ca-certificates ] || cp -a /usr/local/share/ca-certificates "$root/usr/local/share/"
[ ! -f /etc/ssl/certs/ca-certificates.crt ] || cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
mount --make-rslave "$root/sys"
git clone -q "$here" "$root/sonde"
chroot "$root" /usr/bin/env -i HOME=/ PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 \
    bash -c 'cd /sonde && exec "$@"' bash "$@"
