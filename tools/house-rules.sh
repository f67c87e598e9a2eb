#!/usr/bin/env bash
# House rules that a machine can check. Prints violations, and exits with 1 if there are any.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0"
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bad=0
complain() { printf '%s\n' "$1" | sed "s|^|$2: |"; bad=1; }

mapfile -t code < <(git ls-files '*.c' '*.h' '*.S')
mapfile -t all < <(git ls-files | grep -vE '^(LICENSE|tools/house-rules\.sh)$|^src/reports/scrub/|^tests/unit/reports/scrub/|^fuzz/regress/|^tests/golden/')

found=$(awk 'FNR == 1 && !/SPDX-License-Identifier: Apache-2.0/ {print FILENAME}' "${code[@]}")
[ -z "$found" ] || complain "$found" 'no SPDX line first'
found=$(grep -nE 'TODO|FIXME|XXX\b|HACK' "${all[@]}" | grep -v 'mkd\?s\?temp\|XXXXXX' || true)
[ -z "$found" ] || complain "$found" 'unfinished'
found=$(grep -nE '/(work|root|home/[a-z]+)/' "${all[@]}" || true)
[ -z "$found" ] || complain "$found" 'machine path'
found=$(wc -l "${code[@]}" | awk '$2 != "total" && $1 > 600 {print $2 " has " $1 " lines"}')
[ -z "$found" ] || complain "$found" 'more than one idea in a file?'
# as clang-format lays them out, a function begins and ends in the first column
mapfile -t programs < <(git ls-files 'src/*.c' 'cli/*.c' 'preload/*.c' 'recorder/*.c' 'execinfo/*.c' 'upload/*.c' 'collector/*.c')
found=$(awk 'FNR == 1 {start = 0} /^[a-z_].*\($/ || /^[a-z_].*\) *\{$/ {start = FNR} /^\{$/ && !start {start = FNR}
             /^\}$/ {if (start && FNR - start > 59) print FILENAME ":" start ": " FNR - start + 1 " lines"; start = 0}' "${programs[@]}")
[ -z "$found" ] || complain "$found" 'more than one idea in a function?'
# fields of a public comment begin a line, or follow a gap of six
found=$(grep -nE '[^ *] {1,5}(Returns|Context|Blocks|Ownership|Example) {2,}|[^ ] (Context|Blocks|Ownership) (any|no|handler|nothing)\b' include/sonde/*.h || true)
[ -z "$found" ] || complain "$found" 'a field of a public comment is glued to the text before it'
# a macro that hides a function says why
found=$(awk '/^# *define sonde_[a-z_]+\(/ && !why {print FILENAME ":" FNR ": " $0}
             /^\/\* Macros, because/ {why = 1} /^# *endif/ {why = 0}' include/sonde/*.h)
[ -z "$found" ] || complain "$found" 'a macro hides a function, and no comment says why'
# a public struct begins with its size, unless it never grows: it is fixed, or only passed to a
# callback
found=$(awk '/^struct sonde_[a-z_]+ \{/ {name = $2; getline
                 if ($0 !~ /size_t struct_bytes;/ && name !~ /^sonde_(stack|registers|error|index_frame|demangler|image|stall|audit_entry|audit_blind_spot|block_growth|watch_tag)$/)
                     print FILENAME ": " name}' include/sonde/*.h)
[ -z "$found" ] || complain "$found" 'a struct that may grow without struct_bytes first'
# only the ports name an architecture or an operating system
found=$(grep -nE '^# *(if|ifdef|elif).*(__x86_64__|__aarch64__|__linux__|__APPLE__)' "${code[@]}" |
    grep -vE '^(src/(machine|calls/probe)/|preload/|tests/|fuzz/|bench/|examples/)' || true)
[ -z "$found" ] || complain "$found" 'platform named outside the ports'
# only the ports name its headers and files under /proc (preload, recorder and execinfo are for
# Linux only)
mapfile -t portable < <(git ls-files 'src/*.[chS]' 'cli/*.[ch]' 'include/*.h' | grep -vE '/(linux|darwin)/')
found=$(grep -nE '^# *include <((elf|link|libproc|malloc|execinfo)\.h|(linux|asm|gnu|mach|mach-o|dispatch|objc|os)/|sys/(auxv|epoll|eventfd|inotify|personality|prctl|procfs|ptrace|random|sendfile|signalfd|syscall|sysctl|sysinfo|timerfd|uio|user|vfs)\.h)' "${portable[@]}" || true)
[ -z "$found" ] || complain "$found" 'header of one operating system outside its port'
found=$(grep -nE '"/proc(/|")' "${portable[@]}" || true)
[ -z "$found" ] || complain "$found" 'path of one operating system outside its port'
# the layers of the build are those of ARCHITECTURE.md
layers_built() {
    sed -nE 's,^sonde_module\(([a-z0-9/]+) +(ASYNC_SAFE )?USES ?(.*)\)$,\1 \2: \3,p' src/CMakeLists.txt | sed 's/ASYNC_SAFE /[A]/'
    sed -nE 's/^ +USES (.*)\)$/cli : \1/p' cli/CMakeLists.txt
}
layers_told() {
    sed -nE 's,^\| ([a-z0-9/]+) ?(\[A\])? \| .* \| ([a-z0-9\, –]+) \|$,\1 \2: \3,p' ARCHITECTURE.md | tr -d ',–' |
        grep -vE '^(preload|recorder|execinfo|upload|collector|folder) '
}
found=$(diff <(layers_built | sort) <(layers_told | sed 's/: $/: /' | sort) || true)
[ -z "$found" ] || complain "$found" 'layers: < built, > in ARCHITECTURE.md'
exit $bad
