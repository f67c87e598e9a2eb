// SPDX-License-Identifier: Apache-2.0
/* Can this process be read? Uses only its files in /proc. */
#include "host_doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base_bytes.h"
#include "base_text.h"
#include "host_denied.h"
#include "host_file.h"
#include "host_process.h"
#include "os.h"

enum { MAPS_BYTES = 65536 };

/* The `field`-th number after "\nNAME:\t" in a status file; -1: missing. */
static long status_number(const char *status, const char *name, unsigned field)
{
    const char *at = strstr(status, name);
    char *end;
    long value = -1;
    if (at == NULL) {
        return -1;
    }
    at += strlen(name);
    for (unsigned i = 0; i <= field; i++) {
        value = strtol(at, &end, 10);
        if (end == at) {
            return -1;
        }
        at = end;
    }
    return value;
}

static void advise(struct sonde__finding *finding, const char *advice)
{
    snprintf(finding->advice, sizeof finding->advice, "%s", advice);
}

static void inspect_identity(struct sonde__findings *findings, int32_t pid,
                             const struct sonde__host_process *process, const char *status)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "process");
    char path[64];
    char exe[128];
    char name[32] = "";
    ssize_t size;
    (void)sscanf(status, "Name:\t%31[^\n]", name);
    snprintf(path, sizeof path, "/proc/%d/exe", (int)sonde__host_live_number(pid));
    size = readlink(path, exe, sizeof exe - 1);
    exe[size > 0 ? size : 0] = '\0';
    finding->needed = true;
    if (process->kernel || process->zombie) {
        sonde__host_finding_set(finding, SONDE__FINDING_NO, "%s: %s", name,
                                process->zombie
                                    ? "has ended, its parent has not asked for its status yet"
                                    : "a kernel thread has no program and no user stack");
        return;
    }
    sonde__host_finding_set(finding, SONDE__FINDING_OK, "%s%s%s, %ld threads", name,
                            exe[0] != '\0' ? " " : "", exe, status_number(status, "\nThreads:", 0));
}

/* System V gABI 4.1 chapter 4: e_ident[EI_CLASS] at 4, e_machine at 18. */
static void inspect_program(struct sonde__findings *findings, int32_t pid)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "program");
    char path[64];
    char own[32];
    char head[32];
    size_t own_size = 0;
    size_t size = 0;
    enum sonde_status status;
    finding->needed = true;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    status = sonde__host_file_read(path, head, sizeof head, &size, NULL);
    if ((status != SONDE_OK && status != SONDE_LIMIT) || size < 20) {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED, "its file could not be read: %s",
                                sonde_status_text(status));
        return;
    }
    status = sonde__host_file_read("/proc/self/exe", own, sizeof own, &own_size, NULL);
    if ((status != SONDE_OK && status != SONDE_LIMIT) || own_size < 20) {
        return;
    }
    if (memcmp(head, "\177ELF", 4) != 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_NO, "not an ELF file");
    } else if (head[4] != 2) {
        sonde__host_finding_set(finding, SONDE__FINDING_NO, "a 32-bit program");
        advise(finding, "sonde reads 64-bit programs only");
    } else if (memcmp(head + 18, own + 18, 2) != 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_NO,
                                "of another architecture: it runs in an emulator");
    } else {
        sonde__host_finding_set(finding, SONDE__FINDING_OK, "64-bit, of this machine");
    }
}

static void inspect_libc(struct sonde__findings *findings, int32_t pid)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "libc");
    char path[64];
    static char maps[MAPS_BYTES];
    size_t size = 0;
    enum sonde_status status;
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    status = sonde__host_file_read(path, maps, sizeof maps, &size, NULL);
    if (status != SONDE_OK && status != SONDE_LIMIT) {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED, "not known: %s: %s", path,
                                sonde_status_text(status));
    } else if (strstr(maps, "/ld-musl-") != NULL || strstr(maps, "-linux-musl/") != NULL) {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED,
                                "musl: stacks can be read; `sonde run` cannot follow its loop, "
                                "`sonde watch` can");
    } else if (strstr(maps, "/ld-linux") != NULL || strstr(maps, "/ld-2.") != NULL ||
               strstr(maps, "/libc.so.6") != NULL) {
        sonde__host_finding_set(finding, SONDE__FINDING_OK, "glibc, dynamically linked");
    } else {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED,
                                "no known dynamic loader (a static program?): stacks can be read; "
                                "`sonde run` cannot follow its loop, `sonde watch` can");
    }
}

static void inspect_rights(struct sonde__findings *findings, int32_t pid)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "rights");
    struct sonde__host_denied denied;
    char path[64], text[256];
    size_t size;
    finding->needed = true;
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
    /* open() may succeed and read() fail: the kernel checks ptrace rights at the read */
    if (sonde__host_file_read(path, text, sizeof text, &size, NULL) == SONDE_OK) {
        sonde__host_finding_set(finding, SONDE__FINDING_OK, "its threads and memory can be read");
        return;
    }
    sonde__host_denied(pid, &denied);
    sonde__host_finding_set(finding, SONDE__FINDING_NO, "it %s", denied.reason);
    advise(finding, denied.advice);
}

/* Names are read through the process' own root, if it has one. */
static void inspect_namespaces(struct sonde__findings *findings, int32_t pid)
{
    static const char *const kinds[] = {"user", "pid", "mnt"};
    struct sonde__finding *finding = sonde__host_finding_add(findings, "namespaces");
    char names[32] = "";
    struct sonde__text text;
    sonde__base_text_init(&text, names, sizeof names);
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char path[64], own[64], other[64];
        snprintf(path, sizeof path, "/proc/self/ns/%s", kinds[i]);
        ssize_t own_size = readlink(path, own, sizeof own);
        snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, kinds[i]);
        ssize_t size = readlink(path, other, sizeof other);
        if (own_size <= 0 || size <= 0) {
            sonde__host_finding_set(finding, SONDE__FINDING_LIMITED, "not known: %s: %s", path,
                                    strerror(errno));
            return;
        }
        if (size != own_size || memcmp(own, other, (size_t)size) != 0) {
            sonde__base_text_str(&text, names[0] != '\0' ? ", " : "");
            sonde__base_text_str(&text, kinds[i]);
        }
    }
    if (names[0] == '\0') {
        sonde__host_finding_set(finding, SONDE__FINDING_OK, "those of sonde");
    } else {
        sonde__host_finding_set(finding, SONDE__FINDING_OK, "its own (a container?): %s", names);
    }
}

static void inspect_tracer(struct sonde__findings *findings, const char *status)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "tracer");
    long tracer = status_number(status, "\nTracerPid:", 0);
    if (tracer > 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED,
                                "process %ld (a debugger?) traces it: `sonde stacks --stop` "
                                "does not work",
                                tracer);
        advise(finding, "detach it");
    } else {
        sonde__host_finding_set(finding, SONDE__FINDING_OK, "none");
    }
}

bool sonde__host_doctor_process(int32_t pid, struct sonde__findings *findings)
{
    char path[64];
    char status[4096];
    size_t size = 0;
    struct sonde__host_process process;
    enum sonde_status read;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    read = sonde__host_file_read(path, status, sizeof status, &size, NULL);
    if (read != SONDE_OK && read != SONDE_LIMIT) {
        return false;
    }
    if (sonde__host_process_read(pid, &process, NULL) != SONDE_OK) {
        return false;
    }
    inspect_identity(findings, pid, &process, status);
    if (process.kernel || process.zombie) {
        return true;
    }
    int32_t live = sonde__host_live_number(pid);
    inspect_program(findings, live);
    inspect_libc(findings, live);
    inspect_rights(findings, live);
    inspect_namespaces(findings, live);
    inspect_tracer(findings, status);
    return true;
}
