// SPDX-License-Identifier: Apache-2.0
#include "upload_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base_text.h"
#include "upload_wait.h"

#define MAGIC "sonde-upload 1\n"

static const char *const stages[] = {[SONDE__UPLOAD_WAITING] = "waiting",
                                     [SONDE__UPLOAD_REFUSED_FOR_GOOD] = "refused",
                                     [SONDE__UPLOAD_SENT] = "sent"};

size_t sonde__upload_state_write(const struct sonde__upload_state *state,
                                 char ret_text[SONDE__UPLOAD_STATE_TEXT])
{
    int size = snprintf(ret_text, SONDE__UPLOAD_STATE_TEXT,
                        MAGIC "to %s\nstate %s\ntries %" PRIu32 "\nsince %" PRId64 "\nwait %" PRIu32
                              "\nasked %d\npart %" PRIu32 "\nstatus %" PRId32 "\nwhy %s\n",
                        state->to, stages[state->stage], state->tries, state->since_s,
                        state->wait_s, state->is_asked, state->part, state->status, state->why);
    return (size_t)size;
}

/* --- reading --- */

static int64_t number(const char *text, int64_t max)
{
    int64_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        value = value * 10 + (*text - '0');
        if (value > max) {
            return max;
        }
    }
    return value;
}

static void take_plain(char *to, size_t capacity, const char *from)
{
    size_t size = 0;
    for (; from[size] >= ' ' && from[size] <= '~' && size + 1 < capacity; size++) {
        to[size] = from[size];
    }
    to[size] = '\0';
}

static void take_line(struct sonde__upload_state *state, const char *line)
{
    const char *space = strchr(line, ' ');
    if (space == NULL) {
        return;
    }
    const char *value = space + 1;
    if (sonde__base_starts_with(line, "to ")) {
        take_plain(state->to, sizeof state->to, value);
    } else if (sonde__base_starts_with(line, "why ")) {
        take_plain(state->why, sizeof state->why, value);
    } else if (sonde__base_starts_with(line, "state ")) {
        for (unsigned i = 0; i < sizeof stages / sizeof stages[0]; i++) {
            state->stage =
                strcmp(value, stages[i]) == 0 ? (enum sonde__upload_stage)i : state->stage;
        }
    } else if (sonde__base_starts_with(line, "tries ")) {
        state->tries = (uint32_t)number(value, 1000000);
    } else if (sonde__base_starts_with(line, "since ")) {
        state->since_s = number(value, INT64_C(1) << 40);
    } else if (sonde__base_starts_with(line, "wait ")) {
        state->wait_s = (uint32_t)number(value, SONDE__UPLOAD_WAIT_MAX_S);
    } else if (sonde__base_starts_with(line, "asked ")) {
        state->is_asked = value[0] == '1';
    } else if (sonde__base_starts_with(line, "part ")) {
        state->part = (uint32_t)number(value, 1000000);
    } else if (sonde__base_starts_with(line, "status ")) {
        state->status = (int32_t)number(value, 999);
    }
}

bool sonde__upload_state_read(const void *bytes, size_t size, struct sonde__upload_state *ret_state)
{
    char text[SONDE__UPLOAD_STATE_TEXT];
    struct sonde__upload_state state = {0};
    if (size < sizeof MAGIC - 1 || size >= sizeof text ||
        memcmp(bytes, MAGIC, sizeof MAGIC - 1) != 0 || memchr(bytes, '\0', size) != NULL) {
        return false;
    }
    memcpy(text, bytes, size);
    text[size] = '\0';
    char *line = text + sizeof MAGIC - 1;
    for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        take_line(&state, line);
    }
    *ret_state = state;
    return true;
}

/* --- waiting times --- */

uint32_t sonde__upload_backoff_s(uint32_t tries, uint32_t random)
{
    uint32_t wait_s = SONDE__UPLOAD_WAIT_FIRST_S;
    for (uint32_t i = 1; i < tries && wait_s < SONDE__UPLOAD_WAIT_LAST_S; i++) {
        wait_s *= 2;
    }
    wait_s = wait_s < SONDE__UPLOAD_WAIT_LAST_S ? wait_s : SONDE__UPLOAD_WAIT_LAST_S;
    return wait_s * 3 / 4 + (uint32_t)((uint64_t)random * (wait_s / 2 + 1) >> 32);
}

uint32_t sonde__upload_left_s(const struct sonde__upload_state *state, int64_t now_s)
{
    int64_t passed = now_s - state->since_s;
    return passed < 0 || passed >= (int64_t)state->wait_s ? 0 : (uint32_t)(state->wait_s - passed);
}

void sonde__upload_state_begin(struct sonde__upload_state *state, int64_t now_s, uint32_t random)
{
    state->tries++;
    state->since_s = now_s;
    state->wait_s = sonde__upload_backoff_s(state->tries, random);
    state->is_asked = false;
    state->status = 0;
    snprintf(state->why, sizeof state->why, "the sender ended before the answer came");
}

void sonde__upload_state_end(struct sonde__upload_state *state,
                             const struct sonde__upload_verdict *verdict, int64_t now_s)
{
    state->since_s = now_s;
    state->status = verdict->status;
    snprintf(state->why, sizeof state->why, "%s", verdict->why);
    if (verdict->meaning == SONDE__UPLOAD_DONE) {
        state->tries = 0;
        state->wait_s = 0;
    } else if (verdict->meaning == SONDE__UPLOAD_REFUSAL) {
        state->stage = SONDE__UPLOAD_REFUSED_FOR_GOOD;
        state->wait_s = 0;
    } else if (verdict->meaning == SONDE__UPLOAD_STOP) {
        state->tries -= state->tries > 0; /* a fault of the address, not of this report */
        state->wait_s = 0;
    }
}

void sonde__upload_address_end(struct sonde__upload_state *address,
                               const struct sonde__upload_verdict *verdict, int64_t now_s,
                               uint32_t random)
{
    bool answers =
        verdict->meaning == SONDE__UPLOAD_DONE || verdict->meaning == SONDE__UPLOAD_REFUSAL;
    address->tries = answers ? 0 : address->tries + 1;
    address->since_s = now_s;
    address->status = verdict->status;
    address->is_asked = verdict->wait_s != 0;
    snprintf(address->why, sizeof address->why, "%s", verdict->why);
    uint32_t own_s = answers ? 0
                     : verdict->meaning == SONDE__UPLOAD_STOP
                         ? SONDE__UPLOAD_WAIT_LAST_S /* this will not change soon */
                         : sonde__upload_backoff_s(address->tries, random);
    /* the server's wait wins, unless it repeatedly asks for less than our backoff */
    bool is_enough = verdict->wait_s >= own_s || (verdict->wait_s != 0 && address->tries <= 1);
    address->wait_s = is_enough ? verdict->wait_s : own_s;
}
