// SPDX-License-Identifier: Apache-2.0
/* How often each function of raw_forms.c makes its system call (getppid). */
#ifndef SONDE_TEST_RAW_FORMS_H
#define SONDE_TEST_RAW_FORMS_H

enum {
    RAW_CONSTANT = 3,    /* the number is loaded before */
    RAW_VARIABLE = 4,    /* it comes from elsewhere */
    RAW_JUMPED = 5,      /* a branch leads to the call itself */
    RAW_AGAIN = 6,       /* a loop whose body is the call */
    RAW_KEPT = 7,        /* checks all that a call preserves: registers, flags, the red zone */
    RAW_RELATIVE = 8,    /* a neighbouring operand is relative to the instruction */
    RAW_TABLE = 9,       /* in a function with a jump through a table */
    RAW_HANDLER = 10,    /* in a handler */
    RAW_THREAD = 1000,   /* in each of 2 threads */
    RAW_LOADED = 11,     /* in a library that is loaded later */
    RAW_STRANGER = 5000, /* in a thread without variables of its own */
    RAW_NAMED = 12,      /* by the C library's function */
    RAW_NO_ROOM = 2,     /* branches lead to both sides of it */
    RAW_PADS = 2,        /* as a variable one, where landing pads may be anywhere: refused */
    RAW_FORKED = 3,      /* in a child: not recorded */
    RAW_TWICE = 4,       /* calls that return twice, or on another stack, or never */
};

#endif
