// SPDX-License-Identifier: Apache-2.0
/* Sends the reports of a spool folder in passes; the caller waits between them. Files next to the
 * reports keep the state (upload_state.h). Before a request they are written as if it had failed,
 * so a killed sender loses nothing and counts as a try.
 *
 * The caller provides clock and random numbers, so tests run in virtual time. Context: any thread,
 * one at a time per sender; upload.lock in the folder locks out others. */
#ifndef SONDE_UPLOAD_SENDER_H
#define SONDE_UPLOAD_SENDER_H

#include <stdatomic.h>
#include <stdbool.h>

#include <sonde/upload.h>

#include "spool_folder.h"
#include "upload_answer.h"
#include "upload_state.h"

#define SONDE__UPLOAD_SIDECAR ".upload" /* suffix of RUN */
#define SONDE__UPLOAD_STATE   "upload.state"
#define SONDE__UPLOAD_LOCK    "upload.lock"

struct sonde__upload_env {
    int64_t (*unix_s)(void *ctx);
    uint32_t (*random)(void *ctx); /* all 32 bits */
    uint64_t (*now_ns)(void *ctx); /* of a clock that is never set */
    void *ctx;
};
extern const struct sonde__upload_env sonde__upload_real_env;

struct sonde__upload_sender {
    struct sonde_upload_options options; /* copied by base_sized.h */
    struct sonde_upload_transport transport;
    struct sonde__upload_address address;
    struct sonde__upload_env env;
    const _Atomic uint32_t *paused; /* null: never */
    struct sonde__upload_limit limit;
    struct sonde__upload_reply *reply;
    struct sonde__upload_verdict *verdict; /* of the last request */
    bool is_hasty;                         /* ignore our own waits once */
    bool is_unknown_network;               /* allowed, but perhaps metered: nobody knows */
};

/* options: as in upload.h; folder may be null (single files only). Returns OK | USAGE | MEMORY.
 * Ownership: sonde__upload_sender_done(); the strings of the options stay the caller's. */
SONDE_NODISCARD enum sonde_status
sonde__upload_sender_make(const struct sonde_upload_options *options,
                          const struct sonde__upload_env *env,
                          struct sonde__upload_sender *ret_sender, struct sonde_error *ret_error);
void sonde__upload_sender_done(struct sonde__upload_sender *sender);

/* One pass. Returns as sonde_upload_now(). */
SONDE_NODISCARD enum sonde_status sonde__upload_pass(struct sonde__upload_sender *sender,
                                                     struct sonde_upload_result *ret_result,
                                                     struct sonde_error *ret_error);

/* May something be sent now? False: no, with the reason in `ret_why`; else that is "", and the
 * sender's is_unknown_network is set. */
bool sonde__upload_is_allowed(struct sonde__upload_sender *sender, char ret_why[SONDE__UPLOAD_WHY]);

/* Send one report, from part state->part on; the parts before are stored already. each: called with
 * the state after a part was stored, if more follow. The result is sender->verdict. */
void sonde__upload_report(struct sonde__upload_sender *sender, const void *bytes, size_t size,
                          struct sonde__upload_state *state,
                          void (*each)(void *ctx, const struct sonde__upload_state *state),
                          void *ctx);

#endif
