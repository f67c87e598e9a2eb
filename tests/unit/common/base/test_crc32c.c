// SPDX-License-Identifier: Apache-2.0
/* Vectors: RFC 3720 appendix B.4, and the check value of the CRC catalogue. */
#include <string.h>

#include "base_crc32c.h"
#include "test.h"

TEST(crc32c_vectors)
{
    unsigned char bytes[32];
    CHECK_EQ(sonde__base_crc32c(0, "123456789", 9), 0xe3069283);
    CHECK_EQ(sonde__base_crc32c(0, "", 0), 0);
    memset(bytes, 0, sizeof bytes);
    CHECK_EQ(sonde__base_crc32c(0, bytes, sizeof bytes), 0x8a9136aa);
    memset(bytes, 0xff, sizeof bytes);
    CHECK_EQ(sonde__base_crc32c(0, bytes, sizeof bytes), 0x62a8ab43);
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)i;
    }
    CHECK_EQ(sonde__base_crc32c(0, bytes, sizeof bytes), 0x46dd794e);
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(31 - i);
    }
    CHECK_EQ(sonde__base_crc32c(0, bytes, sizeof bytes), 0x113fdb5c);
    CHECK_EQ(sonde__base_crc32c(sonde__base_crc32c(0, bytes, 7), bytes + 7, 25), 0x113fdb5c);
}
