// SPDX-License-Identifier: Apache-2.0
/* Calls each function and method that packs of rules list (packs.py writes call_all()), before
 * consent and after it, while the compiled rules of argv[1] are audited; then what the rules of
 * packs.ini ask about. argv[2]: the report. */
#include <dlfcn.h>
#include <fcntl.h>
#include <mach/mach_init.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sonde/audit.h>
#include <sonde/image.h>
#include <sonde/note.h>

#include "workers.h"

void call_all(void);
long system_ask(void); /* of the library that has what libSystem lacks */
int connect(int fd, const struct sockaddr *address, socklen_t size);

static void see_line(void *ctx, const char *line)
{
    (void)ctx;
    printf("%s\n", line);
}

static void set_system(const void *in_image)
{
    Dl_info info;
    CHECK(dladdr(in_image, &info) != 0 && sonde_image_set_app(info.dli_fname, 0) == SONDE_OK);
}

static size_t read_file(const char *path, uint8_t *bytes, size_t capacity)
{
    size_t size = 0;
    int fd = open(path, O_RDONLY);
    for (ssize_t got = 1; fd >= 0 && got > 0; size += (size_t)(got > 0 ? got : 0)) {
        got = read(fd, bytes + size, capacity - size);
    }
    (void)close(fd);
    return size;
}

__attribute__((noinline)) static void connect_to(int family, const char *address, unsigned port)
{
    struct sockaddr_in6 six = {.sin6_len = sizeof six,
                               .sin6_family = AF_INET6,
                               .sin6_port = (in_port_t)(port << 8 | port >> 8)};
    struct sockaddr_in four = {.sin_len = sizeof four,
                               .sin_family = AF_INET,
                               .sin_port = (in_port_t)(port << 8 | port >> 8)};
    memcpy(&six.sin6_addr, address, family == AF_INET6 ? 16 : 0);
    memcpy(&four.sin_addr, address, family == AF_INET ? 4 : 0);
    if (family == AF_INET6) {
        (void)connect(-1, (const struct sockaddr *)&six, sizeof six);
    } else {
        (void)connect(-1, (const struct sockaddr *)&four, sizeof four);
    }
}

/* The rules of packs.ini. */
__attribute__((noinline)) static void use_others(void)
{
    static const char *const paths[] = {"/etc/hostname", "/private/var/keys/a/b.pem",
                                        "/private/var/keys/a/../b.txt", "/nowhere"};
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) {
        (void)close(open(paths[i], O_RDONLY));
    }
    (void)close(open("/nowhere/new", O_WRONLY | O_CREAT, 0600));
    connect_to(AF_INET, "\177\0\0\1", 80);
    connect_to(AF_INET, "\300\0\2\1", 443);
    connect_to(AF_INET6, "\40\1\15\270\0\0\0\0\0\0\0\0\0\0\0\1", 443);
#pragma clang loop unroll(disable)
    for (int i = 0; i < 7; i++) { /* one place of code */
        (void)getppid();
    }
}

int main(int argc, char **argv)
{
    enum { RULES_MAX = 1 << 20 };
    struct sonde_audit_options options = {.struct_bytes = sizeof options,
                                          .report = argc > 2 ? argv[2] : NULL,
                                          .build = "1.2.3",
                                          .on_line = see_line};
    struct sonde_audit_run *run = NULL;
    struct sonde_error error = {.what = ""};
    uint8_t *rules = malloc(RULES_MAX);
    size_t size = argc > 2 ? read_file(argv[1], rules, RULES_MAX) : 0;
    set_system(&mach_task_self_);
    set_system((const void *)system_ask);
    if (sonde_audit_begin(rules, size, &options, &run, &error) != SONDE_OK) {
        printf("no audit: %s\n", error.what);
        return 2;
    }
    call_all();
    use_others();
    sonde_watch_phase("consent", SONDE_CONSENT_GIVEN);
    call_all();
    CHECK(sonde_audit_finish(run, &error) == SONDE_OK);
    call_all();
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
