// SPDX-License-Identifier: Apache-2.0
#include "cause.h"

#include <stdio.h>
#include <string.h>

#include "import_model.h"
#include "report_fingerprint.h"

const char *cause_error(const struct sonde__report *report,
                        const struct sonde__report_thread *thread, bool *ret_is_fatal)
{
    static const char *const words[] = {IMPORT_ERROR, IMPORT_CRASHED};
    const char *note = sonde__report_text(report, thread->note);
    for (unsigned i = 0; i < 2; i++) {
        if (strncmp(note, words[i], strlen(words[i])) == 0) {
            *ret_is_fatal = i == 1;
            return note + strlen(words[i]);
        }
    }
    return NULL;
}

static enum sonde_status take(enum sonde_status status,
                              struct sonde__report_fingerprint *fingerprint,
                              char ret_cause[DIGEST_GROUP_TEXT])
{
    if (status == SONDE_OK) {
        snprintf(ret_cause, DIGEST_GROUP_TEXT, "%s", fingerprint->id);
        sonde__report_fingerprint_done(fingerprint);
    }
    return status;
}

enum sonde_status cause_of_stall(const struct sonde__report *report,
                                 const struct sonde__report_stall *stall,
                                 char ret_cause[DIGEST_GROUP_TEXT])
{
    struct sonde__report_fingerprint fingerprint;
    return take(sonde__report_fingerprint(report, stall, &fingerprint), &fingerprint, ret_cause);
}

enum sonde_status cause_of_error(const struct sonde__report *report,
                                 const struct sonde__report_thread *thread,
                                 char ret_cause[DIGEST_GROUP_TEXT])
{
    struct sonde__report_fingerprint fingerprint;
    bool is_fatal;
    const char *what = cause_error(report, thread, &is_fatal);
    return take(sonde__report_error_fingerprint(report, thread->stack, what, &fingerprint),
                &fingerprint, ret_cause);
}

void cause_of_call(const struct sonde__report *report, const struct sonde__report_call *call,
                   struct cause_room *room, char ret_cause[DIGEST_GROUP_TEXT])
{
    sonde__report_call_key(report, call, &room->path, &room->key);
    sonde__report_call_key_text(&room->key.hash, ret_cause);
}
