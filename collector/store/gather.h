// SPDX-License-Identifier: Apache-2.0
/* What the events of a transaction add to groups, sums and tags, added up until it is written: a
 * report of an audit has hundreds of events, and reports that come together have the same causes.
 * So a row is changed once for many events. What is written is the same as if each event changed
 * the rows. Context: one thread at a time, the writer. */
#ifndef SONDE_COLLECTOR_GATHER_H
#define SONDE_COLLECTOR_GATHER_H

#include "digest.h"
#include "ids.h"
#include "state.h"

/* When so much was gathered, it has to be written. */
#define GATHER_BYTES_MAX ((size_t)8 << 20)

struct gather;

/* A cause, as the database has it in this transaction. */
struct gather_cause {
    uint32_t project, kind;
    const char *group;
    int64_t number, joined; /* joined: the group of several causes that has it; 0: none */
    uint64_t longest_ns;
    enum state state;
    struct gather_row { /* of `event`: what the newest report added to the cause */
        int64_t report; /* its number; 0: none */
        uint64_t count, total_ns, named, project, day;
    } row;
};

/* What a row of `cause` gets. */
struct gather_group {
    int64_t number;
    bool has_any, has_longest; /* what follows each */
    uint64_t count, total_ns, fatal, severity, devices;
    uint64_t first_ns, last_ns;
    const char *first_build, *last_build;
    uint64_t longest_ns; /* the longest event; of equal ones the last */
    struct report_id longest;
    char title[DIGEST_TITLE_TEXT], summary[DIGEST_SUMMARY_TEXT];
};

struct gather_sum {
    int64_t cause;
    uint64_t hour;
    const char *build;
    uint64_t count, total_ns, longest_ns;
};

/* What a build's calls of one cause get (cause 0: the build itself, of which only machines are
 * counted). */
struct gather_call {
    uint32_t project;
    int64_t cause;
    const char *build;
    uint64_t count, before, given, refused, over, direct, system, reports, devices;
    bool is_stable;
    const char *rule, *api, *path, *sdk, *code; /* of the last event */
};

struct gather_tag {
    int64_t cause;
    const char *name, *value;
    uint64_t count;
};

/* Null: no memory. Ownership: gather_end(). */
struct gather *gather_begin(void);
void gather_end(struct gather *gather);
/* Forget all: the transaction has ended. */
void gather_clear(struct gather *gather);
bool gather_is_full(const struct gather *gather);

/* The cause that was added with this key; null: none. It may be changed. */
struct gather_cause *gather_find_cause(struct gather *gather, uint32_t project, uint32_t kind,
                                       const char *group);
/* Keep a cause, with a copy of its text. Null: no memory. */
struct gather_cause *gather_add_cause(struct gather *gather, const struct gather_cause *cause);

/* Those that were added, in their order; null at the end. */
struct gather_cause *gather_cause_at(const struct gather *gather, uint32_t i);

/* Add what an event of the row's report adds to the cause. */
void gather_add_to_row(struct gather_cause *cause, const struct digest_event *event);

/* In all of these false or null is: no memory. Texts are copied. */
struct gather_group *gather_group(struct gather *gather, int64_t number);
/* Count an event, which was at time_ns in a build. */
bool gather_count(struct gather *gather, int64_t group, const struct digest_event *event,
                  uint64_t time_ns, const char *build);
/* The event is to be shown, unless a longer one is. */
bool gather_show(struct gather *gather, int64_t group, const struct digest_event *event,
                 const struct report_id *report);
bool gather_add_sum(struct gather *gather, const struct gather_sum *sum);
bool gather_add_tag(struct gather *gather, const struct gather_tag *tag);
/* Returns the sum so far: its devices may be changed. */
struct gather_call *gather_add_call(struct gather *gather, const struct gather_call *call);

/* What was gathered, in the order in which it came first; null at the end. */
struct gather_group *gather_group_at(const struct gather *gather, uint32_t i);
const struct gather_sum *gather_sum_at(const struct gather *gather, uint32_t i);
const struct gather_tag *gather_tag_at(const struct gather *gather, uint32_t i);
const struct gather_call *gather_call_at(const struct gather *gather, uint32_t i);

#endif
