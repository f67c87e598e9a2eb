// SPDX-License-Identifier: Apache-2.0
/* Compiled rules: all of them come back, and what a file of rules could not have said is refused.
 */
#include "audit_blob.h"

#include <stdlib.h>
#include <string.h>

#include "base_bytes.h"
#include "base_crc32c.h"
#include "mem_heap.h"
#include "report_model.h"
#include "test.h"

static const char *const functions[] = {"open", "openat", "SSL_*", "ns::f(int)", "-[A b:]"};
static const uint32_t arguments[] = {1, 2, 0, 6, 3};
static const struct sonde__audit_pattern patterns[] = {
    {false, false, "libc.so*"}, {true, false, "f_*"}, {false, true, "*"}, {true, true, "g"}};

/* Every member is set. */
static const char *const keeps[] = {"path", "flags"};
static struct sonde__audit_rule rules[] = {
    {.name = "all",
     .pack = "team",
     .category = "secret",
     .text = "two\nlines \xc3\xa9",
     .severity = SONDE__REPORT_SEVERITY_ERROR,
     .functions = functions,
     .arguments = arguments,
     .function_count = 2,
     .when = "flags & O_ACCMODE == O_RDONLY && path ~ ~/.ssh/**",
     .from = {patterns, 4},
     .keeps = keeps,
     .keep_count = 2,
     .phase = "consent",
     .is_before_phase = true},
    {.name = "limited",
     .pack = "",
     .category = "",
     .text = "",
     .severity = SONDE__REPORT_SEVERITY_NOTE,
     .functions = functions,
     .arguments = arguments,
     .function_count = 5,
     .limit_count = 3,
     .limit_ns = 2000000000},
};
static const struct sonde__audit_sdk sdks[] = {{"analytics", {patterns, 2}}};
static const struct sonde__audit_rules all = {rules, 2, sdks, 1};

static uint8_t *bytes;
static size_t size;
static struct sonde_error error;

static void make(void)
{
    CHECK_OK(sonde__audit_blob_write(&all, &bytes, &size, &error));
}

static enum sonde_status read_bytes(const void *from, size_t count)
{
    struct sonde__audit_blob blob;
    enum sonde_status status = sonde__audit_blob_read(from, count, &blob, &error);
    if (status == SONDE_OK) {
        sonde__audit_blob_done(&blob);
    }
    return status;
}

/* A change that is meant to be read, not found by the checksum. */
static void seal(uint8_t *blob)
{
    sonde__base_put_le32(blob + 20, sonde__base_crc32c(0, blob + SONDE__AUDIT_BLOB_HEADER,
                                                       size - SONDE__AUDIT_BLOB_HEADER));
}

static void check_text(const char *is, const char *was)
{
    CHECK((is == NULL) == (was == NULL));
    CHECK_STR(is != NULL ? is : "", was != NULL ? was : "");
}

static void check_patterns(const struct sonde__audit_patterns *is,
                           const struct sonde__audit_patterns *was)
{
    CHECK_EQ(is->count, was->count);
    for (size_t i = 0; i < was->count; i++) {
        CHECK_EQ(is->items[i].is_symbol, was->items[i].is_symbol);
        CHECK_EQ(is->items[i].is_not, was->items[i].is_not);
        CHECK_STR(is->items[i].glob, was->items[i].glob);
    }
}

static void check_rule(const struct sonde__audit_rule *is, const struct sonde__audit_rule *was)
{
    CHECK_STR(is->name, was->name);
    CHECK_STR(is->pack, was->pack);
    CHECK_STR(is->category, was->category);
    CHECK_STR(is->text, was->text);
    CHECK_EQ(is->severity, was->severity);
    CHECK_EQ(is->function_count, was->function_count);
    for (size_t i = 0; i < was->function_count; i++) {
        CHECK_STR(is->functions[i], was->functions[i]);
        CHECK_EQ(is->arguments[i], was->arguments[i]);
    }
    check_text(is->when, was->when);
    check_text(is->phase, was->phase);
    CHECK_EQ(is->is_before_phase, was->is_before_phase);
    CHECK_EQ(is->limit_count, was->limit_count);
    CHECK_EQ(is->limit_ns, was->limit_ns);
    CHECK_EQ(is->keep_count, was->keep_count);
    for (size_t i = 0; i < was->keep_count; i++) {
        CHECK_STR(is->keeps[i], was->keeps[i]);
    }
    check_patterns(&is->from, &was->from);
}

TEST(all_rules_come_back)
{
    struct sonde__audit_blob blob;
    make();
    CHECK(sonde__audit_blob_is(bytes, size));
    CHECK_OK(sonde__audit_blob_read(bytes, size, &blob, &error));
    sonde__mem_free(bytes); /* the rules do not need them */
    CHECK_EQ(blob.rules.count, all.count);
    for (size_t i = 0; i < all.count; i++) {
        check_rule(&blob.rules.rules[i], &rules[i]);
    }
    CHECK_EQ(blob.rules.sdk_count, 1);
    CHECK_STR(blob.rules.sdks[0].name, "analytics");
    check_patterns(&blob.rules.sdks[0].match, &sdks[0].match);
    sonde__audit_blob_done(&blob);
}

TEST(the_header_is_as_documented)
{
    make();
    CHECK(memcmp(bytes, "SONDEAUD\1\0\0\0\0\0\0\0", 16) == 0);
    CHECK_EQ(sonde__base_le32(bytes + 16), size);
    CHECK_EQ(sonde__base_le32(bytes + 24), 2);
    bytes[8] = 2;
    CHECK_EQ(read_bytes(bytes, size), SONDE_UNSUPPORTED);
    CHECK(strstr(error.what, "another version") != NULL);
    bytes[8] = 1;
    bytes[12] = 1;
    CHECK_EQ(read_bytes(bytes, size), SONDE_UNSUPPORTED);
    CHECK(strstr(error.what, "architecture") != NULL);
    CHECK_EQ(read_bytes("[rule \"a\"]\n", 11), SONDE_CORRUPT);
    CHECK_EQ(read_bytes(NULL, 0), SONDE_CORRUPT);
    sonde__mem_free(bytes);
}

TEST(cut_or_damaged_rules_are_refused)
{
    make();
    for (size_t i = 0; i < size; i++) {
        uint8_t *part = sonde__mem_alloc(i + (i == 0)); /* its end is known to a sanitizer */
        memcpy(part, bytes, i);
        CHECK_EQ(read_bytes(part, i), SONDE_CORRUPT);
        sonde__mem_free(part);
        bytes[i] ^= 4;
        CHECK(read_bytes(bytes, size) != SONDE_OK);
        bytes[i] ^= 4;
    }
    CHECK_OK(read_bytes(bytes, size));
    sonde__mem_free(bytes);
}

TEST(any_byte_may_be_another_one)
{
    unsigned refused = 0, read = 0;
    make();
    for (size_t i = SONDE__AUDIT_BLOB_HEADER; i < size; i++) {
        uint8_t was = bytes[i];
        for (unsigned change = 1; change < 256; change *= 2) {
            bytes[i] = (uint8_t)(was ^ change);
            seal(bytes);
            enum sonde_status status = read_bytes(bytes, size);
            CHECK(status == SONDE_OK || status == SONDE_CORRUPT || status == SONDE_LIMIT);
            refused += status != SONDE_OK;
            read += status == SONDE_OK;
        }
        bytes[i] = was;
    }
    CHECK(refused > 300 && read > 300);
    sonde__mem_free(bytes);
}

/* Write rules that no file can have. */
static void refuse(void)
{
    make();
    CHECK_EQ(read_bytes(bytes, size), SONDE_CORRUPT);
    sonde__mem_free(bytes);
}

TEST(what_no_file_of_rules_says_is_refused)
{
    struct sonde__audit_rule was[2];
    static const char *const unknown[] = {"no_such_word"}, *const empty[] = {""};
    static const char *const wrong[] = {"a b"};
    static const uint32_t seventh[] = {7, 7};
    memcpy(was, rules, sizeof was);
    rules[0].severity = 4;
    refuse();
    memcpy(rules, was, sizeof was);
    rules[0].name = "limited";
    refuse();
    rules[0].name = "";
    refuse();
    rules[0].name = "bell\a";
    refuse();
    memcpy(rules, was, sizeof was);
    rules[0].when = "flags &";
    refuse();
    rules[0].when = "no_such_word == 1";
    refuse();
    memcpy(rules, was, sizeof was);
    rules[0].phase = NULL; /* before nothing */
    refuse();
    memcpy(rules, was, sizeof was);
    rules[0].arguments = seventh;
    refuse();
    memcpy(rules, was, sizeof was);
    rules[1].functions = wrong;
    rules[1].function_count = 1;
    refuse();
    memcpy(rules, was, sizeof was);
    rules[0].keeps = unknown;
    rules[0].keep_count = 1;
    refuse();
    rules[0].keeps = empty;
    refuse();
    memcpy(rules, was, sizeof was);
    rules[1].limit_count = 1001;
    refuse();
    rules[1].limit_count = 0; /* in a time */
    refuse();
    memcpy(rules, was, sizeof was);
    rules[1].from = rules[0].from; /* with a limit */
    refuse();
    memcpy(rules, was, sizeof was);
}

TEST(without_memory_nothing_is_left)
{
    make();
    uint64_t index = 0;
    enum sonde_status status = SONDE_MEMORY;
    for (; status == SONDE_MEMORY; index++) {
        sonde__mem_fail_from(index);
        status = read_bytes(bytes, size);
    }
    sonde__mem_fail_from(UINT64_MAX);
    CHECK_OK(status);
    CHECK(index > 1);
    sonde__mem_fail_from(0);
    uint8_t *none;
    CHECK_EQ(sonde__audit_blob_write(&all, &none, &size, &error), SONDE_MEMORY);
    sonde__mem_fail_from(UINT64_MAX);
    sonde__mem_free(bytes);
}
