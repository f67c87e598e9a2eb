// SPDX-License-Identifier: Apache-2.0
/* Context that a program sets: stored with every stall that the watch of this process
 * (sonde/watch.h) reports, as of the moment when the turn or scope became a stall, and in the live
 * file.
 *
 * Texts are copied; longer ones are cut. They are written to the report unchanged: set nothing that
 * must not leave the machine. */
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

/* Set a note: the open document, the mode, an amount.
 *
 * key    for instance "document"; replaces an earlier value
 * value  null: the note is removed
 *
 * Returns    OK | USAGE (no key, or it is too long) | LIMIT (SONDE_NOTES_MAX other keys are set)
 * Context    any thread; not handler      Blocks  while another thread sets a note: some ns
 * Ownership  nothing is transferred
 * Example    examples/watch_service.c */
SONDE_API SONDE_NODISCARD enum sonde_status sonde_watch_note(const char *key, const char *value);

/* What the user has agreed to. The numbers are those of Consent in proto/sonde/v1/report.proto. */
enum sonde_consent {
    SONDE_CONSENT_UNKNOWN = 0, /* or not applicable */
    SONDE_CONSENT_BEFORE = 1,  /* nothing yet */
    SONDE_CONSENT_GIVEN = 2,
    SONDE_CONSENT_REFUSED = 3,
};

/* Begin a phase of the run: "start", "login", "playing". It lasts until the next one.
 *
 * name  null or "": none
 *
 * Context    as sonde_watch_note()      Blocks  likewise
 * Ownership  nothing is transferred
 * Example    examples/watch_service.c */
SONDE_API void sonde_watch_phase(const char *name, enum sonde_consent consent);

/* Name the step that the calling thread's loop begins: "timers", "dispatch". One store.
 *
 * name  must live as long as the program: a string literal; null: unknown
 *
 * Context    as sonde_idle_enter()      Blocks  no
 * Ownership  nothing is transferred
 * Example    include/sonde/hooks/glib.h */
SONDE_API void sonde_loop_phase(const char *name);

#ifdef __cplusplus
}
#endif

#endif
