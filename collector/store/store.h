// SPDX-License-Identifier: Apache-2.0
/* Where the collector keeps what it knows: projects, keys, reports, groups and their sums. One
 * narrow interface; behind it is a SQLite database in the data folder, or a PostgreSQL database,
 * which several collectors share (db.h).
 *
 * One thread writes reports (store_begin() to store_commit()); all other functions may be called on
 * any thread. Each returns 0, or an error code of the database with a text in store_error(). */
#ifndef SONDE_COLLECTOR_STORE_H
#define SONDE_COLLECTOR_STORE_H

#include <stdio.h>

#include "digest.h"
#include "hook.h"
#include "ids.h"
#include "journal.h"
#include "limit.h"
#include "sift.h"
#include "state.h"

struct store;

enum store_status {
    STORE_OK,
    STORE_ABSENT, /* no such project, key, group or report */
    STORE_KNOWN,  /* it is there already */
    STORE_UNFIT,  /* the change makes no sense: store_error() */
    STORE_LONG,   /* the question takes more steps than one may take */
    STORE_FAILED, /* the database: store_error() */
};

/* Open or make a database: that in a data folder, or, if `database` is not null, that of PostgreSQL
 * (a URI or "key=value ..."), in which the folder's collector has a number of its own. folder: null
 * for one who only asks PostgreSQL, or changes keys and projects. On FAILED ret_error has the
 * reason. */
enum store_status store_open(const char *folder, const char *database, struct store **ret_store,
                             struct sonde_error *ret_error);
void store_close(struct store *store);
/* The last failure, one line. Valid until the next one of the same thread. */
const char *store_error(void);
/* Was the database of this process ever found damaged? */
bool store_is_damaged(void);

/* --- projects and keys --- */

/* What a key may do; each may do what those before it in its line may: ingest; read, write, admin.
 * The numbers are stored. */
enum store_role { STORE_INGEST = 1, STORE_READ = 2, STORE_WRITE = 3, STORE_ADMIN = 4 };

enum { STORE_NAME_MAX = 64 };

struct store_key {
    int64_t number;
    uint32_t project; /* 0: of all projects */
    enum store_role role;
    struct hash hash; /* of the secret, which is not kept */
    char label[STORE_NAME_MAX + 1];
    uint64_t made_ns, revoked_ns; /* 0: valid */
    struct limit limit;           /* of its project; is not stored with the key */
};

struct store_project {
    uint32_t number;
    char name[STORE_NAME_MAX + 1];
    uint64_t made_ns;
    struct limit limit;
};

/* Letters, digits, "-", "_" and ".", 1 to STORE_NAME_MAX. */
bool store_is_name(const char *text);

/* KNOWN: the name is taken. */
enum store_status store_add_project(struct store *store, const char *name, uint64_t now_ns,
                                    uint32_t *ret_number);
/* ABSENT: no such project. */
enum store_status store_find_project(struct store *store, const char *name, uint32_t *ret_number);
/* ABSENT: no such project. */
enum store_status store_set_limit(struct store *store, uint32_t project, const struct limit *limit,
                                  uint64_t now_ns);
/* The reports of a project that were stored of a day (since 1970). */
uint64_t store_used(struct store *store, uint32_t project, uint64_t day);
typedef void store_each_project(void *ctx, const struct store_project *project);
enum store_status store_projects(struct store *store, store_each_project *each, void *ctx);

/* The key's number is given by the store. */
enum store_status store_add_key(struct store *store, const struct store_key *key,
                                int64_t *ret_number);
/* The words of enum store_role, from 1, and null. */
extern const char *const store_roles[];
/* ABSENT: no valid key has this number. */
enum store_status store_revoke_key(struct store *store, int64_t number, uint64_t now_ns);
/* Revoke a key and add one of the same project, role and label. ABSENT: no valid key has the
 * number. */
enum store_status store_rotate_key(struct store *store, int64_t number, const struct hash *hash,
                                   uint64_t now_ns, int64_t *ret_number);
/* ABSENT: no valid key has this hash. */
enum store_status store_find_key(struct store *store, const struct hash *hash,
                                 struct store_key *ret_key);
/* project: its name; "" if the key is for all. */
typedef void store_each_key(void *ctx, const struct store_key *key, const char *project);
enum store_status store_keys(struct store *store, store_each_key *each, void *ctx);

/* --- reports: the one writer --- */

struct store_report {
    struct report_id id;
    uint32_t project;
    uint64_t received_ns;
    struct hash blob; /* the file with its bytes (blob.h) */
    uint64_t size_bytes;
    const struct digest *digest; /* null: it could not be read, and */
    const char *why;             /* says why */
};

/* Learn which reports are there, so that store_knows() need not look for new ones. */
enum store_status store_learn(struct store *store);
enum store_status store_begin(struct store *store);
/* KNOWN: the project has a report with this id; nothing has changed. */
enum store_status store_add_report(struct store *store, const struct store_report *report);
/* All since store_begin() at once, and how far the journal was read. */
enum store_status store_commit(struct store *store, struct journal_place read);
void store_rollback(struct store *store);
/* All since store_begin() at once; the place in the journal stays. */
enum store_status store_commit_change(struct store *store);
/* How far the journal was read. */
struct journal_place store_place(struct store *store);
/* Put all commits on the disk. Other files of the data folder are the caller's. */
enum store_status store_sync(struct store *store);

/* --- files of reports --- */

/* Are they in the database, which then is shared? Else they are in the data folder (blob.h). */
bool store_has_files(const struct store *store);
/* Between store_begin() and store_commit(). packed: a zstd frame. */
enum store_status store_put_file(struct store *store, const struct hash *hash, const void *packed,
                                 size_t size);
/* ABSENT: there is none. Ownership: free(). */
enum store_status store_get_file(struct store *store, const struct hash *hash, void **ret_packed,
                                 size_t *ret_size);

/* --- questions --- */

/* Questions of a thread are asked in its lane, one at a time; a long one holds up its lane only.
 * Lane 0 is every thread's at first, for short ones. In the others a question ends (LONG) after so
 * many steps of the database's machine: some hundred million take seconds. */
enum { STORE_LANES = 4 };
void store_use_lane(unsigned lane);
void store_limit_steps(struct store *store, uint64_t steps);

/* Does the database answer? OK | FAILED. */
enum store_status store_check(struct store *store);

/* Is the report in the store? KNOWN | ABSENT | FAILED. */
enum store_status store_knows(struct store *store, uint32_t project, const struct report_id *id);

struct store_group {
    int64_t number;
    uint32_t kind;                             /* enum digest_kind */
    const char *group, *title, *summary, *why; /* summary: of the longest or newest event */
    uint32_t severity;
    uint64_t count, total_ns, longest_ns, devices, fatal;
    uint64_t first_ns, last_ns; /* since 1970 */
    const char *first_build, *last_build;
    struct report_id longest; /* a report that shows it */
    struct state_mark mark;
    const char *assignee; /* "": nobody */
    int64_t joined;       /* the group of several causes that has this one; 0: none */
    bool is_joint;        /* it is such a group */
};

enum store_order { STORE_BY_IMPACT, STORE_BY_LAST, STORE_BY_FIRST, STORE_BY_COUNT };

struct store_filter {
    uint32_t kind;        /* 0: all */
    uint32_t states;      /* bits 1 << enum state; 0: all */
    const char *assignee; /* "": all */
    enum store_order order;
    uint32_t limit;
};

typedef void store_each_group(void *ctx, const struct store_group *group);
/* Groups; not those that a group of several causes has. */
enum store_status store_groups(struct store *store, uint32_t project,
                               const struct store_filter *filter, store_each_group *each,
                               void *ctx);
/* One group. ABSENT: the project has none with this number. */
enum store_status store_group(struct store *store, uint32_t project, int64_t number,
                              store_each_group *each, void *ctx);
/* The causes of a group of several. */
enum store_status store_causes(struct store *store, int64_t group, store_each_group *each,
                               void *ctx);

/* Sums of a group over a time and a build; the newest first, at most `limit`. */
struct store_sum {
    uint64_t hour;     /* since 1970 */
    const char *build; /* "" for sums over all builds */
    uint64_t count, total_ns, longest_ns;
    uint64_t last_hour; /* of sums over all hours */
};
typedef void store_each_sum(void *ctx, const struct store_sum *sum);
enum store_sums { STORE_BY_HOUR_AND_BUILD, STORE_BY_HOUR, STORE_BY_DAY, STORE_BY_BUILD };
enum store_status store_sums(struct store *store, int64_t group, enum store_sums by, uint32_t limit,
                             store_each_sum *each, void *ctx);

struct store_tag {
    const char *name, *value;
    uint64_t count;
};
typedef void store_each_tag(void *ctx, const struct store_tag *tag);
/* What a group's events are tagged with: by name, the most frequent values first. */
enum { STORE_TAG_VALUES = 100 }; /* of a name; the rest is one value, "(others)" */
enum store_status store_tags(struct store *store, int64_t group, store_each_tag *each, void *ctx);

struct store_row {
    struct report_id id;
    uint32_t kind; /* enum sonde__report_kind; 0: it could not be read */
    uint64_t received_ns, size_bytes;
    const char *program, *build, *device, *os;
    const char *note; /* why it could not be read, or what was lost of it; "" */
    bool has_file;    /* else it was not kept */
    struct hash blob;
};
typedef void store_each_row(void *ctx, const struct store_row *row);
/* The newest reports: of a group (0: of all), or those that could not be read. */
enum store_status store_reports(struct store *store, uint32_t project, int64_t group,
                                bool is_unread, uint32_t limit, store_each_row *each, void *ctx);
/* ABSENT: the project has no such report. */
enum store_status store_report(struct store *store, uint32_t project, const struct report_id *id,
                               store_each_row *each, void *ctx);

/* --- builds --- */

struct store_build {
    const char *name;
    uint64_t first_ns, last_ns; /* since 1970 */
    uint64_t reports, devices;
    uint64_t recorded; /* reports whose calls are counted: audits and recordings */
    uint64_t callers;  /* those of which it is known who makes the calls */
    bool is_baseline;  /* of the project */
};
typedef void store_each_build(void *ctx, const struct store_build *build);
/* The builds that were seen last come first. */
enum store_status store_builds(struct store *store, uint32_t project, uint32_t limit,
                               store_each_build *each, void *ctx);
/* ABSENT: the project has no report of this build. */
enum store_status store_build(struct store *store, uint32_t project, const char *name,
                              store_each_build *each, void *ctx);
/* The name of a project's baseline, at most size - 1 bytes. ABSENT: it has none. */
enum store_status store_baseline(struct store *store, uint32_t project, char *ret_name,
                                 size_t size);

/* Calls of one rule, function and path. */
struct store_call {
    int64_t group; /* that has them */
    uint32_t kind, severity;
    const char *rule, *api, *path, *sdk; /* as of a digest_call */
    bool is_stable;
};
struct store_call_sum {
    uint64_t count, before, given, refused, over; /* calls, as of a digest_call */
    uint64_t reports, devices;                    /* that have some */
};
typedef void store_each_call(void *ctx, const struct store_call *call,
                             const struct store_call_sum *sum);
/* A build's calls: by severity, then by their number. */
enum store_status store_calls(struct store *store, uint32_t project, const char *build,
                              uint32_t limit, store_each_call *each, void *ctx);

struct store_call_pair {
    struct store_call call;
    struct store_call_sum now, then; /* then: of the other build; each may be of no calls */
    bool is_listed;                  /* the build without calls looked for them */
};
typedef void store_each_call_pair(void *ctx, const struct store_call_pair *pair);
/* The calls of two builds: those that only `build` has come first, those that only `base` has
 * last. */
enum store_status store_compare(struct store *store, uint32_t project, const char *build,
                                const char *base, store_each_call_pair *each, void *ctx);

/* --- privacy manifests, and what is compared with them (answer_undeclared.c) --- */

/* Of a build, and bytes of one. */
enum { STORE_MANIFESTS_MAX = 64, STORE_MANIFEST_BYTES = 128 << 10 };

struct store_manifest {
    const char *name; /* of the code that it declares for, "Stat.framework" */
    const void *bytes;
    size_t size;
    uint64_t made_ns;
    int64_t secret; /* the key of who gave it */
};
typedef void store_each_manifest(void *ctx, const struct store_manifest *manifest);
/* The manifests of a build, by their names; only that of a name, if it is not null. */
enum store_status store_manifests(struct store *store, uint32_t project, const char *build,
                                  const char *name, store_each_manifest *each, void *ctx);

/* Whose calls they are: of the framework `code` ("": of none), which makes them itself, or by a
 * library of the system. Of the rest it is not known. */
struct store_caller {
    const char *code;
    uint64_t direct, system;
};
typedef void store_each_use(void *ctx, const struct store_call *call,
                            const struct store_call_sum *sum, const struct store_caller *caller);
/* All calls of a build, in the order of store_calls(). */
enum store_status store_uses(struct store *store, uint32_t project, const char *build,
                             store_each_use *each, void *ctx);
/* Functions that need a reason and were recorded in a build; missed: why calls may be missing, or
 * "". */
typedef void store_each_api(void *ctx, const char *name, const char *missed);
enum store_status store_apis(struct store *store, uint32_t project, const char *build,
                             store_each_api *each, void *ctx);

/* --- retention --- */

/* The file of a report, which no report has any more. Called while nothing can be written. A
 * file in the database is gone then. */
typedef void store_drop_blob(void *ctx, const struct hash *blob);

struct store_keep {
    uint64_t now_ns;           /* reports that came later are of a clock that was wrong */
    uint64_t before_ns;        /* files of reports that came before are removed */
    uint64_t forget_before_ns; /* and their ids: a report that comes again would count again */
    uint32_t per_group;        /* reports with a file that a group keeps (thin.h); 0: all */
};
/* Where it goes on; zero at first, and again when all was looked at. */
struct store_keep_cursor {
    int64_t cause, report;
};
/* The time by which reports get old: now_ns, or that of a shared database if it is earlier. The
 * clock of one of its collectors removes nothing that others keep. FAILED: it does not answer. */
enum store_status store_earlier(struct store *store, uint64_t now_ns, uint64_t *ret_ns);
/* Take a step: look at some groups and reports, and remove what is not kept. Sums, machines and
 * tags stay. *ret_count: files that are not needed any more. */
enum store_status store_keep(struct store *store, const struct store_keep *keep,
                             struct store_keep_cursor *cursor, store_drop_blob *drop, void *ctx,
                             uint32_t *ret_count);

/* --- reports that wait for symbols --- */

/* A report that waits for the symbols of a build-id. */
struct store_waiting {
    int64_t number;
    struct report_id id;
    uint32_t project;
    uint64_t received_ns;
    struct hash blob;
};
typedef void store_each_waiting(void *ctx, const struct store_waiting *waiting);
/* The first of them, of a project (0: of all). Between store_begin() and its end. */
enum store_status store_waiting(struct store *store, uint32_t project,
                                const struct sonde__build_id *id, uint32_t limit,
                                store_each_waiting *each, void *ctx);
/* Group a report anew, as `digest` has it now: what it added is taken back from its causes. digest
 * null: it cannot be read; it stays where it is, and waits for nothing. Between store_begin() and
 * its end. */
enum store_status store_regroup(struct store *store, const struct store_waiting *waiting,
                                const struct digest *digest);

/* What the reports of a project wait for: the most frequent build-ids first. */
typedef void store_each_want(void *ctx, const struct sonde__build_id *id, uint64_t reports);
enum store_status store_wants(struct store *store, uint32_t project, uint32_t limit,
                              store_each_want *each, void *ctx);
/* What reports of all projects wait for, in steps: what the newest `limit` waits before *at are for
 * (*at 0: the newest of all), the most frequent first. *at: where to go on; 0: there are no older
 * ones. limit is larger than DIGEST_WANTS_MAX. */
enum store_status store_wants_of_all(struct store *store, uint32_t limit, int64_t *at,
                                     store_each_want *each, void *ctx);

/* --- what people do --- */

struct store_actor {
    int64_t secret; /* the key's number; 0: who may write the data folder, by a command */
    uint64_t now_ns;
};

/* Each change is written to the list of actions with it. ABSENT: no such group. */
enum store_status store_set_state(struct store *store, const struct store_actor *actor,
                                  uint32_t project, int64_t group, const struct state_mark *mark);
enum store_status store_assign(struct store *store, const struct store_actor *actor,
                               uint32_t project, int64_t group, const char *assignee);
/* Make one group of two. If one of them is a cause of a third group, it leaves that. Both must be
 * of one kind; UNFIT. */
enum store_status store_join(struct store *store, const struct store_actor *actor, uint32_t project,
                             int64_t group, int64_t with, int64_t *ret_joint);
/* Make a cause of a group a group of its own again. UNFIT: it is one. */
enum store_status store_leave(struct store *store, const struct store_actor *actor,
                              uint32_t project, int64_t cause);

/* Make a build the project's baseline. ABSENT: it has no such build. */
enum store_status store_set_baseline(struct store *store, const struct store_actor *actor,
                                     uint32_t project, const char *build);

/* Keep a manifest of a build, in place of the one of its name. The build need not have reports.
 * UNFIT: it has MANIFESTS_MAX. */
enum store_status store_set_manifest(struct store *store, const struct store_actor *actor,
                                     uint32_t project, const char *build,
                                     const struct store_manifest *manifest, bool *ret_is_new);
/* ABSENT: the build has none of this name. */
enum store_status store_remove_manifest(struct store *store, const struct store_actor *actor,
                                        uint32_t project, const char *build, const char *name);

/* --- hooks --- */

/* Hooks of a project: each is asked about for each event that is told. Messages that wait for one
 * hook: what comes then is counted as lost. */
enum { STORE_HOOKS_MAX = 16, STORE_MESSAGES_MAX = 10000 };

struct store_hook {
    int64_t number;
    uint32_t project;
    const char *project_name, *url;
    uint32_t events, kinds; /* hook.h */
    struct hook_secret secret;
    uint64_t made_ns, disabled_ns; /* 0: it is not disabled */
    uint64_t sent, given_up, lost, waiting;
    uint64_t last_ns; /* of its last answer; 0: none */
    const char *last; /* that answer, for people; "" */
};

/* project, url, events, kinds and secret of `hook` are used. UNFIT: the project has HOOKS_MAX. */
enum store_status store_add_hook(struct store *store, const struct store_actor *actor,
                                 const struct store_hook *hook, int64_t *ret_number);
/* With its messages. project: 0 for any. ABSENT: there is none. */
enum store_status store_remove_hook(struct store *store, const struct store_actor *actor,
                                    uint32_t project, int64_t number);
/* Send a hook that was disabled what happens from now on. The same project. ABSENT: there is none.
 */
enum store_status store_enable_hook(struct store *store, const struct store_actor *actor,
                                    uint32_t project, int64_t number);
typedef void store_each_hook(void *ctx, const struct store_hook *hook);
/* project: 0 for all. */
enum store_status store_hooks(struct store *store, uint32_t project, store_each_hook *each,
                              void *ctx);
/* Queue a message of a test. ABSENT: no hook of the project has this number, or it is disabled. */
enum store_status store_test_hook(struct store *store, const struct store_actor *actor,
                                  uint32_t project, int64_t number, char ret_id[HOOK_ID_TEXT]);

/* No message waits longer than this. One that seems to has waited since the clock was set back: it
 * is due. */
#define STORE_MESSAGE_WAIT_MAX_NS ((uint64_t)14 * 86400 * 1000000000u)

/* The first message of each hook that is due. */
typedef void store_each_due(void *ctx, int64_t hook, int64_t message);
enum store_status store_due_messages(struct store *store, uint64_t now_ns, store_each_due *each,
                                     void *ctx);

struct store_message {
    int64_t number, hook;
    char id[HOOK_ID_TEXT];
    char *body, *url;
    struct hook_secret secret;
    uint32_t tries; /* with the one that begins now */
    uint64_t made_ns;
};
/* Take a message to send it: until a time, no collector gets it again. ABSENT: another one has it.
 * Ownership: store_free_message(). */
enum store_status store_claim_message(struct store *store, int64_t number, uint64_t now_ns,
                                      uint64_t until_ns, struct store_message *ret_message);
void store_free_message(struct store_message *message);
/* Those that this collector had when it ended are due now. Before its first claim. */
enum store_status store_release_messages(struct store *store);

struct store_answer {
    enum {
        STORE_MESSAGE_TAKEN,
        STORE_MESSAGE_LATER,    /* it is tried again at next_ns */
        STORE_MESSAGE_GIVEN_UP, /* a hook that took nothing since it was made is disabled */
        STORE_MESSAGE_GONE,     /* the hook is disabled */
    } what;
    uint64_t now_ns, next_ns;
    const char *text; /* for people */
};
enum store_status store_settle_message(struct store *store, const struct store_message *message,
                                       const struct store_answer *answer, bool *ret_is_disabled);
/* Messages that wait, of all hooks. */
uint64_t store_messages(struct store *store);

/* --- filters: events that make no group --- */

enum { STORE_SIFTS_MAX = 32 }; /* of a project */

struct store_sift {
    int64_t number;
    uint32_t project;
    const char *project_name;
    struct sift sift;
    uint64_t made_ns;
    /* What it dropped: events, of so many reports; stalls and calls; the time of stalls. */
    uint64_t reports, events, count, total_ns;
};

/* UNFIT: the project has it, or SIFTS_MAX of them. It counts from the next transaction on. */
enum store_status store_add_sift(struct store *store, const struct store_actor *actor,
                                 uint32_t project, const struct sift *sift, int64_t *ret_number);
/* With its counts. project: 0 for any. ABSENT: there is none. */
enum store_status store_remove_sift(struct store *store, const struct store_actor *actor,
                                    uint32_t project, int64_t number);
typedef void store_each_sift(void *ctx, const struct store_sift *sift);
/* project: 0 for all. */
enum store_status store_sifts(struct store *store, uint32_t project, store_each_sift *each,
                              void *ctx);

/* --- the list of actions --- */

struct store_action {
    uint64_t time_ns;
    int64_t secret;
    uint32_t project;         /* 0: all */
    const char *project_name; /* "" for all */
    const char *what;
};
typedef void store_each_action(void *ctx, const struct store_action *action);
/* The newest actions. project: 0 for all. */
enum store_status store_actions(struct store *store, uint32_t project, uint32_t limit,
                                store_each_action *each, void *ctx);

#endif
