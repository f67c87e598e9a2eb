#!/bin/sh
# ascheck.sh NM MODULE OBJECT...
# Holds the undefined symbols of an async-safe module against tools/async-safe.allow.
# What an object of the same call defines, and what is named sonde__MODULE_ for an async-safe
# module, is allowed; everything else must stand on the list.
set -eu
nm=$1 module=$2
shift 2
here=$(dirname "$0")
defined=$("$nm" --defined-only "$@" | awk 'NF == 3 {print $3}' | sort -u)
undefined=$("$nm" -u "$@" | awk '$1 == "U" || $1 == "w" {print $2}' | sort -u)
bad=$(printf '%s\n' "$undefined" | awk -v defs="$defined" -v list="$here/async-safe.allow" '
    BEGIN {
        n = split(defs, d, "\n"); for (i = 1; i <= n; i++) ok[d[i]] = 1
        while ((getline line < list) > 0) { sub(/[ \t]*#.*/, "", line); if (line != "") ok[line] = 1 }
    }
    $0 == "" || ok[$0] { next }
    /^sonde__(base|arch|image|cfi|elf|unwind|os|capture|depot|record|probe)_/ { next }
    { print }')
if [ -n "$bad" ]; then
    printf 'module %s is not async-signal-safe: %s\n' "$module" "$(printf '%s ' $bad)" >&2
    printf 'An async-safe folder calls no libc; see CONTRIBUTING.md, "Code that runs in a handler".\n' >&2
    exit 1
fi
