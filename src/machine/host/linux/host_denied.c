// SPDX-License-Identifier: Apache-2.0
#include "host_denied.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_file.h"
#include "linux/host_status.h"

/* capabilities(7) */
enum { CAP_SYS_PTRACE_BIT = 19 };

static bool are_all(const uint32_t ids[3], uint32_t id)
{
    return ids[0] == id && ids[1] == id && ids[2] == id;
}

static bool may_trace_all(const struct sonde__host_denial_facts *facts)
{
    return (facts->own_capabilities >> CAP_SYS_PTRACE_BIT & 1) != 0;
}

enum sonde__host_denial sonde__host_denial(const struct sonde__host_denial_facts *f)
{
    if (f->is_readable) { /* Yama restricts only tracing */
        return f->yama > 0 ? SONDE__HOST_DENIED_YAMA : SONDE__HOST_DENIED_POLICY;
    }
    if (may_trace_all(f)) { /* the capability covers only our user namespace and those inside it */
        return f->is_nested ? SONDE__HOST_DENIED_NAMESPACE : SONDE__HOST_DENIED_POLICY;
    }
    if (!are_all(f->users, f->own_user)) {
        return f->users[0] != f->users[1] ? SONDE__HOST_DENIED_SETUID : SONDE__HOST_DENIED_USER;
    }
    if (!are_all(f->groups, f->own_group)) {
        return SONDE__HOST_DENIED_GROUP;
    }
    if (f->owner != f->users[1]) { /* proc(5): root, if the process is not dumpable */
        return SONDE__HOST_DENIED_NOT_DUMPABLE;
    }
    if ((f->capabilities & ~f->own_capabilities) != 0) {
        return SONDE__HOST_DENIED_CAPABILITIES;
    }
    return f->is_nested       ? SONDE__HOST_DENIED_NAMESPACE
           : f->users[1] == 0 ? SONDE__HOST_DENIED_NOT_DUMPABLE /* root owns them anyway */
                              : SONDE__HOST_DENIED_POLICY;
}

__attribute__((format(printf, 2, 3))) static void set_reason(struct sonde__host_denied *denied,
                                                             const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)vsnprintf(denied->reason, sizeof denied->reason, format, list);
    va_end(list);
}

static const char *advice_of(const struct sonde__host_denial_facts *facts,
                             enum sonde__host_denial denial)
{
    switch (denial) {
    case SONDE__HOST_DENIED_ENDED:
        return "";
    case SONDE__HOST_DENIED_NAMESPACE:
        return "run sonde where the process is started, outside of this container";
    case SONDE__HOST_DENIED_POLICY:
        return "look from outside";
    case SONDE__HOST_DENIED_YAMA:
        return facts->yama == 1   ? "run as root, sysctl kernel.yama.ptrace_scope=0, or start the "
                                    "program under sonde run"
               : facts->yama == 2 ? "run as root (CAP_SYS_PTRACE)"
                                  : "nobody may trace until the machine starts again";
    default:
        return facts->own_user != 0 ? "run as root (CAP_SYS_PTRACE)"
                                    : "this root lacks CAP_SYS_PTRACE (a container: "
                                      "--cap-add=SYS_PTRACE)";
    }
}

void sonde__host_denial_text(const struct sonde__host_denial_facts *f,
                             enum sonde__host_denial denial, struct sonde__host_denied *ret_denied)
{
    switch (denial) {
    case SONDE__HOST_DENIED_ENDED:
        set_reason(ret_denied, "has ended");
        break;
    case SONDE__HOST_DENIED_USER:
        set_reason(ret_denied, "belongs to user %u", f->users[1]);
        break;
    case SONDE__HOST_DENIED_SETUID:
        set_reason(ret_denied, "is setuid: user %u runs it as user %u", f->users[0], f->users[1]);
        break;
    case SONDE__HOST_DENIED_GROUP:
        set_reason(ret_denied, "runs with group %u, which is not ours",
                   f->groups[1] != f->own_group   ? f->groups[1]
                   : f->groups[0] != f->own_group ? f->groups[0]
                                                  : f->groups[2]);
        break;
    case SONDE__HOST_DENIED_NOT_DUMPABLE:
        set_reason(ret_denied, "is not dumpable (it changed its user, asked for it, or its file "
                               "may not be read)");
        break;
    case SONDE__HOST_DENIED_CAPABILITIES:
        set_reason(ret_denied, "has capabilities that sonde lacks (%#llx)",
                   (unsigned long long)(f->capabilities & ~f->own_capabilities));
        break;
    case SONDE__HOST_DENIED_NAMESPACE:
        set_reason(ret_denied, "is in another user namespace, outside of this one");
        break;
    case SONDE__HOST_DENIED_YAMA:
        set_reason(ret_denied, "may be traced by %s only (Yama: kernel.yama.ptrace_scope is %d)",
                   f->yama == 1   ? "its parents"
                   : f->yama == 2 ? "root"
                                  : "nobody, root included:",
                   f->yama);
        break;
    case SONDE__HOST_DENIED_POLICY:
        set_reason(ret_denied, "is kept from %s by a security module or an outer container",
                   may_trace_all(f) ? "root" : "this user");
        break;
    }
    snprintf(ret_denied->advice, sizeof ret_denied->advice, "%s", advice_of(f, denial));
}

static void read_ids(const char *status, const char *name, uint32_t ret_ids[3])
{
    const char *line = strstr(status, name);
    if (line != NULL) {
        (void)sscanf(line + strlen(name), "%u %u %u", &ret_ids[0], &ret_ids[1], &ret_ids[2]);
    }
}

static uint64_t read_capabilities(const char *status, const char *name)
{
    const char *line = strstr(status, name);
    return line != NULL ? strtoull(line + strlen(name), NULL, 16) : 0;
}

static bool is_nested(void)
{
    char text[256] = "";
    size_t size;
    unsigned inside = 0, outside = 0, count = 0;
    /* the first namespace maps all ids to themselves (user_namespaces(7)) */
    return sonde__host_file_read("/proc/self/uid_map", text, sizeof text, &size, NULL) ==
               SONDE_OK &&
           sscanf(text, "%u %u %u", &inside, &outside, &count) == 3 &&
           (inside != 0 || outside != 0 || count != UINT32_MAX);
}

/* False: it has ended. */
static bool read_facts(int32_t pid, struct sonde__host_denial_facts *ret_facts)
{
    char path[64], text[SONDE__HOST_STATUS_BYTES], link[8];
    struct stat st;
    size_t size;
    snprintf(path, sizeof path, "/proc/%d/status", pid); /* the folder's owner stays */
    if (stat(path, &st) != 0 || !sonde__host_read_status(pid, (uint64_t)pid, text)) {
        return false;
    }
    ret_facts->owner = st.st_uid;
    ret_facts->own_user = geteuid();
    ret_facts->own_group = getegid();
    read_ids(text, "\nUid:", ret_facts->users);
    read_ids(text, "\nGid:", ret_facts->groups);
    ret_facts->capabilities = read_capabilities(text, "\nCapPrm:");
    if (sonde__host_read_status((int32_t)getpid(), (uint64_t)getpid(), text)) {
        ret_facts->own_capabilities = read_capabilities(text, "\nCapEff:");
    }
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ret_facts->is_readable = readlink(path, link, sizeof link) > 0;
    ret_facts->is_nested = is_nested();
    ret_facts->yama = sonde__host_file_read("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text,
                                            &size, NULL) == SONDE_OK
                          ? atoi(text)
                          : 0;
    return true;
}

void sonde__host_denied(int32_t pid, struct sonde__host_denied *ret_denied)
{
    struct sonde__host_denial_facts facts = {0};
    bool is_there = read_facts(pid, &facts);
    sonde__host_denial_text(
        &facts, is_there ? sonde__host_denial(&facts) : SONDE__HOST_DENIED_ENDED, ret_denied);
}

void sonde__host_explain_denied(int32_t pid, char *ret_text, size_t capacity)
{
    struct sonde__host_denied denied;
    sonde__host_denied(pid, &denied);
    snprintf(ret_text, capacity, "process %d %s%s%s", pid, denied.reason,
             denied.advice[0] != '\0' ? ": " : "", denied.advice);
}
