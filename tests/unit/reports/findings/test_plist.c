// SPDX-License-Identifier: Apache-2.0
/* Privacy manifests as property lists, XML and binary, also hostile ones. That what Python's
 * plistlib writes is read is tested by tests/integration/findings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings_manifest.h"
#include "findings_plist.h"
#include "mem_heap.h"
#include "test.h"

#define HEAD  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define LIST  HEAD "<plist version=\"1.0\"><dict>"
#define TYPES LIST "<key>NSPrivacyAccessedAPITypes</key><array>"
#define END   "</array></dict></plist>"
#define ENTRY(category, reasons)                                                                   \
    "<dict><key>NSPrivacyAccessedAPIType</key><string>" category "</string>"                       \
    "<key>NSPrivacyAccessedAPITypeReasons</key><array>" reasons "</array></dict>"

/* "CATEGORY COUNT REASONS|…", or the error. */
static const char *read_bytes(const void *bytes, size_t size)
{
    static char text[4096];
    static struct sonde__manifest manifest;
    struct sonde_error error = {.what = "no error"};
    size_t used = 0;
    manifest = (struct sonde__manifest){.count = 0};
    void *copy = malloc(size + (size == 0)); /* of its size, for sanitizers */
    CHECK(copy != NULL);
    memcpy(copy, bytes, size);
    enum sonde_status status = sonde__manifest_read(copy, size, &manifest, &error);
    free(copy);
    text[0] = '\0';
    if (status != SONDE_OK) {
        CHECK_EQ(error.status, status);
        CHECK_EQ(manifest.count, 0);
        snprintf(text, sizeof text, "%s", error.what);
    }
    for (uint32_t i = 0; i < manifest.count; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %u %s", i != 0 ? "|" : "",
                                 manifest.entries[i].category, manifest.entries[i].reason_count,
                                 manifest.entries[i].reasons);
    }
    return text;
}

static const char *read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

TEST(manifests_are_read)
{
    CHECK_STR(read_text(TYPES ENTRY("A", "<string>C617.1</string><string>3B52.1</string>")
                            ENTRY("B", "") END),
              "A 2 C617.1 3B52.1|B 0 ");
    CHECK_STR(read_text(LIST "<key>NSPrivacyTracking</key><false/></dict></plist>"), "");
    CHECK_STR(read_text("<plist><dict/></plist>"), "");
    CHECK_STR(read_text("\xef\xbb\xbf" HEAD
                        "<!DOCTYPE plist PUBLIC \"-//Apple//DTD [x]//EN\" \"a>b\">\n<!-- <a> -->"
                        "<plist version=\"1.0\">\n<dict>\n<key>a</key><date>x</date><key>b</key>"
                        "<array><true/><integer>1</integer></array>"
                        "<key>NSPrivacyAccessedAPITypes</key>\n<array>" ENTRY(
                            "A&amp;&#66;&#x43;<!-- > -->D<![CDATA[<&E]]>", "<integer>1</integer>")
                            END "\n"),
              "A&BCD<&E 1 ");
}

/* What is wrong, and where. */
TEST(manifests_that_are_wrong_say_where)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "line 1: not a property list"},
        {"hello", "line 1: not a property list: <plist> is expected"},
        {"{ a = b; }", "line 1: not a property list: <plist> is expected"},
        {"<html/>", "line 1: not an element of a property list"},
        {"<dict/>", "line 1: one value in <plist> is expected"},
        {"<plist/>", "line 1: there is no value in <plist>"},
        {"<plist></plist>", "line 1: an end tag without a begin"},
        {"<plist><dict/><dict/></plist>", "line 1: one value in <plist> is expected"},
        {"<plist><dict/></plist><dict/>", "line 1: one value in <plist> is expected"},
        {"<plist><dict/></plist>x", "line 1: text outside of an element"},
        {"<plist><dict/>", "line 1: the file ends in <plist>"},
        {"<plist>\n<dict>\n", "line 3: the file ends in <plist>"},
        {"<plist><dict></array></plist>", "line 1: another end tag is expected"},
        {"<plist><dict></plist>", "line 1: another end tag is expected"},
        {"<plist>\n<dict><string>a</string></dict></plist>", "line 2: a key is expected"},
        {"<plist><dict><key>a</key></dict></plist>", "line 1: a key has no value"},
        {"<plist><dict><key>a</key><key>b</key></dict></plist>", "line 1: a value is expected"},
        {"<plist><array><key>a</key></array></plist>", "line 1: a value is expected"},
        {"<plist><string>a</plist>", "line 1: an end tag is expected"},
        {"<plist><string>a", "line 1: the file ends in an element"},
        {"<plist><string>a</string", "line 1: an end tag is expected"},
        {"<plist><string>a<!-- </string></plist>", "line 1: an end tag is expected"},
        {"<plist><string>&x;</string></plist>", "line 1: an entity that is not known"},
        {"<plist><string>&#0;</string></plist>", "line 1: an entity that is not known"},
        {"<plist><string>&#xD800;</string></plist>", "line 1: an entity that is not known"},
        {"<plist><string>&#x110000;</string></plist>", "line 1: an entity that is not known"},
        {"<plist><string>&#65</string></plist>", "line 1: an entity that is not known"},
        {"<plist><string>\xe9</string></plist>",
         "not a property list: it is neither binary nor UTF-8"},
        {"\xff\xfe<\0p\0", "it is UTF-16: UTF-8 is expected"},
        {"<plist><array/></plist>", "not a privacy manifest: a dictionary is expected"},
        {LIST "<key>NSPrivacyAccessedAPITypes</key><dict/></dict></plist>",
         "NSPrivacyAccessedAPITypes is not an array"},
        {TYPES "<string>a</string>" END,
         "an element of NSPrivacyAccessedAPITypes has no NSPrivacyAccessedAPIType"},
        {TYPES "<dict><key>NSPrivacyAccessedAPIType</key><integer>1</integer></dict>" END,
         "an element of NSPrivacyAccessedAPITypes has no NSPrivacyAccessedAPIType"},
        {TYPES ENTRY("a&#127;", "") END, "an NSPrivacyAccessedAPIType is longer than 95 bytes, or "
                                         "has control characters"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *error = read_text(cases[i].text);
        if (strcmp(error, cases[i].error) != 0) {
            FAIL("%s: %s", cases[i].text, error);
        }
    }
}

/* --- hostile ones --- */

/* Entities of the file's own are refused before the first is used. */
TEST(manifest_entities_are_not_expanded)
{
    CHECK_STR(read_text(HEAD "<!DOCTYPE plist [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b "
                             "\"&a;&a;&a;&a;&a;&a;&a;&a;\">]>"
                             "<plist><string>&b;</string></plist>"),
              "line 2: a document type with declarations is not accepted");
    CHECK_STR(read_text("<!DOCTYPE plist SYSTEM \"file:///etc/passwd\" [<!ENTITY x SYSTEM \"y\">]>"
                        "<plist/>"),
              "line 1: a document type with declarations is not accepted");
}

/* `count` of a text, between two others. */
static char *repeat(const char *before, const char *text, size_t count, const char *behind)
{
    size_t size = strlen(text);
    char *all = malloc(strlen(before) + count * size + strlen(behind) + 1);
    CHECK(all != NULL);
    char *at = all + sprintf(all, "%s", before);
    for (size_t i = 0; i < count; i++, at += size) {
        memcpy(at, text, size);
    }
    memcpy(at, behind, strlen(behind) + 1);
    return all;
}

static void check_repeated(const char *before, const char *text, size_t count, const char *behind,
                           const char *expected)
{
    char *all = repeat(before, text, count, behind);
    CHECK_STR(read_text(all), expected);
    free(all);
}

TEST(manifest_levels_and_values_are_bounded)
{
    check_repeated("<plist>", "<array>", 100000, "", "it has more than 32 levels");
    check_repeated("<plist><array>", "<true/>", 100000, "", "it has more than 16384 values");
    check_repeated(TYPES, ENTRY("A", ""), 65, END, "more than 64 declared categories");
    check_repeated("<plist>", " ", SONDE__MANIFEST_BYTES, "", "it has more than 1048576 bytes");
    char *all = repeat(TYPES, ENTRY("A", ""), 64, END);
    CHECK_EQ(strlen(read_text(all)), 64 * strlen("A 0 ") + 63);
    free(all);
}

/* Long names, and many parts of a text without a character: what is long is not read again and
 * again. */
TEST(manifest_texts_are_bounded)
{
    check_repeated(
        TYPES "<dict><key>NSPrivacyAccessedAPIType</key><string>", "a", 96, "</string></dict>" END,
        "an NSPrivacyAccessedAPIType is longer than 95 bytes, or has control characters");
    check_repeated(TYPES "<dict><key>", "<![CDATA[]]>", 80000,
                   "NSPrivacyAccessedAPIType</key><string>A</string></dict>" END, "A 0 ");
    check_repeated(TYPES "<dict><key>NSPrivacyAccessedAPIType</key><string>A</string>"
                         "<key>NSPrivacyAccessedAPITypeReasons</key><array>",
                   "<string>C617.1</string>", 1000, "</array></dict>" END,
                   "A 1000 C617.1 C617.1 C617.1 C617.1 C617.1 C617.1 C617.1 C617.1 C617.1 C617.1 "
                   "C617.1 C617.1 "
                   "C617.1 C617.1 C617.1 C617.1 C617.1 C617.1");
}

/* --- the binary form --- */

/* A binary list: objects of these bytes, one after another, the first is the top; references and
 * offsets have one byte. The table and the trailer are made here. */
struct binary {
    uint8_t bytes[1024];
    size_t size;
    uint8_t offsets[64];
    unsigned count;
};

static void add_object(struct binary *b, const void *bytes, size_t size)
{
    b->offsets[b->count++] = (uint8_t)b->size;
    memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
}

static void add_string(struct binary *b, const char *text)
{
    uint8_t object[96];
    size_t size = strlen(text);
    memcpy(object, (const uint8_t[]){0x5f, 0x10, (uint8_t)size}, 3);
    memcpy(object + 3, text, size);
    add_object(b, object, size + 3);
}

static void end_binary(struct binary *b)
{
    uint8_t trailer[32] = {0};
    trailer[6] = trailer[7] = 1;
    trailer[15] = (uint8_t)b->count;
    trailer[31] = (uint8_t)b->size;
    memcpy(b->bytes + b->size, b->offsets, b->count);
    b->size += b->count;
    memcpy(b->bytes + b->size, trailer, sizeof trailer);
    b->size += sizeof trailer;
}

/* {NSPrivacyAccessedAPITypes: [{NSPrivacyAccessedAPIType: `type`}]}: object 5 is the type. */
static struct binary make_binary(const uint8_t *type, size_t size)
{
    struct binary b = {.bytes = "bplist00", .size = 8};
    add_object(&b, (const uint8_t[]){0xd1, 1, 2}, 3);
    add_string(&b, "NSPrivacyAccessedAPITypes");
    add_object(&b, (const uint8_t[]){0xa1, 3}, 2);
    add_object(&b, (const uint8_t[]){0xd1, 4, 5}, 3);
    add_string(&b, "NSPrivacyAccessedAPIType");
    add_object(&b, type, size);
    end_binary(&b);
    return b;
}

TEST(manifest_binary_texts)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *read;
    } cases[] = {
        {"\x53"
         "abc",
         4, "abc 0 "},
        {"\x63\0a\x20\xac\0\xe9", 7, "a\xe2\x82\xac\xc3\xa9 0 "},
        {"\x62\xd8\x3d\xde\x00", 5, "\xf0\x9f\x98\x80 0 "},
        {"\x61\xd8\x3d", 3,
         "an NSPrivacyAccessedAPIType is longer than 95 bytes, or has control characters"},
        {"\x62\xd8\x3d\0a", 5,
         "an NSPrivacyAccessedAPIType is longer than 95 bytes, or has control characters"},
        {"\x61\xde\x00", 3,
         "an NSPrivacyAccessedAPIType is longer than 95 bytes, or has control characters"},
        {"\x61\0\0", 3,
         "an NSPrivacyAccessedAPIType is longer than 95 bytes, or has control characters"},
        {"\x51\xe9", 2, "a string has bytes that are not ASCII"},
        {"\x10\x01", 2, "an element of NSPrivacyAccessedAPITypes has no NSPrivacyAccessedAPIType"},
        {"\x5f\x13\x40\0\0\0\0\0\0\0", 10, "an object is larger than the file"},
        {"\x6f\x13\x80\0\0\0\0\0\0\1", 10, "an object is larger than the file"},
        {"\xdf\x13\x80\0\0\0\0\0\0\1", 10, "an object is larger than the file"},
        {"\x5f\x53", 2, "an object is larger than the file"},
        {"\xa1\x06", 2, "a reference to an object that is not there"},
        {"\xd1\x05\x05", 3, "a key is no string"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct binary b = make_binary((const uint8_t *)cases[i].bytes, cases[i].size);
        const char *read = read_bytes(b.bytes, b.size);
        if (strcmp(read, cases[i].read) != 0) {
            FAIL("case %zu: %s", i, read);
        }
    }
}

/* One object in many places: of 9 levels with 15 references each, 15^9 values would come. */
TEST(manifest_binary_references_are_bounded)
{
    struct binary b = {.bytes = "bplist00", .size = 8};
    for (uint8_t level = 0; level < 9; level++) {
        uint8_t array[18] = {0xaf, 0x10, 15};
        memset(array + 3, level + 1, 15);
        add_object(&b, array, sizeof array);
    }
    add_object(&b, "\x50", 1);
    end_binary(&b);
    CHECK_STR(read_bytes(b.bytes, b.size), "it has more than 16384 values");
    struct binary in_itself = {.bytes = "bplist00", .size = 8};
    add_object(&in_itself, (const uint8_t[]){0xa1, 0}, 2);
    end_binary(&in_itself);
    CHECK_STR(read_bytes(in_itself.bytes, in_itself.size), "it has more than 32 levels");
}

/* Each prefix, and each single byte changed to a few others: an answer, whatever it is. */
TEST(manifest_binary_damage)
{
    static const uint8_t others[] = {0, 1, 0x7f, 0x80, 0xff, 0xd1, 0xaf, 0x5f};
    const struct binary b = make_binary((const uint8_t *)"\x53"
                                                         "abc",
                                        4);
    CHECK_STR(read_bytes(b.bytes, b.size), "abc 0 ");
    for (size_t size = 0; size < b.size; size++) {
        CHECK(strcmp(read_bytes(b.bytes, size), "abc 0 ") != 0);
    }
    for (size_t i = 0; i < b.size; i++) {
        for (size_t o = 0; o < sizeof others; o++) {
            struct binary changed = b;
            changed.bytes[i] = others[o];
            (void)read_bytes(changed.bytes, changed.size);
        }
    }
}

/* Two manifests count together, and one that cannot be read changes nothing. */
TEST(manifests_are_added)
{
    static struct sonde__manifest manifest;
    static const char one[] = TYPES ENTRY("A", "") END, other[] = TYPES ENTRY("B", "") END,
                      bad[] = TYPES ENTRY("C", "") "<dict/>" END;
    struct sonde_error error;
    CHECK_OK(sonde__manifest_read(one, sizeof one - 1, &manifest, &error));
    CHECK_EQ(sonde__manifest_read(bad, sizeof bad - 1, &manifest, &error), SONDE_CORRUPT);
    CHECK_OK(sonde__manifest_read(other, sizeof other - 1, &manifest, &error));
    CHECK_EQ(manifest.count, 2);
    CHECK_STR(manifest.entries[1].category, "B");
}

TEST(manifest_memory_may_run_out)
{
    static const char text[] = TYPES ENTRY("A", "<string>C617.1</string>") END;
    static struct sonde__manifest manifest;
    struct sonde_error error;
    sonde__mem_fail_from(0);
    enum sonde_status status = sonde__manifest_read(text, sizeof text - 1, &manifest, &error);
    sonde__mem_fail_from(UINT64_MAX);
    CHECK_EQ(status, SONDE_MEMORY);
    CHECK_EQ(manifest.count, 0);
}
