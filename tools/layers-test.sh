#!/usr/bin/env bash
# Proves that the build enforces the layers: a wrong include does not compile, and a call of
# malloc in an async-safe module fails the build. Works on a copy of the sources.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy" 2>/dev/null || true
cd "$copy"
cmake --preset dev >log 2>&1 || { cat log; exit 1; }

must_fail() { # what, target, text that the failure must contain
    if cmake --build build/dev --target "$2" >log 2>&1; then
        echo "$1: the build did not fail"; exit 1
    fi
    grep -q "$3" log || { echo "$1: failed without saying '$3'"; tail -20 log; exit 1; }
    echo "  $1: refused"
}

cmake --build build/dev --target ascheck_base ascheck_unwind >log 2>&1 || { tail -20 log; exit 1; }
cp src/common/base/base_text.c saved
printf '#include "image_elf.h"\n' >>src/common/base/base_text.c
must_fail 'base includes image' sonde_base 'image_elf.h: No such file'
cp saved src/common/base/base_text.c
printf '#include <stdlib.h>\nvoid *sonde__base_text_bad(void);\nvoid *sonde__base_text_bad(void) { return malloc(1); }\n' >>src/common/base/base_text.c
must_fail 'malloc in an async-safe module' ascheck_base 'not async-signal-safe: malloc'
cp saved src/common/base/base_text.c
sed -i -e '/^sonde_module(common\/mem /d' -e 's,^sonde_module(machine/os .*,sonde_module(machine/os ASYNC_SAFE USES base arch mem),' \
    -e 's,^sonde_module(machine/arch ,sonde_module(common/mem USES base)\n&,' src/CMakeLists.txt
if cmake --preset dev >log 2>&1; then echo 'async-safe uses unsafe: configured'; exit 1; fi
grep -q "async-safe module 'os' uses 'mem'" log || { tail -5 log; exit 1; }
echo '  async-safe module that uses an unsafe one: refused'
for i in $(seq 200); do echo "int f$i(int x); int f$i(int x) { return x + $i; }"; done >plain.c
(cat plain.c; echo 'double half(double x); double half(double x) { return x / 2; }') >vector.c
for kind in plain vector; do cc -O2 -shared -fPIC -nostdlib -o $kind.so $kind.c; done
tools/vectorcheck.sh objdump plain.so || { echo 'code without vector registers: refused'; exit 1; }
if tools/vectorcheck.sh objdump vector.so >log 2>&1; then echo 'vector registers: not seen'; exit 1; fi
grep -q '<half>: divsd\|<half>: mulsd\|<half>: fmul' log || { cat log; exit 1; }
echo '  vector registers in handler code: refused'
