// SPDX-License-Identifier: Apache-2.0
/* Hooks: addresses that are told what happens to the groups of a project. Messages are those of
 * Standard Webhooks 1.0.0 (https://github.com/standard-webhooks/standard-webhooks): their ids,
 * signatures and bodies are made here. Pure functions, but for the secret. Context: any thread. */
#ifndef SONDE_COLLECTOR_HOOK_H
#define SONDE_COLLECTOR_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ids.h"

/* What a hook is told about. The bits are stored. */
enum hook_event { HOOK_TEST = 0, HOOK_NEW = 1, HOOK_REGRESSED = 2, HOOK_SPIKING = 4 };
enum { HOOK_EVENTS_ALL = HOOK_NEW | HOOK_REGRESSED | HOOK_SPIKING };

/* The secret's size is between the 24 and 64 bytes of the specification. */
enum { HOOK_URL_MAX = 1000, HOOK_SECRET = 32, HOOK_ID = 16 };
enum { HOOK_SECRET_TEXT = 51, HOOK_SIGNATURE_TEXT = 48, HOOK_ID_TEXT = 37, HOOK_WORDS_TEXT = 64 };
struct hook_secret {
    uint8_t bytes[HOOK_SECRET];
};

/* Words with commas between them, as "new,spiking". False: another word, or none. */
bool hook_parse_events(const char *text, uint32_t *ret_events);
void hook_events_text(uint32_t events, char ret_text[HOOK_WORDS_TEXT]);
/* The same for kinds of groups, "stall,error": bits 1 << enum digest_kind. */
bool hook_parse_kinds(const char *text, uint32_t *ret_kinds);
void hook_kinds_text(uint32_t kinds, char ret_text[HOOK_WORDS_TEXT]);
uint32_t hook_kinds_default(void);

/* An http or https address with a host, without a user, a password or a fragment, in the characters
 * that a URL may have. */
bool hook_is_url(const char *text);

/* False: the system gives no random numbers. */
bool hook_make_secret(struct hook_secret *ret_secret);
/* "whsec_" and base64. */
void hook_secret_text(const struct hook_secret *secret, char ret_text[HOOK_SECRET_TEXT]);
/* "v1," and the base64 of the HMAC-SHA256 of "ID.TIME.BODY". seconds: of this try, since 1970. */
void hook_sign(const struct hook_secret *secret, const char *id, uint64_t seconds, const char *body,
               char ret_text[HOOK_SIGNATURE_TEXT]);

/* What happened. */
struct hook_message {
    enum hook_event event;
    uint64_t time_ns; /* since 1970 */
    const char *project;
    /* but of a test: */
    int64_t group;
    uint32_t kind;     /* enum digest_kind */
    const char *cause; /* the group's fingerprint or key */
    const char *title, *summary, *program, *build;
    struct report_id report; /* with which it happened */
    uint64_t count, usual;   /* of a spike: events of the hour, and of a usual one */
};

/* "msg_" and 32 digits. The same message of a hook has the same id, also when the report is read
 * again after a loss of power; no other one has it, and nobody without the secret can foresee it.
 */
void hook_message_id(const struct hook_secret *secret, const struct hook_message *message,
                     char ret_text[HOOK_ID_TEXT]);
/* The body: one line of JSON. Null: no memory. Ownership: free(). */
char *hook_message_body(const struct hook_message *message);

#endif
