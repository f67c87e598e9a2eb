#!/bin/sh
# ascheck.sh NM MODULE OBJECT...
# Checks the undefined symbols of an async-safe module against tools/async-safe.allow (for a Mach-O
# file also tools/async-safe-macho.allow). Symbols that an object of the same call defines, and
# sonde__MODULE_* of async-safe modules, are allowed; all others must be in the list.
set -eu
nm=$1 module=$2
shift 2
here=$(dirname "$0")
# names() SELECTION: drops the underscore that Mach-O puts before each name (none of ours begins
# with one)
names() { awk "$1 {print \$NF}" | sed "s/^$prefix//" | sort -u; }
prefix='' lists=$here/async-safe.allow
case $(od -An -tx4 -N4 "$1") in
    *feedfacf*) prefix=_ lists=$lists:$here/async-safe-macho.allow ;;
esac
defined=$("$nm" --defined-only "$@" | names 'NF == 3')
undefined=$("$nm" -u "$@" | names 'NF && !/:$/')
bad=$(printf '%s\n' "$undefined" | awk -v defs="$defined" -v lists="$lists" '
    BEGIN {
        n = split(defs, d, "\n"); for (i = 1; i <= n; i++) ok[d[i]] = 1
        n = split(lists, list, ":")
        for (i = 1; i <= n; i++)
            while ((getline line < list[i]) > 0) { sub(/[ \t]*#.*/, "", line); if (line != "") ok[line] = 1 }
    }
    $0 == "" || ok[$0] { next }
    /^sonde__(base|arch|image|cfi|elf|unwind|os|capture|depot|python|v8|record|probe)_/ { next }
    { print }')
if [ -n "$bad" ]; then
    printf 'module %s is not async-signal-safe: %s\n' "$module" "$(printf '%s ' $bad)" >&2
    printf 'An async-safe folder calls no libc; see CONTRIBUTING.md, "Code that runs in a handler".\n' >&2
    exit 1
fi
