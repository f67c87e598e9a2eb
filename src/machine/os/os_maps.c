// SPDX-License-Identifier: Apache-2.0
#include "os_maps.h"

enum { FIELD_START, FIELD_END, FIELD_RIGHTS, FIELD_REST };

enum { RIGHT_EXECUTE = 2 /* of "rwxp" */ };

void sonde__os_maps_init(struct sonde__os_maps *maps, uint64_t address)
{
    *maps = (struct sonde__os_maps){.address = address};
}

static bool take_digit(uint64_t *value, char c)
{
    unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                            : 16;
    if (digit < 16) {
        *value = *value << 4 | digit;
    }
    return digit < 16;
}

/* Take the current line's executable mapping; lines are in order of address. */
static bool take_code(struct sonde__os_maps *maps)
{
    if (maps->end <= maps->address) {
        maps->hole = maps->end;
        return false;
    }
    maps->answer.is_code = maps->start <= maps->address;
    maps->answer.start = maps->answer.is_code ? maps->start : maps->hole;
    maps->answer.end = maps->answer.is_code ? maps->end : maps->start;
    return true;
}

bool sonde__os_maps_feed(struct sonde__os_maps *maps, const char *text, size_t size)
{
    for (size_t i = 0; i < size && !maps->is_done; i++) {
        char c = text[i];
        if (c == '\n') {
            maps->is_done = maps->field == FIELD_REST && maps->is_executable && take_code(maps);
            maps->field = FIELD_START;
            maps->start = maps->end = 0;
            maps->is_executable = false;
        } else if (maps->field == FIELD_START) {
            maps->field += !take_digit(&maps->start, c);
        } else if (maps->field == FIELD_END) {
            maps->field += !take_digit(&maps->end, c);
            maps->column = 0;
        } else if (maps->field == FIELD_RIGHTS) {
            maps->is_executable |= maps->column == RIGHT_EXECUTE && c == 'x';
            maps->field += c == ' ';
            maps->column++;
        }
    }
    return maps->is_done;
}

bool sonde__os_maps_finish(struct sonde__os_maps *maps, struct sonde__os_code *ret_code)
{
    if (!maps->is_done && maps->hole == 0) {
        return false; /* every process has code: the map could not be read */
    }
    if (!maps->is_done) {
        maps->answer = (struct sonde__os_code){maps->hole, UINT64_MAX, false};
    }
    *ret_code = maps->answer;
    return true;
}
