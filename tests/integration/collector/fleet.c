// SPDX-License-Identifier: Apache-2.0
#include "fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_write.h"

enum { RULES = 5, PATH_DEPTH = 8, COUNT_DIRECT = 3, COUNT_BY_LIBRARY = 4 };
#define DAY_NS ((uint64_t)86400 * 1000000000u)

static const char *const apis[] = {
    "open",        "connect", "getaddrinfo", "clock_gettime", "stat",       "readlink", "ioctl",
    "gethostname", "uname",   "getenv",      "sysinfo",       "getpwuid_r", "opendir",  "mmap",
    "getifaddrs",  "sendto",  "recvfrom",    "unlink",        "dlopen",     "sysconf",
};
enum { APIS = sizeof apis / sizeof *apis };

enum { IMAGE_APP, IMAGE_HTTP, IMAGE_LIBC, IMAGES };

struct making {
    struct sonde__report *report;
    unsigned build;
    uint32_t images[IMAGES];
};

struct bytes {
    char *at;
    size_t size, capacity;
};

static enum sonde_status append(void *ctx, const void *bytes, size_t size)
{
    struct bytes *to = ctx;
    if (to->capacity - to->size < size) {
        to->capacity = 2 * to->capacity + size;
        to->at = realloc(to->at, to->capacity);
        if (to->at == NULL) {
            abort();
        }
    }
    memcpy(to->at + to->size, bytes, size);
    to->size += size;
    return SONDE_OK;
}

/* Where a function is: the app's move with each build. */
static uint64_t place_of(const char *name, unsigned image, unsigned build)
{
    uint64_t hash = 0xcbf29ce484222325u ^ (image == IMAGE_APP ? build : 0);
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    }
    return (hash >> 16 & 0xffffff) * 16;
}

static uint32_t call(const struct making *m, uint32_t caller, unsigned image, const char *name)
{
    const struct sonde__report_frame frame = {.image = m->images[image],
                                              .offset = place_of(name, image, m->build) + 20,
                                              .name = sonde__report_string(m->report, name),
                                              .name_offset = 20,
                                              .name_source = SONDE__REPORT_NAME_SYMTAB};
    return sonde__report_add_node(m->report, caller, sonde__report_add_frame(m->report, &frame));
}

/* The app's functions that lead to an API, behind those that start the program. */
static uint32_t add_path(const struct making *m, unsigned path, const char *api)
{
    char name[64];
    uint32_t node = call(m, 0, IMAGE_LIBC, "__libc_start_main");
    node = call(m, node, IMAGE_APP, "main");
    node = call(m, node, IMAGE_APP, "run_loop");
    for (unsigned i = 0; i < PATH_DEPTH; i++) { /* paths part one after the other */
        snprintf(name, sizeof name, "feature_%u_step_%u", path >> (PATH_DEPTH - i) / 2, i);
        node = call(m, node, IMAGE_APP, name);
    }
    snprintf(name, sizeof name, "screen_%u_needs_%s", path, api);
    return call(m, node, IMAGE_APP, name);
}

static void add_images(struct making *m)
{
    static const struct {
        const char *path;
        uint32_t flags;
    } images[IMAGES] = {
        {"/opt/shop/bin/shop", SONDE__IMAGE_MAIN | SONDE__REPORT_IMAGE_APP},
        {"/usr/lib/x86_64-linux-gnu/libcurl.so.4", SONDE__REPORT_IMAGE_SYSTEM},
        {"/usr/lib/x86_64-linux-gnu/libc.so.6", SONDE__REPORT_IMAGE_SYSTEM},
    };
    for (unsigned i = 0; i < IMAGES; i++) {
        struct sonde__report_image image = {.path = sonde__report_string(m->report, images[i].path),
                                            .flags = images[i].flags,
                                            .build_id = {.size = 20}};
        memset(image.build_id.bytes, (int)i + 1, 20);
        image.build_id.bytes[0] = i == IMAGE_APP ? (uint8_t)m->build : 0;
        m->images[i] = sonde__report_add_image(m->report, &image);
    }
}

static void add_calls(const struct making *m, const struct fleet *fleet, unsigned device)
{
    char name[32];
    uint32_t rules[RULES];
    for (unsigned i = 0; i < RULES; i++) {
        snprintf(name, sizeof name, "privacy-%u", i);
        rules[i] = sonde__report_add_rule(
            m->report, &(struct sonde__report_rule){.name = sonde__report_string(m->report, name),
                                                    .severity = SONDE__REPORT_SEVERITY_WARNING});
    }
    for (unsigned i = 0; i < fleet->stacks; i++) {
        bool is_by_library = i % 2 != 0;
        unsigned pair = i / 2, api = pair % APIS;
        uint32_t stack = add_path(m, pair / APIS, apis[api]);
        stack = is_by_library ? call(m, stack, IMAGE_HTTP, "curl_easy_perform") : stack;
        const struct sonde__report_call one = {
            .function = sonde__report_string(m->report, apis[api]),
            .stack = stack,
            .count = is_by_library ? COUNT_BY_LIBRARY : COUNT_DIRECT,
            .rule = rules[api % RULES],
            .first_ns = 1000000u * (i + 1),
            .last_ns = 1000000u * (i + device + 2),
            .tid = 4711};
        sonde__report_add_call(m->report, &one);
    }
}

static void set_header(const struct making *m, const struct fleet *fleet, unsigned device)
{
    char build[32], machine[32], model[32];
    snprintf(build, sizeof build, "1.%u.0", m->build);
    snprintf(machine, sizeof machine, "machine-%04u", device);
    snprintf(model, sizeof model, "model-%u", device % 7);
    const struct sonde__report_tag tags[] = {{"channel", m->build % 4 == 0 ? "stable" : "beta"},
                                             {"model", model}};
    const struct sonde__report_header header = {.kind = SONDE__REPORT_AUDIT,
                                                .tool = "sonde fleet",
                                                .executable = "/opt/shop/bin/shop",
                                                .os = "Linux 6.1 x86_64",
                                                .arch = "x86_64",
                                                .source = "run",
                                                .time_unix_ns = fleet->time_unix_ns +
                                                                DAY_NS / fleet->builds * m->build,
                                                .pid = 4711,
                                                .build = build,
                                                .device = {.id = machine},
                                                .tags = tags,
                                                .tag_count = 2};
    sonde__report_set_header(m->report, &header);
}

void *fleet_report(const struct fleet *fleet, unsigned build, unsigned device, size_t *ret_size)
{
    struct making m = {.build = build};
    struct bytes bytes = {0};
    struct sonde__report_writer *writer;
    if (sonde__report_create(&m.report) != SONDE_OK) {
        abort();
    }
    set_header(&m, fleet, device);
    add_images(&m);
    add_calls(&m, fleet, device);
    sonde__report_set_end(m.report, &(struct sonde__report_end){.watched_ns = 1000000000u});
    if (sonde__report_writer_create(NULL, append, &bytes, &writer) != SONDE_OK ||
        sonde__report_writer_finish(writer, m.report) != SONDE_OK) {
        abort();
    }
    sonde__report_writer_destroy(writer);
    sonde__report_destroy(m.report);
    *ret_size = bytes.size;
    return bytes.at;
}

unsigned fleet_groups(const struct fleet *fleet)
{
    return (fleet->stacks + 1) / 2;
}

unsigned fleet_calls(void)
{
    return COUNT_DIRECT + COUNT_BY_LIBRARY;
}
