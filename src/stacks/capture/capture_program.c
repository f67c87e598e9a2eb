// SPDX-License-Identifier: Apache-2.0
#include "capture_program.h"

#include "capture_made.h"
#include "os.h"

enum { SEGMENTS_MAX = 4 }; /* linkers make one, or one more for the linkage stubs */

/* A handler that interrupts LEARNING, or leaves it for ever, finds nothing. */
enum { UNKNOWN, LEARNING, KNOWN };

static struct {
    uint32_t state;
    uint32_t count;
    struct sonde__os_range segments[SEGMENTS_MAX];
    struct sonde__image image;
} program;

const struct sonde__image *sonde__capture_program_find(uint64_t pc, uint64_t *ret_start,
                                                       uint64_t *ret_end)
{
    if (__atomic_load_n(&program.state, __ATOMIC_ACQUIRE) != KNOWN) {
        return NULL;
    }
    for (uint32_t i = 0; i < program.count; i++) {
        const struct sonde__os_range *segment = &program.segments[i];
        if (pc - segment->start < segment->end - segment->start) {
            *ret_start = segment->start;
            *ret_end = segment->end;
            return &program.image;
        }
    }
    return NULL;
}

/* Is the program there, by the loader and by the kernel? Its headers may outlive it (unpackers,
 * restored checkpoints). */
static void add(int32_t fd, struct sonde__os_range segment)
{
    struct sonde__os_image found;
    struct sonde__os_code code;
    if (!sonde__os_find_image(segment.start, &found) ||
        sonde__os_code_find(fd, segment.start, &code) != SONDE_OK || !code.is_code) {
        return;
    }
    segment.end = segment.end < code.end ? segment.end : code.end;
    program.segments[program.count++] = segment;
    sonde__capture_make_image(&program.image, &found);
    program.image.is_permanent = true;
}

void sonde__capture_program_learn(int32_t fd)
{
    struct sonde__os_range ranges[SEGMENTS_MAX];
    uint32_t state = UNKNOWN;
    if (__atomic_load_n(&program.state, __ATOMIC_RELAXED) != UNKNOWN ||
        !__atomic_compare_exchange_n(&program.state, &state, LEARNING, false, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
        return;
    }
    uint32_t count = sonde__os_program_code(ranges, SEGMENTS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        add(fd, ranges[i]);
    }
    __atomic_store_n(&program.state, KNOWN, __ATOMIC_RELEASE);
}
