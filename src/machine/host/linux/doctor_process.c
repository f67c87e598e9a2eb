// SPDX-License-Identifier: Apache-2.0
/* Can this process be read? From its files in /proc; nothing is done to it. */
#include "host_doctor.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base_bytes.h"
#include "host_file.h"
#include "host_process.h"
#include "os.h"

enum { MAPS_BYTES = 65536 };

/* The number behind "\nNAME:\t" in a status text, its `field`-th one; -1: not there. */
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
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
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
                                "musl: stacks can be read; `sonde run` cannot follow its loop");
    } else if (strstr(maps, "/ld-linux") != NULL || strstr(maps, "/ld-2.") != NULL ||
               strstr(maps, "/libc.so.6") != NULL) {
        sonde__host_finding_set(finding, SONDE__FINDING_OK, "glibc, dynamically linked");
    } else {
        sonde__host_finding_set(finding, SONDE__FINDING_LIMITED,
                                "no known dynamic loader (a static program?): stacks can be read; "
                                "`sonde run` cannot follow its loop");
    }
}

static void inspect_rights(struct sonde__findings *findings, int32_t pid, const char *status)
{
    struct sonde__finding *finding = sonde__host_finding_add(findings, "rights");
    char path[64];
    struct stat st;
    long uid = status_number(status, "\nUid:", 0);
    long effective = status_number(status, "\nUid:", 1);
    bool reachable;
    finding->needed = true;
    snprintf(path, sizeof path, "/proc/%d/syscall", (int)pid);
    reachable = access(path, R_OK) == 0;
    if (reachable) {
        /* opening succeeds where reading is refused: the check of ptrace rights is at the read */
        char text[256];
        size_t size;
        reachable = sonde__host_file_read(path, text, sizeof text, &size, NULL) == SONDE_OK;
    }
    if (reachable) {
        sonde__host_finding_set(finding, SONDE__FINDING_OK, "its threads and memory can be read");
        return;
    }
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (uid != effective) {
        sonde__host_finding_set(finding, SONDE__FINDING_NO, "setuid: user %ld runs it as user %ld",
                                uid, effective);
    } else if (uid != (long)geteuid()) {
        sonde__host_finding_set(finding, SONDE__FINDING_NO, "it belongs to user %ld", uid);
    } else if (stat(path, &st) == 0 && st.st_uid == 0 && uid != 0) {
        sonde__host_finding_set(finding, SONDE__FINDING_NO,
                                "it made itself unreadable (not dumpable: it changed its user, "
                                "holds secrets, or its file may not be read)");
    } else if (sonde__host_may_trace_all()) {
        sonde__host_finding_set(finding, SONDE__FINDING_NO,
                                "it is kept even from root (a system-call filter, a security "
                                "module or an outer container)");
        advise(finding, "look from outside");
    } else {
        sonde__host_finding_set(finding, SONDE__FINDING_NO,
                                "the system refuses (Yama's ptrace_scope, or a container's rules)");
    }
    if (geteuid() != 0) {
        advise(finding, "run sonde as root");
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
    inspect_program(findings, pid);
    inspect_libc(findings, pid);
    inspect_rights(findings, pid, status);
    inspect_tracer(findings, status);
    return true;
}
