#!/bin/sh
# vectorcheck.sh OBJDUMP FILE
# Disassembles FILE, all handler code linked together. Fails if an instruction names or saves a
# vector or floating-point register: they hold arguments of a hooked call, and the stub does not
# save them. -mgeneral-regs-only is no proof: a later option can undo it, and it does not apply to
# assembler and library code.
set -eu
objdump=$1 file=$2
listing=$("$objdump" -d --no-show-raw-insn "$file")
functions=$(printf '%s\n' "$listing" | grep -c '>:$' || true)
if [ "$functions" -lt 100 ]; then
    echo "$file: $functions functions: not the code that was meant" >&2
    exit 1
fi
case $(printf '%s\n' "$listing" | sed -n 's/.*file format elf64-//p') in
*aarch64)
    # an operand v0..v31, z0.., p0.., or a scalar b/h/s/d/q register
    registers='(^|[[:space:],{[])([vzqdshb]([0-9]|[12][0-9]|3[01])|p([0-9]|1[0-5]))([].,}/[:space:]]|$)' ;;
*)
    registers='%([xyz]mm|mm[0-7]|st|k[0-7]|bnd)|[[:space:]](f?n?xsave|fxsave|fxrstor|xrstor|f[a-z]*ld|fst|fnst|emms)' ;;
esac
found=$(printf '%s\n' "$listing" | awk -v registers="$registers" '
    />:$/ { name = $2; next }
    { sub(/[#<].*/, ""); sub(/\/\/.*/, "") }
    /^ *[0-9a-f]+:\t/ {
        line = $0; sub(/^[^\t]*\t/, "", line)
        # check the operands, and the mnemonic with a blank before it
        mnemonic = line; sub(/[[:space:]].*/, "", mnemonic)
        operands = substr(line, length(mnemonic) + 1)
        if (operands ~ registers || (" " mnemonic) ~ registers) print name, line
    }')
if [ -n "$found" ]; then
    printf 'handler code uses vector registers:\n%s\n' "$found" | head -20 >&2
    printf 'Arguments of hooked calls lie there; see CONTRIBUTING.md, "Code that runs in a handler".\n' >&2
    exit 1
fi
