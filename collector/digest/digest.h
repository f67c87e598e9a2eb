// SPDX-License-Identifier: Apache-2.0
/* What the store keeps of a report: who sent it, and its events. An event is a stall, a crash, or
 * the calls that one rule found from one place of the program; it belongs to the group of its cause
 * (report_fingerprint.h, report_call_key.h). A pure function of the bytes and of
 * symbols. Context: any thread. */
#ifndef SONDE_COLLECTOR_DIGEST_H
#define SONDE_COLLECTOR_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/status.h>

#include "image_set.h"

enum { DIGEST_GROUP_TEXT = 48, DIGEST_TITLE_TEXT = 256, DIGEST_SUMMARY_TEXT = 512 };
enum { DIGEST_IMAGE_TEXT = 64 };
/* Events of one report; what is more is counted in `left_out`. */
#define DIGEST_EVENTS_MAX 4096u

/* The numbers are stored. */
enum digest_kind {
    DIGEST_STALL = 1,
    DIGEST_FINDING = 2, /* calls that a rule of an audit is about */
    DIGEST_CALL = 3,    /* calls without a rule (sonde run --record) */
    DIGEST_ERROR = 4,   /* an error or a crash, from reports of other tools (import.h) */
};

struct sonde__report;

/* What is kept of calls beside their number, for the answers of a build. */
struct digest_call {
    /* Calls before consent, with it, and after it was refused (digest_consent.h); of the others it
     * is not known. */
    uint64_t before, given, refused;
    uint64_t over; /* that exceed the rule's limit */
    /* Of functions that need a reason (findings_manifest.h): calls that the program's own code
     * makes itself, and by a library of the system; of the others it is not known. */
    uint64_t direct, system;
    bool is_stable; /* the key is the same in every build of the same sources */
    /* In this block of memory. rule, sdk: "": none. path: the program's own functions, innermost
     * first, a line each; at most DIGEST_PATH_FUNCTIONS, then "...". */
    const char *rule, *api, *path, *sdk;
    const char *code; /* in it, too: the framework that has the innermost function; "": none */
};
/* Longer names and paths are cut. */
enum { DIGEST_NAME_TEXT = 512, DIGEST_PATH_FUNCTIONS = 16, DIGEST_PATH_TEXT = 2048 };

struct digest_event {
    uint32_t kind;                     /* enum digest_kind */
    char group[DIGEST_GROUP_TEXT];     /* the cause: its fingerprint or key; "": not known */
    char title[DIGEST_TITLE_TEXT];     /* "save_session, blocked in sync"; the same in the group */
    char summary[DIGEST_SUMMARY_TEXT]; /* of this event, in one line */
    char *why;                         /* the text of the fingerprint; or null */
    uint64_t begin_ns;                 /* since the report's time */
    uint64_t count;                    /* equal stalls; calls */
    uint64_t total_ns, longest_ns;     /* of stalls */
    uint32_t severity;                 /* enum sonde__report_severity */
    bool is_fatal;
    /* None of the program's own functions is on its stacks, but for those that start it; and its
     * thread waits in its event loop (digest_own.h). */
    bool is_system, is_idle;
    char image[DIGEST_IMAGE_TEXT]; /* of stalls: the file of the program's function; "": none */
    struct digest_call *call;      /* of calls; else null */
};

struct digest_tag {
    char name[64], value[200];
};
enum { DIGEST_TAGS_MAX = 32 };

/* Rules that an audit had, and functions that a recording had without a rule, called or not: what
 * is not there was not looked for. */
enum { DIGEST_LISTED_MAX = 1024 };

/* Functions that need a reason and were recorded, called or not. */
enum { DIGEST_APIS_MAX = 64, DIGEST_CODE_TEXT = 128 };
struct digest_api {
    char *name;
    char *missed; /* why calls of it by the program's own code may not be in the report; null */
};

/* Build-ids whose symbols would name frames of the report; at most DIGEST_WANTS_MAX. */
enum { DIGEST_WANTS_MAX = 16 };
struct digest_wants {
    struct sonde__build_id ids[DIGEST_WANTS_MAX];
    uint32_t count;
};

/* Names frames of a report with what the collector has, and finds what it waits for. */
struct digest_naming {
    void (*name)(void *ctx, struct sonde__report *report, struct digest_wants *ret_wants);
    void *ctx;
};

struct digest {
    uint32_t kind;    /* enum sonde__report_kind */
    uint64_t time_ns; /* since 1970, by the sender's clock; 0: not known */
    char *program, *build, *device, *os, *arch;
    struct digest_tag *tags;
    uint32_t tag_count;
    struct digest_event *events;
    uint32_t event_count;
    uint64_t left_out;
    char **listed;         /* names */
    uint32_t listed_count; /* at most DIGEST_LISTED_MAX */
    struct digest_api *apis;
    uint32_t api_count; /* at most DIGEST_APIS_MAX */
    bool has_calls;     /* calls were recorded, whether there were any or not */
    struct digest_wants wants;
    uint32_t named; /* thousandths of the frames that have a name */
    char loss[256]; /* what was lost of the file; "": nothing */
};

/* naming: null: only the names that the report has. Returns OK | CORRUPT (no report: ret_error says
 * why) | MEMORY. Ownership: digest_done(). */
SONDE_NODISCARD enum sonde_status digest_read(const void *bytes, size_t size,
                                              const struct digest_naming *naming,
                                              struct digest *ret_digest,
                                              struct sonde_error *ret_error);
void digest_done(struct digest *digest);

#endif
