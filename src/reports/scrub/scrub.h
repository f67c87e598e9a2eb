// SPDX-License-Identifier: Apache-2.0
/* Removes personal data and secrets from a text before it is stored: home folders, user names,
 * passwords and tokens in command lines, queries of URLs; on request addresses, peers, arguments
 * and texts of the user's choice.
 *
 * All texts of a report that is made here pass through it (sonde__report_copy_text()), so report
 * files, live files, JSON and text agree. One pass, left to right; at each place the first rule
 * that matches replaces. Scrubbing a result again changes nothing. Cost: bytes times rules; no
 * heap. Context: any thread; set the rules before the first report. */
#ifndef SONDE_SCRUB_H
#define SONDE_SCRUB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base_text.h"

enum sonde__scrub_rule {
    SONDE__SCRUB_HOME = 1,       /* "/home/kim/x" -> "~/x" */
    SONDE__SCRUB_USER = 2,       /* "/run/user/1000" -> "/run/user/<uid>", "kim" -> "<user>" */
    SONDE__SCRUB_SECRETS = 4,    /* "--password=x" -> "--password=***" */
    SONDE__SCRUB_QUERIES = 8,    /* "?id=x" -> "?***" */
    SONDE__SCRUB_IP = 16,        /* "10.1.2.3" -> "<ip>", except loopback */
    SONDE__SCRUB_PEERS = 32,     /* "tcp A:1 to B:2" -> "tcp A:1 to <peer>" */
    SONDE__SCRUB_ARGUMENTS = 64, /* "process 7 (curl -v x)" -> "process 7 (curl …)" */
    SONDE__SCRUB_DEFAULT =
        SONDE__SCRUB_HOME | SONDE__SCRUB_USER | SONDE__SCRUB_SECRETS | SONDE__SCRUB_QUERIES,
};

/* More than a person writes; further ones are refused. */
#define SONDE__SCRUB_TEXTS_MAX  64u
#define SONDE__SCRUB_TEXT_BYTES 256u
#define SONDE__SCRUB_NAMES_MAX  8u
#define SONDE__SCRUB_NAME_BYTES 64u

/* A text chosen by the user, and its replacement. */
struct sonde__scrub_text {
    char text[SONDE__SCRUB_TEXT_BYTES], with[SONDE__SCRUB_NAME_BYTES];
    bool is_path; /* matches whole parts of a path only */
};

struct sonde__scrub_rules {
    uint32_t on; /* enum sonde__scrub_rule */
    char home[SONDE__SCRUB_TEXT_BYTES];
    char names[SONDE__SCRUB_NAMES_MAX][SONDE__SCRUB_NAME_BYTES]; /* of users */
    uint32_t name_count;
    struct sonde__scrub_text texts[SONDE__SCRUB_TEXTS_MAX];
    uint32_t text_count;
};

/* The defaults. They have no home and no user names. */
void sonde__scrub_init(struct sonde__scrub_rules *rules);
/* $HOME; ignored unless it is an absolute path other than "/". */
void sonde__scrub_set_home(struct sonde__scrub_rules *rules, const char *home);
/* A user's name. Short names and system users ("root") are no secret and are ignored. */
void sonde__scrub_add_name(struct sonde__scrub_rules *rules, const char *name);
/* Add "ip", "-user", "user:kim", "home:/srv/kim", "none", "all", "text:acme" or
 * "path:/srv/acme=<srv>". Returns null, or an error text. */
const char *sonde__scrub_add(struct sonde__scrub_rules *rules, const char *rule, size_t size);
/* Write the rules, each ended by a newline, in the form that sonde__scrub_add() reads. */
void sonde__scrub_write(const struct sonde__scrub_rules *rules, struct sonde__text *ret_text);

/* Append the scrubbed text. */
void sonde__scrub(const struct sonde__scrub_rules *rules, const char *text, size_t size,
                  struct sonde__text *ret_text);

/* Expand "~/x" to this machine's path, in `buffer`; other paths are returned unchanged. */
const char *sonde__scrub_expand(const char *path, char *buffer, size_t capacity);

/* Set the rules for reports that are made from now on; null: the defaults. They are not copied. */
void sonde__scrub_use(const struct sonde__scrub_rules *rules);
const struct sonde__scrub_rules *sonde__scrub_used(void);

#endif
