// SPDX-License-Identifier: Apache-2.0
/* A stall in one sentence: the thread, what it did for how long, at what, under which function of
 * the program.
 *
 *   main blocked 1.20 s in fsync (fd 7 /data/app.db) under save_session (session.c:88)
 *
 * Invariant: what the sentence names held for most of the time that it names; where that is not
 * nearly all of it, the sentence says how much. What is spread over several calls or functions is
 * called "several calls", or is left out. A pure function of the
 * model, so the sentence of an old report has what that report knows. Context: any thread. */
#ifndef SONDE_REPORT_SUMMARY_H
#define SONDE_REPORT_SUMMARY_H

#include "report_analyse.h"
#include "report_out.h"

enum sonde__report_verb {
    SONDE__REPORT_AWAY, /* nothing had half of the time */
    SONDE__REPORT_BLOCKED,
    SONDE__REPORT_RAN,
    SONDE__REPORT_WAITED, /* for a processor */
};

/* The innermost function of the program's own code, where most of the samples agree. */
struct sonde__report_where {
    uint32_t stack; /* of one of the samples; 0: they do not agree, or there is none */
    uint32_t step;  /* of the walk of that stack (report_walk.h), from 0 */
    bool has_line;  /* most are in that line, too */
    bool is_all;    /* nearly all agree, not only most */
};

struct sonde__report_summary {
    enum sonde__report_verb verb;
    uint64_t whole_ns;                      /* the stall */
    uint64_t ran_ns, waited_ns, blocked_ns; /* of it, as far as it is known */
    bool disk;                              /* BLOCKED: mostly uninterruptibly */
    bool several;                           /* BLOCKED: in no call for most of that time */
    int64_t syscall;                        /* BLOCKED: number + 1; 0: not known, or several */
    uint64_t call_ns;                       /* of blocked_ns, in that call */
    uint32_t detail;                        /* string id: what the call waits for */
    const struct sonde__report_wait *wait;  /* the same with its owner; null: not known */
    struct sonde__report_where where;
    uint64_t unseen_ns; /* time without samples, where that is most of it; else 0 */
};

/* The analysis is of that stall. */
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
