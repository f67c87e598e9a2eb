// SPDX-License-Identifier: Apache-2.0
/* A spool folder with hostile files: listed, finished, and trimmed to nothing. A finished report
 * has an end and reads back. Whatever the files are, no run is finished twice, and removed reports
 * are counted.
 *
 * Input: a byte of flags, then the run's report, its live file and the counts; each but the last
 * after its size (two bytes). Flag n: file n is one record, to which header and checksum are added.
 * Flag n + 3: file n is missing. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base_crc32c.h"
#include "fuzz.h"
#include "host_folder.h"
#include "host_run.h"
#include "report_proto.h"
#include "spool_counts.h"
#include "spool_finish.h"
#include "spool_list.h"

enum { FILES = 3 };

static const char *const names[FILES] = {"20261123T164012Z-4242.sonde",
                                         "20261123T164012Z-4242.live", SONDE__SPOOL_COUNTS};

/* In memory if possible, to avoid disk reads. */
static int32_t open_folder(char *ret_path, size_t capacity)
{
    static const char *const places[] = {"/dev/shm", "/tmp"};
    int32_t folder = -1;
    for (unsigned i = 0; i < 2 && folder < 0; i++) {
        struct sonde_error error;
        snprintf(ret_path, capacity, "%s/sonde-fuzz-spool-%d", places[i], (int)getpid());
        if (sonde__host_folder_open(ret_path, true, &folder, &error) != SONDE_OK) {
            folder = -1;
        }
    }
    FUZZ_MUST(folder >= 0);
    return folder;
}

static void make_file(int32_t folder, const char *name, const uint8_t *data, size_t size, bool wrap)
{
    static const uint8_t header[] = {0x0a, 0x02, 0x08, 0x02}; /* format 2 */
    struct sonde__proto file = {0};
    if (wrap) {
        size_t mark = sonde__proto_begin(&file, 1);
        sonde__proto_raw(&file, header, sizeof header);
        sonde__proto_raw(&file, data, size);
        sonde__proto_fixed32(&file, 15, sonde__base_crc32c(0, file.data + mark, file.size - mark));
        sonde__proto_end(&file, mark);
        data = file.data;
        size = file.size;
    }
    int fd = openat(folder, name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    FUZZ_MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    sonde__proto_done(&file);
}

static int look(void *ctx, const struct sonde__spool_entry *entry)
{
    unsigned *killed = ctx;
    bool is_nothing = entry->report == NULL && entry->live == NULL;
    FUZZ_MUST((entry->state == SONDE__SPOOL_DAMAGED) == is_nothing);
    FUZZ_MUST(entry->state != SONDE__SPOOL_RUNNING);
    *killed += entry->state == SONDE__SPOOL_KILLED;
    return 0;
}

static unsigned list(int32_t folder)
{
    unsigned killed = 0;
    FUZZ_MUST(sonde__spool_list(folder, look, &killed) == SONDE_OK);
    return killed;
}

static void check_finished(void *ctx, const struct sonde__spool_finished *finished)
{
    (*(unsigned *)ctx)++;
    FUZZ_MUST(finished->recovered <= sonde__report_stall_count(finished->report));
    FUZZ_MUST(finished->recovered == 0 || sonde__report_end(finished->report) != NULL);
}

static void check_failed(void *ctx, const char *name, const char *why)
{
    (void)ctx, (void)name, (void)why;
    FUZZ_MUST(false); /* only the input can fail here */
}

/* Can the run's report be read? Otherwise there is nothing to count. */
static bool has_report(int32_t folder)
{
    struct sonde__report *report;
    int32_t fd;
    if (sonde__host_folder_look(folder, names[0], &fd) != 0) {
        return false;
    }
    bool reads = sonde__spool_read(fd, &report, NULL, NULL) == SONDE_OK;
    sonde__host_close(fd);
    if (reads) {
        sonde__report_destroy(report);
    }
    return reads;
}

static int remove_one(void *ctx, const char *name)
{
    (void)sonde__host_folder_remove(*(int32_t *)ctx, name);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sonde__spool_caps none = {.reports_max = 0, .bytes_max = 0, .age_max_ns = 1};
    char path[64];
    int32_t folder = open_folder(path, sizeof path);
    unsigned finished = 0;
    uint8_t flags = size > 0 ? data[0] : 0;
    size_t at = 1;
    for (unsigned i = 0; i < FILES && at + 2 <= size; i++) {
        size_t left = size - at - 2, wanted = (size_t)(data[at] | data[at + 1] << 8);
        size_t length = i + 1 == FILES || wanted > left ? left : wanted;
        if ((flags >> (i + FILES) & 1) == 0) {
            make_file(folder, names[i], data + at + 2, length, (flags >> i & 1) != 0);
        }
        at += 2 + length;
    }
    (void)list(folder);
    const struct sonde__spool_finishing finishing = {
        .each = check_finished, .failed = check_failed, .ctx = &finished};
    FUZZ_MUST(sonde__spool_finish(folder, &finishing) == SONDE_OK);
    FUZZ_MUST(finished <= 1);
    (void)list(folder);
    FUZZ_MUST(faccessat(folder, names[1], F_OK, 0) != 0);
    uint32_t removed = 0;
    bool is_counted = has_report(folder);
    enum sonde_status status = sonde__spool_trim(folder, &none, UINT64_MAX, &removed);
    FUZZ_MUST(status == SONDE_OK);
    FUZZ_MUST(!is_counted || removed == 0 || faccessat(folder, names[2], F_OK, 0) == 0);
    (void)list(folder);
    FUZZ_MUST(sonde__host_folder_each(folder, remove_one, &folder) == 0);
    close(folder);
    FUZZ_MUST(rmdir(path) == 0);
    return 0;
}
