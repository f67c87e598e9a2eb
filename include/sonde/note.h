// SPDX-License-Identifier: Apache-2.0
/* What a program says of itself: every stall that the watch of this process (sonde/watch.h) reports
 * has it, as it was when the turn or scope became a stall, and so has the live file.
 *
 * Texts are copied here and cut where they are longer. They are written to the report as they are:
 * give nothing that must not leave the machine. */
#ifndef SONDE_NOTE_H
#define SONDE_NOTE_H

#include "sonde/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_NOTES_MAX        16u
#define SONDE_NOTE_KEY_BYTES   31u
#define SONDE_NOTE_VALUE_BYTES 127u
#define SONDE_PHASE_BYTES      63u

/* Set a note: which document is open, which mode, how much of something.
 *
 * key    "document"; one that was set before gets the new value
 * value  null: the note is removed
 *
 * Returns    OK | USAGE (no key, or a longer one) | LIMIT (there are SONDE_NOTES_MAX others)
 * Context    any thread; not handler      Blocks  while another thread sets one: some ns
 * Ownership  nothing is transferred
 * Example    examples/watch_service.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_watch_note(const char *key, const char *value);

/* What the user has agreed to. The numbers are those of Consent in proto/sonde/v1/report.proto. */
enum sonde_consent {
    SONDE_CONSENT_UNKNOWN = 0, /* or it does not matter */
    SONDE_CONSENT_BEFORE = 1,  /* nothing yet */
    SONDE_CONSENT_GIVEN = 2,
    SONDE_CONSENT_REFUSED = 3,
};

/* A part of the run begins, and lasts until the next one: "start", "login", "playing".
 *
 * name  null or "": none
 *
 * Context    as sonde_watch_note()      Blocks  likewise
 * Ownership  nothing is transferred
 * Example    examples/watch_service.c */
SONDE_API void sonde_watch_phase(const char *name, enum sonde_consent consent);

/* What the calling thread's loop does from now on: "timers", "dispatch". One store.
 *
 * name  as long as the program: a string literal; null: not known
 *
 * Context    as sonde_idle_enter()      Blocks  no
 * Ownership  nothing is transferred
 * Example    include/sonde/hooks/glib.h */
SONDE_API void sonde_loop_phase(const char *name);

#ifdef __cplusplus
}
#endif

#endif
