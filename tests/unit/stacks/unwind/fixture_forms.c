// SPDX-License-Identifier: Apache-2.0
/* Call frame instructions that compilers use rarely or never, each in a row of its own: operands of
 * several bytes, all widths of an advance, states remembered in each other. The code is 16 MB of
 * nothing, which take no room in the file. */
#if defined(__x86_64__)
#    define TEXT(...) #    __VA_ARGS__
#    define ROW(...)  ".skip 1\n.cfi_escape " TEXT(__VA_ARGS__) "\n"
#    define FAR(size) ".skip " TEXT(size) "\n"
__asm__(".section .far, \"aw\", @nobits\n.globl all_forms\n.type all_forms, "
        "@function\nall_forms:\n.cfi_startproc\n"
        ".skip 1\n.cfi_def_cfa_offset 16\n"                     /* advance_loc */
        FAR(100) ".cfi_offset 6, -16\n"                         /* advance_loc1, offset */
        FAR(300) ".cfi_def_cfa_offset 300\n"                    /* advance_loc2, two bytes */
        FAR(0x1020304) ".cfi_def_cfa_offset 40000\n"            /* advance_loc4, three bytes */
                       ".skip 1\n.cfi_def_cfa_offset 3000000\n" /* four bytes */
        ROW(0x86, 0x80, 0x02)                                   /* offset with two bytes */
        ROW(0x86, 0x80, 0x80, 0x02)                             /* with three */
        ROW(0x86, 0x80, 0x80, 0x80, 0x01)                       /* with four: more than 16 bits */
        ROW(0x86, 0x82, 0x00)                                   /* offset 2, in two bytes */
        ROW(0x0c, 0x06, 0x20)                                   /* def_cfa */
        ROW(0x0a, 0x0d, 0x07)             /* remember_state, def_cfa_register */
        ROW(0x0a, 0x05, 0x03, 0x04)       /* again; offset_extended */
        ROW(0x0b)                         /* restore_state */
        ROW(0x0b)                         /* and the other */
        ROW(0x05, 0x83, 0x00, 0x05)       /* a register in two bytes */
        ROW(0xc6)                         /* restore */
        ROW(0x06, 0x03)                   /* restore_extended */
        ROW(0x2e, 0x80, 0x01, 0x86, 0x03) /* GNU_args_size; offset */
        ROW(0x11, 0x06, 0x03)             /* offset_extended_sf */
        ROW(0x14, 0x03, 0x02)             /* val_offset */
        ROW(0x15, 0x03, 0x7e)             /* val_offset_sf */
        ROW(0x09, 0x03, 0x0c)             /* register */
        ROW(0x08, 0x0c)                   /* same_value */
        ROW(0x07, 0x0c)                   /* undefined */
        ROW(0x12, 0x07, 0x7c)             /* def_cfa_sf */
        ROW(0x13, 0x7b)                   /* def_cfa_offset_sf */
        ROW(0x10, 0x03, 0x02, 0x77, 0x08) /* expression */
        ROW(0x16, 0x0c, 0x02, 0x77, 0x10) /* val_expression */
        ROW(0x0f, 0x03, 0x77, 0x08, 0x06) /* def_cfa_expression */
        ROW(0x0c, 0x07, 0x08)             /* def_cfa */
        ".skip 1\n.cfi_endproc\n.size all_forms, . - all_forms\n");
#endif
int forms_are_here;
