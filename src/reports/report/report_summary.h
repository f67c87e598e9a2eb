// SPDX-License-Identifier: Apache-2.0
/* A stall in one sentence: the thread, what it did and for how long, the object that it waited for,
 * and the program's function.
 *
 *   main blocked 1.20 s in fsync (fd 7 /data/app.db) under save_session (session.c:88)
 *
 * Invariant: the call and function named were current for most of the time that is given; if not
 * for nearly all of it, the sentence says for how long. Several calls are "several calls"; several
 * functions are left out. A pure function of the model. Context: any thread. */
#ifndef SONDE_REPORT_SUMMARY_H
#define SONDE_REPORT_SUMMARY_H

#include "report_analyse.h"
#include "report_out.h"

enum sonde__report_verb {
    SONDE__REPORT_AWAY, /* no state had half of the time */
    SONDE__REPORT_BLOCKED,
    SONDE__REPORT_RAN,
    SONDE__REPORT_WAITED, /* for a processor */
};

/* The innermost of the program's own functions in which most samples agree. */
struct sonde__report_where {
    uint32_t stack; /* of one such sample; 0: they do not agree, or there is none */
    uint32_t step;  /* step of the walk of that stack (report_walk.h), from 0 */
    bool has_line;  /* most samples agree in the line, too */
    bool is_all;    /* nearly all agree, not just most */
};

struct sonde__report_summary {
    enum sonde__report_verb verb;
    uint64_t whole_ns;                      /* the stall */
    uint64_t ran_ns, waited_ns, blocked_ns; /* parts of it, as far as known */
    bool disk;                              /* BLOCKED: mostly uninterruptibly */
    bool several;                           /* BLOCKED: no single call had most of that time */
    int64_t syscall;                        /* BLOCKED: number + 1; 0: not known, or several */
    uint64_t call_ns;                       /* of blocked_ns: time in that call */
    uint32_t detail;                        /* string id: the object of the call */
    const struct sonde__report_wait *wait;  /* the wait, with its owner; null: unknown */
    struct sonde__report_where where;
    uint64_t unseen_ns; /* time without samples if it is most of the stall; else 0 */
};

/* `analysis` must be of this stall. */
void sonde__report_summarize(const struct sonde__report *report,
                             const struct sonde__report_stall *stall,
                             const struct sonde__report_analysis *analysis,
                             struct sonde__report_summary *ret_summary);

/* The sentence, without an end of line. */
void sonde__report_put_summary(struct sonde__report_out *out, const struct sonde__report *report,
                               const struct sonde__report_stall *stall,
                               const struct sonde__report_analysis *analysis);
/* The same as text; cut at `capacity`. */
void sonde__report_summary_text(const struct sonde__report *report,
                                const struct sonde__report_stall *stall,
                                const struct sonde__report_analysis *analysis, char *ret_text,
                                size_t capacity);

#endif
