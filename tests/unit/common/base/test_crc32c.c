// SPDX-License-Identifier: Apache-2.0
/* Vectors: RFC 3720 appendix B.4, and the check value of the CRC catalogue. */
#include <string.h>

#include "base_crc32c.h"
#include "test.h"

typedef uint32_t crc_function(uint32_t, const void *, size_t);

static void check_vectors(crc_function *crc)
{
    unsigned char bytes[32];
    CHECK_EQ(crc(0, "123456789", 9), 0xe3069283);
    CHECK_EQ(crc(0, "", 0), 0);
    memset(bytes, 0, sizeof bytes);
    CHECK_EQ(crc(0, bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    CHECK_EQ(crc(0, bytes, sizeof bytes), 0x62a8ab43);
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)i;
    }
    CHECK_EQ(crc(0, bytes, sizeof bytes), 0x46dd794e);
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(31 - i);
    }
    CHECK_EQ(crc(0, bytes, sizeof bytes), 0x113fdb5c);
    CHECK_EQ(crc(crc(0, bytes, 7), bytes + 7, 25), 0x113fdb5c);
}

TEST(crc32c_vectors)
{
    check_vectors(sonde__base_crc32c);
    check_vectors(sonde__base_crc32c_by_table);
}

/* Each length and alignment. */
TEST(crc32c_by_instruction_and_by_table)
{
    unsigned char bytes[128];
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * 167 + 13);
    }
    for (unsigned from = 0; from < 16; from++) {
        for (unsigned size = 0; size + from <= sizeof bytes; size++) {
            CHECK_EQ(sonde__base_crc32c(from, bytes + from, size),
                     sonde__base_crc32c_by_table(from, bytes + from, size));
        }
    }
}
