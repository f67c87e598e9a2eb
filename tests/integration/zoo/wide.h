// SPDX-License-Identifier: Apache-2.0
/* Programs of many kinds, none made for this test, with stalls by an intruder (intruder.c): its own
 * stamps against the report. */
#ifndef SONDE_TEST_ZOO_WIDE_H
#define SONDE_TEST_ZOO_WIDE_H

#include "json.h"
#include "programs.h"

enum { WIDE_WORDS = 14, WIDE_STALLS = 128 };

/* In argv and config %F is the program's own folder, %P a free port, %S the folder of the zoo. */
struct wide_program {
    const char *name;
    const char *kind;  /* kind of its waits, for people */
    const char *needs; /* a program, or a file with a path: without it this entry is skipped */
    const char *argv[WIDE_WORDS];
    const char *config; /* text of %F/config; null: none */
    bool display;       /* needs Xvfb */
    bool unseen;        /* stalls cannot be seen: the end line must say so */
};

/* All of them, ended by one without a name. */
extern const struct wide_program wide_programs[];

struct wide_plan {
    unsigned stalls; /* 0: idle */
    unsigned min_ms, max_ms, phases;
    unsigned threshold_ms;
    unsigned seed;
};

struct wide_counts {
    unsigned programs;  /* that were stalled */
    unsigned unstalled; /* in which the intruder could make no stall, though it was asked to */
    unsigned made, found;
    unsigned wrong;   /* reports of stalls that were not injected */
    unsigned starved; /* the same, while the thread waited for a CPU: the machine's own */
    unsigned victims; /* the same, of threads that wait for a lock of the injected thread */
    unsigned off;     /* found, with another duration than the stamps */
    /* of two phases and more, of which one leads by a tenth; that is the heaviest function */
    unsigned phased, blamed;
    double worst_ms; /* error of a duration beyond what is allowed */
};

struct wide_run {
    const struct wide_program *what;
    struct program program;
    char folder[128];
    bool runs;
    bool asked; /* for stalls */
};

bool wide_is_here(const struct wide_program *what);
struct wide_run wide_start(const struct wide_program *what, const struct wide_plan *plan);
/* Wait until the intruder has finished (at most timeout_s), then end the program. */
void wide_await(struct wide_run *run, unsigned timeout_s);
/* End the program in any case. */
void wide_stop(struct wide_run *run);
/* Compare, print a line, add to `counts`. */
void wide_compare(struct wide_run *run, struct wide_counts *counts);

#endif
