// SPDX-License-Identifier: Apache-2.0
/* What is the same in every build about the recorded calls of one stack: the rule, the function,
 * the program if it is not the first of the run, and its own functions that led to it. A pure
 * function of the model. docs/guide/report.md has the rule, which collectors follow too; a changed
 * rule gets a new version.
 *
 * Frames of libraries are left out, because libraries are updated without the program. Inlined
 * calls and inferred tail calls count like others, so that the choices of an optimizer make no
 * difference as far as the report knows them. Each function counts once, so that recursion of any
 * depth gives the same key. Context: any thread. */
#ifndef SONDE_REPORT_CALL_KEY_H
#define SONDE_REPORT_CALL_KEY_H

#include "report_canonical.h"
#include "report_own.h"

#define SONDE__REPORT_CALL_KEY_VERSION 1u
/* "1:" and 32 hexadecimal digits. */
#define SONDE__REPORT_CALL_KEY_TEXT 40u
/* Distinct functions of one stack that are kept. */
#define SONDE__REPORT_CALL_FUNCTIONS_MAX 256u

struct sonde__report_call_function {
    struct sonde__report_element element;
    /* Further inward, calls can be missing that left no trace: inlined into code without debug
     * information, left by a tail call that has several explanations, or cut. */
    bool may_hide;
};

struct sonde__report_call_key {
    struct sonde__report_hash hash;
    struct sonde__report_call_function functions[SONDE__REPORT_CALL_FUNCTIONS_MAX]; /* outermost
                                                                                     * first */
    uint32_t count;
    bool has_more;     /* than `functions` holds; all are in the hash */
    bool has_no_stack; /* it was not kept */
    bool is_cut;       /* the stack's outermost frames are missing */
    bool has_unnamed;  /* a function is known by its place, which moves between builds */
};

/* Does this step of a stack count: is it a function of the program, or a tail call of one that has
 * only one explanation? */
bool sonde__report_call_is_own(const struct sonde__report *report,
                               const struct sonde__report_path *path,
                               const struct sonde__report_step *step);

/* path: memory for the frames. */
void sonde__report_call_key(const struct sonde__report *report,
                            const struct sonde__report_call *call, struct sonde__report_path *path,
                            struct sonde__report_call_key *ret_key);

/* Is the key the same in every build of the same sources? */
bool sonde__report_call_key_is_stable(const struct sonde__report_call_key *key);

/* "1:0123…" */
void sonde__report_call_key_text(const struct sonde__report_hash *hash,
                                 char ret_text[SONDE__REPORT_CALL_KEY_TEXT]);

#endif
