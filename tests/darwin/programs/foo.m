// SPDX-License-Identifier: Apache-2.0
/* An app Foo.app with two frameworks (foo_sdk.c) that audits itself by the compiled rules of
 * argv[1]; argv[2]: the report. The app itself uses the user defaults and the time since the start.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <mach/mach_init.h>
#include <mach/mach_time.h>
#include <stdlib.h>
#include <unistd.h>

#include <sonde/audit.h>
#include <sonde/image.h>

#include "../sim/foundation.h"
#include "workers.h"

@interface NSUserDefaults : NSObject
+ (long)standardUserDefaults;
@end

int stat_ask(void), other_ask(void); /* of the frameworks */
long system_ask(void);               /* of a library of the system, which calls stat() */

static void set_system(const void *in_image)
{
    Dl_info info;
    CHECK(dladdr(in_image, &info) != 0 && sonde_image_set_app(info.dli_fname, 0) == SONDE_OK);
}

__attribute__((noinline)) static void ask_all(void)
{
    (void)[NSUserDefaults standardUserDefaults];
    (void)mach_absolute_time();
    CHECK(system_ask() == 1);
    CHECK(stat_ask() == 0 && other_ask() == 0);
}

int main(int argc, char **argv)
{
    enum { RULES_MAX = 1 << 20 };
    struct sonde_audit_options options = {.struct_bytes = sizeof options,
                                          .report = argc > 2 ? argv[2] : NULL};
    struct sonde_audit_run *run = NULL;
    struct sonde_error error = {.what = ""};
    uint8_t *rules = malloc(RULES_MAX);
    int fd = argc > 2 ? open(argv[1], O_RDONLY) : -1;
    ssize_t size = read(fd, rules, RULES_MAX);
    (void)close(fd);
    set_system(&mach_task_self_);
    set_system((const void *)system_ask);
    if (size <= 0 || sonde_audit_begin(rules, (size_t)size, &options, &run, &error) != SONDE_OK) {
        printf("no audit: %s\n", error.what);
        return 2;
    }
    ask_all();
    CHECK(sonde_audit_finish(run, &error) == SONDE_OK);
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
