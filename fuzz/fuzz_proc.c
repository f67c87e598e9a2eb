// SPDX-License-Identifier: Apache-2.0
/* Fuzz target: texts of /proc (maps, stat, syscall, schedstat), which contain names that anybody
 * may choose. Each input is read as all of them. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "host_maps.h"
#include "host_process.h"
#include "os.h"

static volatile uint64_t sink;

static void read_maps(const char *text, size_t size)
{
    struct sonde__host_maps maps;
    size_t lines = 1;
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
    }
    if (sonde__host_maps_parse(text, size, &maps) != SONDE_OK) {
        return;
    }
    FUZZ_MUST((size_t)maps.count + maps.bad_lines <= lines);
    for (uint32_t i = 0; i < maps.count; i++) {
        const struct sonde__host_map *map = &maps.items[i];
        FUZZ_MUST(map->start < map->end);
        FUZZ_MUST(i == 0 || maps.items[i - 1].end <= map->start);
        FUZZ_MUST(map->path >= maps.text && map->path <= maps.text + maps.text_size);
        FUZZ_MUST(map->path + strlen(map->path) <= maps.text + maps.text_size);
    }
    sonde__host_maps_done(&maps);
}

static void read_stat(const char *text, size_t size)
{
    struct sonde__host_thread thread;
    if (sonde__host_parse_stat(text, size, &thread)) {
        FUZZ_MUST(memchr(thread.name, '\0', sizeof thread.name) != NULL);
        sink += thread.start_ticks + (uint64_t)thread.letter;
    }
}

static void read_wait(const char *text, size_t size)
{
    struct sonde__os_wait wait;
    struct sonde__os_schedstat schedstat;
    if (sonde__os_parse_wait(text, size, &wait)) {
        struct sonde__os_call call = sonde__os_wait_call(&wait);
        FUZZ_MUST(sonde__os_wait_is_blocked(&wait) || call.number == -1);
        FUZZ_MUST(call.number >= -1);
        FUZZ_MUST(sonde__os_wait_is_same(&wait, &wait));
    }
    if (sonde__os_parse_schedstat(text, size, &schedstat)) {
        sink += schedstat.cpu_ns;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    FUZZ_MUST(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0'; /* as the reader of the file ends it: stat is parsed up to the NUL */
    read_maps(text, size);
    read_stat(text, size);
    free(text);
    read_wait((const char *)data, size);
    return 0;
}
