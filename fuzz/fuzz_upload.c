// SPDX-License-Identifier: Apache-2.0
/* Input of a sender from others: an address, headers and body of a response, the state file. None
 * of it may cause a line break, an address of another host, or a wait of more than a day.
 *
 * Input: a type byte: 0 an address, 1 a state, else a response (the byte gives the status, from 100
 * in steps of 4) with header lines, an empty line and the body. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "upload_answer.h"
#include "upload_state.h"
#include "upload_wait.h"

static void must_be_one_line(const char *text)
{
    for (; *text != '\0'; text++) {
        FUZZ_MUST(*text >= ' ' && *text <= '~');
    }
}

static void read_address(const uint8_t *data, size_t size)
{
    struct sonde__upload_address address;
    char text[2048];
    size_t length = size < sizeof text ? size : sizeof text - 1;
    if (length > 0) {
        memcpy(text, data, length);
    }
    text[length] = '\0';
    if (sonde__upload_address_read(text, NULL, &address, NULL) != SONDE_OK) {
        return;
    }
    must_be_one_line(address.url);
    must_be_one_line(address.shown);
    FUZZ_MUST(strchr(address.shown, '@') == NULL && strchr(address.url, '?') == NULL);
    FUZZ_MUST(strncmp(address.url, address.is_plain ? "http://" : "https://", 7) == 0);
    FUZZ_MUST(address.protocol != SONDE__UPLOAD_SENTRY || address.key[0] != '\0');
}

static void read_state(const uint8_t *data, size_t size)
{
    struct sonde__upload_state state, again;
    char text[SONDE__UPLOAD_STATE_TEXT];
    if (!sonde__upload_state_read(data, size, &state)) {
        return;
    }
    must_be_one_line(state.to);
    must_be_one_line(state.why);
    FUZZ_MUST(state.wait_s <= SONDE__UPLOAD_WAIT_MAX_S && state.stage <= SONDE__UPLOAD_SENT);
    size_t written = sonde__upload_state_write(&state, text);
    FUZZ_MUST(written < sizeof text);
    FUZZ_MUST(sonde__upload_state_read(text, written, &again));
    FUZZ_MUST(again.tries == state.tries && again.since_s == state.since_s &&
              strcmp(again.to, state.to) == 0 && strcmp(again.why, state.why) == 0);
}

static void read_answer(uint8_t status, const uint8_t *data, size_t size)
{
    static struct sonde__upload_reply reply;
    static struct sonde__upload_verdict verdict;
    static const char id[] = "0123456789abcdef0123456789abcdef";
    const char *at = (const char *)data;
    size_t left = size;
    sonde__upload_reply_clear(&reply, NULL);
    while (left > 0) {
        const char *end = memchr(at, '\n', left);
        size_t line = end != NULL ? (size_t)(end - at) : left;
        reply.to.header(&reply.to, at, line);
        at += line + (end != NULL);
        left -= line + (end != NULL);
        if (line == 0) {
            break;
        }
    }
    (void)reply.to.body(&reply.to, at, left);
    reply.to.status(&reply.to, 100 + 4 * (int32_t)status);
    for (unsigned i = 0; i < 6; i++) {
        const struct sonde__upload_address address = {
            .protocol = i % 2 == 0 ? SONDE__UPLOAD_COLLECTOR : SONDE__UPLOAD_SENTRY};
        sonde__upload_judge(&reply, &address, id, (enum sonde_upload_coding)(i / 2), 1790000000,
                            &verdict);
        must_be_one_line(verdict.why);
        FUZZ_MUST(verdict.wait_s <= SONDE__UPLOAD_WAIT_MAX_S);
        FUZZ_MUST(verdict.need_count <= SONDE__UPLOAD_NEED_MAX);
        FUZZ_MUST(verdict.meaning != SONDE__UPLOAD_RECODE || verdict.coding < i / 2);
        FUZZ_MUST(verdict.meaning != SONDE__UPLOAD_DONE ||
                  (verdict.status >= 200 && verdict.status < 300));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    if (data[0] == 0) {
        read_address(data + 1, size - 1);
    } else if (data[0] == 1) {
        read_state(data + 1, size - 1);
    } else {
        read_answer(data[0], data + 1, size - 1);
    }
    return 0;
}
