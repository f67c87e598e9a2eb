// SPDX-License-Identifier: Apache-2.0
/* Sends the reports of a spool folder to a collector or a Sentry DSN.
 *
 * Nothing is sent before sonde_upload_start() or sonde_upload_now() is called with an address. A
 * report is removed from the folder once the server has confirmed that it is stored. Until then it
 * stays, next to a small file with the number of tries and the time of the next one, so a killed
 * process loses nothing. A report that arrives twice is stored once, because it is sent under its
 * own id. docs/protocol.md describes requests and answers.
 *
 * This library has no network code: a transport (a table of functions) sends requests.
 * libsonde-upload has one that uses libcurl (sonde_upload_curl()); an app can provide its own. */
#ifndef SONDE_UPLOAD_H
#define SONDE_UPLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- the transport --- */

/* Why a request got no answer. */
enum sonde_upload_failure {
    SONDE_UPLOAD_ANSWERED,      /* it got one */
    SONDE_UPLOAD_UNREACHABLE,   /* no such host, refused, no route */
    SONDE_UPLOAD_TIMED_OUT,     /* no complete answer in time */
    SONDE_UPLOAD_BROKEN_OFF,    /* the connection ended before the answer did */
    SONDE_UPLOAD_NOT_TRUSTED,   /* TLS: wrong certificate, or no common cipher */
    SONDE_UPLOAD_CANCELLED,     /* no longer wanted */
    SONDE_UPLOAD_NOT_SUPPORTED, /* not supported by the transport: https without TLS */
};

enum sonde_upload_coding { SONDE_UPLOAD_IDENTITY, SONDE_UPLOAD_GZIP, SONDE_UPLOAD_ZSTD };

/* Is the connection metered? */
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

/* Receives the answer from a transport. send() calls these functions on its thread, before it
 * returns; they copy their arguments. A transport needs no other function of this library. */
struct sonde_upload_reply {
    size_t struct_bytes;
    /* The final answer's status, 100 to 999. */
    void (*status)(struct sonde_upload_reply *reply, int32_t status);
    /* A header of the answer: "Name: value", with or without an end of line; others are ignored. */
    void (*header)(struct sonde_upload_reply *reply, const char *line, size_t line_bytes);
    /* The next bytes of the answer's body. Returns 0; else enough was read: return from send() as
     * if the body had ended. */
    int32_t (*body)(struct sonde_upload_reply *reply, const void *bytes, size_t size_bytes);
    /* There is no answer. why: one line for people; may be null. */
    void (*failed)(struct sonde_upload_reply *reply, enum sonde_upload_failure failure,
                   const char *why);
    /* Is the answer still wanted? Call it about once a second; 0: give up, as CANCELLED. */
    int32_t (*wanted)(const struct sonde_upload_reply *reply);
};

/* Sends requests. The functions are called on one thread at a time. */
struct sonde_upload_transport {
    size_t struct_bytes;
    /* Send the request, and pass the outcome to the reply's functions. Do not follow redirects;
     * check the certificate of https. */
    void (*send)(void *ctx, const struct sonde_upload_request *request,
                 struct sonde_upload_reply *reply);
    /* Compress to at most `capacity` bytes. Returns the size; 0: impossible, or does not fit. Null:
     * reports are sent uncompressed. */
    size_t (*compress)(void *ctx, enum sonde_upload_coding coding, const void *bytes,
                       size_t size_bytes, void *to, size_t capacity_bytes);
    /* Null: what the system says. On Apple's systems a path that is expensive or constrained (Low
     * Data Mode) is metered; on Linux it is unknown. */
    enum sonde_upload_metered (*metered)(void *ctx);
    void *ctx;
};

/* The transport of libsonde-upload: libcurl, zstd and zlib; NetworkManager, if it runs, tells
 * whether the network is metered. Uses the proxy of the environment (https_proxy, no_proxy) and the
 * system's certificates (or those of SSL_CERT_FILE).
 *
 * Context    any thread; not handler      Blocks  no      Ownership  static
 * Example    examples/upload_spool.c */
SONDE_API const struct sonde_upload_transport *sonde_upload_curl(void);

/* --- policies, outcomes, options --- */

enum sonde_upload_policy {
    SONDE_UPLOAD_UNMETERED, /* the default: unless the network is metered (unknown: send) */
    SONDE_UPLOAD_ALWAYS,
    SONDE_UPLOAD_NEVER,
};

enum sonde_upload_outcome {
    SONDE_UPLOAD_STORED,  /* the server has it; removed here unless `keep` is set */
    SONDE_UPLOAD_LATER,   /* it stays, and will be tried again */
    SONDE_UPLOAD_REFUSED, /* the server will never accept it: it stays until the folder's caps
                             remove it, and is not tried again */
    SONDE_UPLOAD_STOPPED, /* the server accepts nothing: wrong key or address. All stay */
};

/* One report, before and after it is sent. */
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
    uint64_t wait_ns;        /* LATER and STOPPED: time until the next try */
    const char *const *need; /* build-ids whose symbols the server lacks, null-terminated */
};

/* on_begin returns 0 to send the report, anything else to skip it this time. */
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
    int32_t keep;                /* 1: keep stored reports; they are marked, and not sent again */
    int32_t plain_http;          /* 1: allow http:// to other machines: unencrypted */
    uint64_t timeout_ns;         /* for one request; 0: SONDE_UPLOAD_TIMEOUT_NS */
    sonde_upload_begin on_begin; /* or null; the item is valid during the call */
    sonde_upload_end on_end;     /* or null; the item as above */
    void *ctx;
    /* For sonde_upload_now(), the time for all reports together: a request that is under way then
     * is cancelled, and no other begins; 0: no limit. */
    uint64_t within_ns;
};

#define SONDE_UPLOAD_TIMEOUT_NS 120000000000u

/* The outcome of one pass over the folder. */
struct sonde_upload_result {
    size_t struct_bytes;
    uint32_t stored, refused, later;
    uint64_t wait_ns; /* until the next report is due; UINT64_MAX: none waits */
    char why[192];    /* why the last unsent report was not sent; or "" */
};

/* Try once, on the calling thread, to send each report of a run that has ended. Waits that the
 * sender chose are ignored; waits that the server asked for are kept. An app calls it at its start,
 * and when it enters the background, with the time that it is given (options.within_ns).
 *
 * options     folder, to and transport must be given
 * ret_result  written on OK; may be null
 * ret_error   may be null
 *
 * Returns    OK (also if nothing could be sent: see the result) | USAGE (malformed address) | BUSY
 *            (another process or thread sends from this folder) | MEMORY | ABSENT, DENIED,
 *            UNSUPPORTED, OS (the folder)
 * Context    any thread; not handler
 * Blocks     until all have been tried
 * Ownership  nothing is transferred
 * Example    examples/upload_spool.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_upload_now(const struct sonde_upload_options *options, struct sonde_upload_result *ret_result,
                 struct sonde_error *ret_error);

struct sonde_upload;

/* Start a sender: a thread that sends the reports that are due, and checks the folder again when
 * one becomes due, when woken, and every five minutes.
 *
 * options     as above; strings are copied, the transport must stay valid. on_begin and on_end are
 *             called on the sender's thread, and may call sonde_upload_pause()
 * ret_upload  written on OK
 *
 * Returns    OK | USAGE | MEMORY | OS (no thread could be created) | as for the folder
 * Context    any thread; not handler      Blocks  no
 * Ownership  the caller's: sonde_upload_stop()
 * Example    examples/upload_start.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_upload_start(const struct sonde_upload_options *options, struct sonde_upload **ret_upload,
                   struct sonde_error *ret_error);

/* Stop the sender. A request in progress is cancelled; its report is sent again later. After fork()
 * the child has no sender; stopping the parent's there frees nothing.
 *
 * upload  may be null
 *
 * Context    any thread but the sender's own; not handler
 * Blocks     until the transport has returned
 * Ownership  frees it
 * Example    examples/upload_start.c */
SONDE_API void sonde_upload_stop(struct sonde_upload *upload);

/* pause: 1: begin no further request; 0: go on. wake: check the folder now, and ignore waits that
 * the sender chose (those of the server stay).
 *
 * Context    any thread, also in the callbacks; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/upload_start.c */
SONDE_API void sonde_upload_pause(struct sonde_upload *upload, int32_t paused);
SONDE_API void sonde_upload_wake(struct sonde_upload *upload);

/* --- the folder, for an app that shows it to its user --- */

enum sonde_upload_state {
    SONDE_UPLOAD_WAITS,         /* to be sent */
    SONDE_UPLOAD_IS_REFUSED,    /* SONDE_UPLOAD_REFUSED */
    SONDE_UPLOAD_IS_SENT,       /* and kept */
    SONDE_UPLOAD_IS_UNFINISHED, /* its run goes on, or was killed (the next run finishes it) */
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

/* List the reports in the folder, oldest first. `each` returns 0 to continue; the entry is valid
 * during the call.
 *
 * Returns    OK | MEMORY | as for the folder
 * Context    any thread; not handler      Blocks  reads the folder
 * Ownership  nothing is transferred
 * Example    examples/upload_start.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_upload_list(const char *folder,
                  int32_t (*each)(void *ctx, const struct sonde_upload_entry *entry), void *ctx,
                  struct sonde_error *ret_error);

/* Get the bytes of a report in the folder, for sonde_report_read().
 *
 * Returns    OK | USAGE (not a report's name) | ABSENT | DENIED | MEMORY | OS (`write` failed)
 * Context    any thread; not handler      Blocks  in `write`
 * Ownership  nothing is transferred
 * Example    examples/upload_start.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_upload_read(const char *folder, const char *name,
                                                              sonde_write write, void *ctx,
                                                              struct sonde_error *ret_error);

/* Remove a report without sending it.
 *
 * Returns    OK | USAGE (not a report's name) | ABSENT | DENIED | BUSY (it is being sent,
 *            or its run goes on) | OS
 * Context    any thread; not handler      Blocks  no
 * Ownership  nothing is transferred
 * Example    examples/upload_start.c */
SONDE_API SONDE_NODISCARD enum sonde_status
sonde_upload_delete(const char *folder, const char *name, struct sonde_error *ret_error);

/* Put a report, written by sonde_report_write() or the watch, into the folder for sending. The
 * folder is created if missing; its caps apply (docs/guide/report.md).
 *
 * Returns    OK | CORRUPT (not a report) | LIMIT (larger than 64 MiB, or the disk is full) | MEMORY
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
