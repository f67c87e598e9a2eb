// SPDX-License-Identifier: Apache-2.0
/* Sending reports: those that wait in a spool folder, to a collector or to a Sentry DSN.
 *
 * Nothing is sent before sonde_upload_start() or sonde_upload_now() is called with an address. A
 * report is removed from the folder when the server has confirmed that it is stored. Until then it
 * stays, with a small file beside it that says how often it was tried and when it is due again, so
 * a process that is killed loses nothing. A report that arrived twice is stored once: it is sent
 * under its own id. docs/protocol.md has what is sent and what answers mean.
 *
 * This library knows no network: a transport table does that. libsonde-upload has one that uses
 * libcurl (sonde_upload_curl()); an app can give its own. */
#ifndef SONDE_UPLOAD_H
#define SONDE_UPLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- the transport --- */

/* Why a request has no answer. */
enum sonde_upload_failure {
    SONDE_UPLOAD_ANSWERED,      /* it has one */
    SONDE_UPLOAD_UNREACHABLE,   /* no such host, refused, no route */
    SONDE_UPLOAD_TIMED_OUT,     /* no answer in time */
    SONDE_UPLOAD_BROKEN_OFF,    /* the connection ended before the answer did */
    SONDE_UPLOAD_NOT_TRUSTED,   /* TLS: the certificate is wrong, or there is no common cipher */
    SONDE_UPLOAD_CANCELLED,     /* it was not wanted any more */
    SONDE_UPLOAD_NOT_SUPPORTED, /* the transport cannot do that: https without TLS */
};

enum sonde_upload_coding { SONDE_UPLOAD_IDENTITY, SONDE_UPLOAD_GZIP, SONDE_UPLOAD_ZSTD };

/* What the way to the server costs. */
enum sonde_upload_metered {
    SONDE_UPLOAD_METERED_UNKNOWN,
    SONDE_UPLOAD_METERED_YES, /* or probably */
    SONDE_UPLOAD_METERED_NO,  /* or probably not */
};

/* One POST. */
struct sonde_upload_request {
    size_t struct_bytes;
    const char *url;            /* http:// or https:// */
    const char *const *headers; /* "Name: value", null-terminated; without Content-Length */
    const void *body;
    size_t body_bytes;
    uint64_t timeout_ns; /* for all of it */
};

/* Where a transport puts what came back. The functions are called as long as send() runs, on its
 * thread; what they get is copied. A transport needs no other function of this library. */
struct sonde_upload_reply {
    size_t struct_bytes;
    /* The final answer's status, 100 to 999. */
    void (*status)(struct sonde_upload_reply *reply, int32_t status);
    /* A header of the answer: "Name: value", with or without an end of line; others are ignored. */
    void (*header)(struct sonde_upload_reply *reply, const char *line, size_t line_bytes);
    /* The next bytes of the answer's body. Returns 0; else enough was read: stop, and return from
     * send() as if that had been all. */
    int32_t (*body)(struct sonde_upload_reply *reply, const void *bytes, size_t size_bytes);
    /* There is no answer. why: one line for people; may be null. */
    void (*failed)(struct sonde_upload_reply *reply, enum sonde_upload_failure failure,
                   const char *why);
    /* Is the answer still wanted? Ask about once a second; 0: give up, as CANCELLED. */
    int32_t (*wanted)(const struct sonde_upload_reply *reply);
};

/* How requests leave. The functions are called on one thread at a time. */
struct sonde_upload_transport {
    size_t struct_bytes;
    /* Do the request, and say what came of it by the reply's functions. Redirects are not followed.
     * The certificate of https is checked. */
    void (*send)(void *ctx, const struct sonde_upload_request *request,
                 struct sonde_upload_reply *reply);
    /* Compress to at most `capacity` bytes; returns the size, 0: not possible, or does not fit.
     * Null: reports are sent as they are. */
    size_t (*compress)(void *ctx, enum sonde_upload_coding coding, const void *bytes,
                       size_t size_bytes, void *to, size_t capacity_bytes);
    /* Null: nobody knows. */
    enum sonde_upload_metered (*metered)(void *ctx);
    void *ctx;
};

/* libsonde-upload: libcurl, zstd and zlib, and NetworkManager's word for what the network costs, if
 * it is there. Uses the proxy that the environment names (https_proxy, no_proxy) and the system's
 * certificates (or those of SSL_CERT_FILE).
 *
 * Context    any thread; not handler      Blocks  no      Ownership  static
 * Example    examples/upload_spool.c */
SONDE_API const struct sonde_upload_transport *sonde_upload_curl(void);

/* --- what is sent, and what becomes of it --- */

enum sonde_upload_policy {
    SONDE_UPLOAD_UNMETERED, /* the default: unless the network is metered; unknown is not */
    SONDE_UPLOAD_ALWAYS,
    SONDE_UPLOAD_NEVER,
};

enum sonde_upload_outcome {
    SONDE_UPLOAD_STORED,  /* the server has it; it was removed, unless it is to be kept */
    SONDE_UPLOAD_LATER,   /* it stays, and is tried again */
    SONDE_UPLOAD_REFUSED, /* the server will never take it: it stays until the caps of the folder
                             remove it, and is not tried again */
    SONDE_UPLOAD_STOPPED, /* this address takes nothing: wrong key, wrong place. All stay */
};

/* One report, before it is sent, and after. */
struct sonde_upload_item {
    size_t struct_bytes;
    const char *name; /* of the file */
    const char *report_id;
    uint64_t size_bytes; /* before compression */
    uint32_t tries;      /* this one included */
    /* after: */
    enum sonde_upload_outcome outcome;
    int32_t http_status;     /* 0: no answer */
    const char *why;         /* one line */
    uint64_t wait_ns;        /* LATER and STOPPED: not before this has passed */
    const char *const *need; /* build-ids whose symbols the server lacks, null-terminated */
};

/* on_begin: 0: send it; else leave it where it is, this time. */
typedef int32_t (*sonde_upload_begin)(void *ctx, const struct sonde_upload_item *item);
typedef void (*sonde_upload_end)(void *ctx, const struct sonde_upload_item *item);

/* Zero is the default of every member. */
struct sonde_upload_options {
    size_t struct_bytes;
    const char *folder; /* the spool folder */
    const char *to;     /* "https://collector.example/", or a DSN, "https://KEY@host/PROJECT" */
    const char *key;    /* the collector's ingest key; null: none */
    const struct sonde_upload_transport *transport;
    enum sonde_upload_policy policy;
    int32_t keep;        /* 1: do not remove what was stored; it is marked, and not sent again */
    int32_t plain_http;  /* 1: http:// to other machines than this one, readable on the way */
    uint64_t timeout_ns; /* for one request; 0: SONDE_UPLOAD_TIMEOUT_NS */
    sonde_upload_begin on_begin; /* or null; the item is valid during the call */
    sonde_upload_end on_end;     /* or null; likewise */
    void *ctx;
};

#define SONDE_UPLOAD_TIMEOUT_NS 120000000000u

/* What a look through the folder did. */
struct sonde_upload_result {
    size_t struct_bytes;
    uint32_t stored, refused, later;
    uint64_t wait_ns; /* until the next one is due; UINT64_MAX: none waits */
    char why[192];    /* why something was not sent, of the last one; "" */
};

/* Send now, on the calling thread, each report of a run that is over once. No notice is taken of
 * waits that the sender itself decided on; those that the server asked for are kept.
 *
 * options     folder, to and transport must be given
 * ret_result  written on OK; may be null
 * ret_error   may be null
 *
 * Returns    OK (also if nothing could be sent: see the result) | USAGE (an address that cannot be
 *            one) | BUSY (another process or thread sends from this folder) | MEMORY | ABSENT,
 *            DENIED, UNSUPPORTED, OS (the folder)
 * Context    any thread; not handler
 * Blocks     until all have been answered
 * Ownership  nothing is transferred
 * Example    examples/upload_spool.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_upload_now(const struct sonde_upload_options *options, struct sonde_upload_result *ret_result,
                 struct sonde_error *ret_error);

struct sonde_upload;

/* Start a sender: a thread that sends what is due, and looks again when something becomes due, or
 * is woken, or every five minutes.
 *
 * options     as above; strings are copied, the transport must stay. on_begin and on_end are called
 *             on the thread, and may call sonde_upload_pause()
 * ret_upload  written on OK
 *
 * Returns    OK | USAGE | MEMORY | OS (no thread to be had) | as for the folder
 * Context    any thread; not handler      Blocks  no
 * Ownership  the caller's: sonde_upload_stop()
 * Example    examples/upload_start.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_upload_start(const struct sonde_upload_options *options, struct sonde_upload **ret_upload,
                   struct sonde_error *ret_error);

/* End the sender. A request that is under way is given up; its report is sent again another time.
 * After fork() the child has no sender; stopping the parent's there frees nothing.
 *
 * upload  may be null
 *
 * Context    any thread but the sender's own; not handler
 * Blocks     until the transport has returned
 * Ownership  frees it
 * Example    examples/upload_start.c */
SONDE_API void sonde_upload_stop(struct sonde_upload *upload);

/* paused 1: begin no further request; 0: go on. wake: look at the folder now, and take no notice of
 * waits that the sender itself decided on (those of the server stay).
 *
 * Context    any thread, also in the callbacks; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/upload_start.c */
SONDE_API void sonde_upload_pause(struct sonde_upload *upload, int32_t paused);
SONDE_API void sonde_upload_wake(struct sonde_upload *upload);

/* --- the folder, for an app that shows it to its user --- */

enum sonde_upload_state {
    SONDE_UPLOAD_WAITS,         /* to be sent */
    SONDE_UPLOAD_IS_REFUSED,    /* see enum sonde_upload_outcome */
    SONDE_UPLOAD_IS_SENT,       /* and kept */
    SONDE_UPLOAD_IS_UNFINISHED, /* its run goes on, or was killed: the next run finishes it */
};

struct sonde_upload_entry {
    size_t struct_bytes;
    const char *name;
    uint64_t size_bytes;
    enum sonde_upload_state state;
    uint32_t tries;
    int32_t http_status; /* of the last answer; 0: none */
    const char *why;     /* of the last try; "": none yet */
    uint64_t wait_ns;    /* until it is due; 0: it is */
};

/* Each report in the folder, oldest first. each: returns 0 to continue; the entry is valid during
 * the call.
 *
 * Returns    OK | MEMORY | as for the folder
 * Context    any thread; not handler      Blocks  reads the folder
 * Ownership  nothing is transferred
 * Example    examples/upload_start.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_upload_list(const char *folder,
                  int32_t (*each)(void *ctx, const struct sonde_upload_entry *entry), void *ctx,
                  struct sonde_error *ret_error);

/* The bytes of a report of the folder: for sonde_report_read().
 *
 * Returns    OK | USAGE (no name of a report) | ABSENT | DENIED | MEMORY | OS (`write` failed)
 * Context    any thread; not handler      Blocks  in `write`
 * Ownership  nothing is transferred
 * Example    examples/upload_start.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_upload_read(const char *folder, const char *name,
                                                              sonde_write write, void *ctx,
                                                              struct sonde_error *ret_error);

/* Remove a report without sending it.
 *
 * Returns    OK | USAGE (no name of a report) | ABSENT | DENIED | BUSY (it is being sent, or its run
 *            goes on) | OS
 * Context    any thread; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/upload_start.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_upload_delete(const char *folder, const char *name, struct sonde_error *ret_error);

/* Put a report into the folder, to be sent: what sonde_report_write() or the watch wrote. The
 * folder is made if it is missing, and its caps apply (docs/guide/report.md).
 *
 * Returns    OK | CORRUPT (no report) | LIMIT (larger than 64 MiB, or the disk is full) | MEMORY
 *            | as for the folder
 * Context    any thread; not handler      Blocks  until it is on the disk
 * Ownership  nothing is transferred
 * Example    examples/upload_spool.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_upload_add(const char *folder, const void *bytes,
                                                             size_t size_bytes,
                                                             struct sonde_error *ret_error);

#ifdef __cplusplus
}
#endif

#endif
