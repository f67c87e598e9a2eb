// SPDX-License-Identifier: Apache-2.0
#include "hook.h"

#include <nettle/base64.h>
#include <nettle/hmac.h>

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "digest.h"

/* --- words --- */

/* Words and their bits; a null word ends them. */
struct word {
    const char *text;
    uint32_t bit;
};
static const struct word events[] = {
    {"new", HOOK_NEW}, {"regressed", HOOK_REGRESSED}, {"spiking", HOOK_SPIKING}, {NULL, 0}};
static const struct word kinds[] = {{"stall", 1u << DIGEST_STALL},
                                    {"finding", 1u << DIGEST_FINDING},
                                    {"call", 1u << DIGEST_CALL},
                                    {"error", 1u << DIGEST_ERROR},
                                    {NULL, 0}};

/* 0: none has this text. */
static uint32_t bit_of(const struct word *words, const char *text, size_t size)
{
    for (; words->text != NULL; words++) {
        if (strlen(words->text) == size && memcmp(words->text, text, size) == 0) {
            return words->bit;
        }
    }
    return 0;
}

static bool parse(const struct word *words, const char *text, uint32_t *ret_bits)
{
    uint32_t bits = 0, bit;
    do {
        size_t size = strcspn(text, ",");
        bit = bit_of(words, text, size);
        bits |= bit;
        text += size;
    } while (bit != 0 && *text++ == ',');
    if (bit != 0) {
        *ret_bits = bits;
    }
    return bit != 0;
}

static void print(const struct word *words, uint32_t bits, char ret_text[HOOK_WORDS_TEXT])
{
    size_t used = 0;
    ret_text[0] = '\0';
    for (; words->text != NULL; words++) {
        if ((bits & words->bit) != 0) {
            used += (size_t)snprintf(ret_text + used, HOOK_WORDS_TEXT - used, "%s%s",
                                     used != 0 ? "," : "", words->text);
        }
    }
}

bool hook_parse_events(const char *text, uint32_t *ret_events)
{
    return parse(events, text, ret_events);
}

void hook_events_text(uint32_t bits, char ret_text[HOOK_WORDS_TEXT])
{
    print(events, bits, ret_text);
}

bool hook_parse_kinds(const char *text, uint32_t *ret_kinds)
{
    return parse(kinds, text, ret_kinds);
}

void hook_kinds_text(uint32_t bits, char ret_text[HOOK_WORDS_TEXT])
{
    print(kinds, bits, ret_text);
}

/* Calls without a rule are no fault of a program. */
uint32_t hook_kinds_default(void)
{
    return 1u << DIGEST_STALL | 1u << DIGEST_FINDING | 1u << DIGEST_ERROR;
}

/* A host, in brackets if it has colons, and perhaps a port. RFC 3986, 3.2. */
static bool is_host(const char *host, size_t size)
{
    const char *end = host + size;
    bool is_in_brackets = *host == '[';
    const char *after = memchr(host, is_in_brackets ? ']' : ':', size);
    if (is_in_brackets && after != NULL) {
        after++;
    }
    if (after == NULL || after == end) {
        return after != NULL || !is_in_brackets;
    }
    uint32_t port = 0;
    for (const char *digit = after + 1; digit < end && port < 65536; digit++) {
        if (*digit < '0' || *digit > '9') {
            return false;
        }
        port = 10 * port + (uint32_t)(*digit - '0');
    }
    return *after == ':' && port != 0 && port < 65536;
}

bool hook_is_url(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "-._~:/?[]@!$&'()*+,;=%"; /* RFC 3986, 2, without "#" */
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    const char *host = text + scheme;
    size_t size = strcspn(host, "/?");
    return scheme != 0 && size != 0 && strchr(":/?", *host) == NULL &&
           memchr(host, '@', size) == NULL && is_host(host, size) && strlen(text) <= HOOK_URL_MAX &&
           text[strspn(text, allowed)] == '\0';
}

/* --- signatures --- */

bool hook_make_secret(struct hook_secret *ret_secret)
{
    return getrandom(ret_secret->bytes, HOOK_SECRET, 0) == (ssize_t)HOOK_SECRET;
}

static void put_base64(const char *prefix, const uint8_t bytes[32], char *ret_text)
{
    size_t size = strlen(prefix);
    memcpy(ret_text, prefix, size);
    base64_encode_raw(ret_text + size, 32, bytes);
    ret_text[size + BASE64_ENCODE_RAW_LENGTH(32)] = '\0';
}

void hook_secret_text(const struct hook_secret *secret, char ret_text[HOOK_SECRET_TEXT])
{
    _Static_assert(HOOK_SECRET == 32 && HOOK_SECRET_TEXT == 6 + 44 + 1, "its text has this size");
    put_base64("whsec_", secret->bytes, ret_text);
}

void hook_sign(const struct hook_secret *secret, const char *id, uint64_t seconds, const char *body,
               char ret_text[HOOK_SIGNATURE_TEXT])
{
    struct hmac_sha256_ctx hmac;
    uint8_t mac[SHA256_DIGEST_SIZE];
    char head[HOOK_ID_TEXT + 24];
    int size = snprintf(head, sizeof head, "%s.%llu.", id, (unsigned long long)seconds);
    hmac_sha256_set_key(&hmac, HOOK_SECRET, secret->bytes);
    hmac_sha256_update(&hmac, (size_t)size, (const uint8_t *)head);
    hmac_sha256_update(&hmac, strlen(body), (const uint8_t *)body);
    hmac_sha256_digest(&hmac, sizeof mac, mac);
    _Static_assert(sizeof mac == 32 && HOOK_SIGNATURE_TEXT == 3 + 44 + 1, "its text has this size");
    put_base64("v1,", mac, ret_text);
}
