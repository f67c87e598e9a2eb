#!/usr/bin/env bash
# Writes src/machine/arch/arch_syscall_names.h: the names of the system calls of both architectures,
# from the kernel headers that the two compilers see. Numbers from 451 on are the same on every
# architecture (Documentation/process/adding-syscalls.rst); numbers that the installed headers lack
# are listed below. usage: tools/gen-syscalls.sh >src/machine/arch/arch_syscall_names.h
set -euo pipefail

newer='451 cachestat 452 fchmodat2 453 map_shadow_stack 454 futex_wake 455 futex_wait
456 futex_requeue 457 statmount 458 listmount 459 lsm_get_self_attr 460 lsm_set_self_attr
461 lsm_list_modules 462 mseal 463 setxattrat 464 getxattrat 465 listxattrat 466 removexattrat
467 open_tree_attr'

table() { # compiler
    local name names
    mapfile -t names < <(printf '#include <asm/unistd.h>\n' | "$1" -E -dM - |
        sed -nE 's/^#define __NR_([a-z0-9_]+) .*/\1/p' | grep -vE '^(syscalls|arch_specific_syscall)$')
    {
        printf '#include <asm/unistd.h>\n'
        for name in "${names[@]}"; do printf 'number __NR_%s %s\n' "$name" "$name"; done
    } | "$1" -E -P - | sed -nE 's/^number ([0-9]+) ([a-z0-9_]+)$/\1 \2/p'
    printf '%s\n' $newer | paste - - -d' '
}

emit() { # macro, compiler
    printf '\n#define %s(X)' "$1"
    table "$2" | sort -n -k1,1 -u | while read -r number name; do
        printf ' X(%s,"%s")' "$number" "$name"
    done | fold -s -w 92 | sed 's/ *$//' | sed 's/^ */    /; 1s/^/ \\\n/; $!s/$/ \\/'
    printf '\n'
}

cat <<'HEAD'
// SPDX-License-Identifier: Apache-2.0
/* System call numbers and names; written by tools/gen-syscalls.sh. Included by arch_syscall.c. */
// clang-format off
HEAD
emit SONDE__SYSCALLS_X86_64 gcc
emit SONDE__SYSCALLS_AARCH64 aarch64-linux-gnu-gcc
