// SPDX-License-Identifier: Apache-2.0
/* Recordings made of calls, each with the names of its functions. */
#ifndef TEST_MADE_H
#define TEST_MADE_H

#include "report_model.h"

/* A recording of a program whose image is `app`. */
struct made {
    struct sonde__report *report;
    uint32_t app, library;
    bool has_debug_info; /* of frames that are added from now on */
};

struct made made_recording(void);
struct made made_recording_of(const char *program); /* its path */

/* Functions from outermost to innermost, with spaces between. Before a name, "~" is a call inlined
 * into the function before it, ">" a tail call by it, "?" one with several explanations, and "@" a
 * library's function. */
uint32_t made_stack(const struct made *made, const char *functions);
/* count 0: the function is listed, and was not called. rule: id, or 0. */
void made_call(const struct made *made, const char *function, uint32_t rule, const char *functions,
               uint64_t count);
uint32_t made_rule(const struct made *made, const char *name, uint32_t severity);

#endif
