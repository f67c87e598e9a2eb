// SPDX-License-Identifier: Apache-2.0
#include "python_lines.h"

#include "base_bytes.h"

/* The interpreter stores lines as int. */
static uint32_t checked(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint32_t by_lnotab(struct sonde__bytes *table, int64_t line, int64_t lasti)
{
    int64_t address = 0;
    while (sonde__base_bytes_left(table) >= 2) {
        address += sonde__base_bytes_u8(table);
        int8_t step = (int8_t)sonde__base_bytes_u8(table);
        if (address > lasti) {
            break;
        }
        line += step;
    }
    return checked(line);
}

static uint32_t by_linetable(struct sonde__bytes *table, int64_t line, int64_t lasti)
{
    enum { NO_LINE = -128 };
    int64_t end = 0;
    while (sonde__base_bytes_left(table) >= 2) {
        end += sonde__base_bytes_u8(table);
        int8_t step = (int8_t)sonde__base_bytes_u8(table);
        if (step != NO_LINE) {
            line += step;
        }
        if (lasti < end) {
            return step == NO_LINE ? 0 : checked(line);
        }
    }
    return 0;
}

/* Six bits a byte, the lowest first; bit 6: another byte follows. */
static uint32_t varint(struct sonde__bytes *table)
{
    uint32_t value = 0, byte;
    unsigned shift = 0;
    do {
        byte = sonde__base_bytes_u8(table);
        value |= shift < 32 ? (byte & 63) << shift : 0;
        shift += 6;
    } while ((byte & 64) != 0 && !table->failed);
    return value;
}

static int64_t signed_varint(struct sonde__bytes *table)
{
    uint32_t value = varint(table);
    return (value & 1) != 0 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static uint32_t by_locations(struct sonde__bytes *table, int64_t line, int64_t lasti)
{
    enum { UNIT = 2, ONE_LINE_0 = 10, NO_COLUMNS = 13, LONG = 14, NONE = 15 };
    int64_t end = 0;
    while (sonde__base_bytes_left(table) != 0) {
        uint8_t first = sonde__base_bytes_u8(table);
        unsigned form = first >> 3 & 15;
        const uint8_t *entry = table->at;
        end += (int64_t)((first & 7) + 1) * UNIT;
        if (form == LONG || form == NO_COLUMNS) {
            line += signed_varint(table);
        } else if (form >= ONE_LINE_0 && form < NO_COLUMNS) {
            line += form - ONE_LINE_0;
        }
        if (lasti < end) {
            return form == NONE || table->failed ? 0 : checked(line);
        }
        table->at = entry;
        while (table->at < table->end && (*table->at & 128) == 0) { /* 128: start of an entry */
            table->at++;
        }
    }
    return 0;
}

uint32_t python_line(unsigned lines, const uint8_t *table, size_t size, uint32_t first_line,
                     int64_t lasti)
{
    struct sonde__bytes bytes;
    sonde__base_bytes_init(&bytes, table, size);
    if (lasti < 0) {
        return checked(first_line);
    }
    switch (lines) {
    case PYTHON_LNOTAB:
        return by_lnotab(&bytes, first_line, lasti);
    case PYTHON_LINETABLE:
        return by_linetable(&bytes, first_line, lasti);
    default:
        return by_locations(&bytes, first_line, lasti);
    }
}
