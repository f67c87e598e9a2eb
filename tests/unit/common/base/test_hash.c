// SPDX-License-Identifier: Apache-2.0
/* FNV-1a of 64 bits against published values (draft-eastlake-fnv). */
#include <string.h>

#include "base_hash.h"
#include "base_text.h"
#include "test.h"

TEST(hash_has_the_published_values)
{
    static const struct {
        const char *text;
        uint64_t hash;
    } vectors[] = {{"", 0xcbf29ce484222325},
                   {"a", 0xaf63dc4c8601ec8c},
                   {"b", 0xaf63df4c8601f1a5},
                   {"foobar", 0x85944171f73967e8}};
    for (unsigned i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        const char *text = vectors[i].text;
        CHECK_EQ(sonde__base_hash_text(text), vectors[i].hash);
        CHECK_EQ(sonde__base_hash_bytes(SONDE__HASH_EMPTY, text, strlen(text)), vectors[i].hash);
    }
    /* bytes above 127 count as such, whatever the sign of char */
    CHECK_EQ(sonde__base_hash_text("\xff"), sonde__base_hash_byte(SONDE__HASH_EMPTY, 255));
}

TEST(texts_are_found_by_their_beginning_and_in_lists)
{
    static const char *const list[] = {"read", "", "write"};
    CHECK(sonde__base_starts_with("PATH=/bin", "PATH="));
    CHECK(sonde__base_starts_with("PATH=", "PATH="));
    CHECK(sonde__base_starts_with("PATH", ""));
    CHECK(!sonde__base_starts_with("PAT", "PATH"));
    CHECK(!sonde__base_starts_with("", "P"));
    CHECK(sonde__base_is_one_of("write", list, 3));
    CHECK(sonde__base_is_one_of("", list, 3));
    CHECK(!sonde__base_is_one_of("write", list, 2));
    CHECK(!sonde__base_is_one_of("writ", list, 3));
}
