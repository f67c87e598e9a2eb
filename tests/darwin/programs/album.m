// SPDX-License-Identifier: Apache-2.0
/* An app that audits itself by rules, and asks a hooked method for 500 thumbnails before consent and
 * again after it: each stack of the app's own frames is told once, with its phase, and all calls are
 * counted. A condition on an argument, and limits, too: one is exceeded, one is just kept. */
#include <dlfcn.h>
#include <fcntl.h>
#include <mach/mach_init.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/audit.h>
#include <sonde/image.h>
#include <sonde/note.h>

#include "audit_blob.h"

#include "../sim/foundation.h"
#include "workers.h"

enum { PHOTOS = 500, LIMIT = 20, USES = LIMIT + 5 };

void dispatch_sync_f(void *queue, void *context, void (*work)(void *context));
void *dispatch_queue_create(const char *label, void *attributes);

@interface Photos : NSObject
- (int)thumbnail:(int)index;
- (double)scale:(double)a b:(double)b c:(double)c d:(double)d e:(double)e f:(double)f g:(double)g h:(double)h;
@end

@interface Album : NSObject {
  @public
    Photos *_photos;
}
- (int)showAll;
- (int)showFirst;
@end

@implementation Photos
- (int)thumbnail:(int)index
{
    return index;
}
- (double)scale:(double)a b:(double)b c:(double)c d:(double)d e:(double)e f:(double)f g:(double)g h:(double)h
{
    return a + 2 * b + 4 * c + 8 * d + 16 * e + 32 * f + 64 * g + 128 * h;
}
@end

@implementation Album
- (int)showAll
{
    int sum = 0;
#pragma clang loop unroll(disable)
    for (int i = 0; i < PHOTOS; i++) { /* one place of code */
        sum += [_photos thumbnail:i];
    }
    return sum + 1;
}
- (int)showFirst
{
    return [_photos thumbnail:0] + 1;
}
@end

static void show(void *context)
{
    Album *album = (__bridge Album *)context;
    CHECK([album showAll] == PHOTOS * (PHOTOS - 1) / 2 + 1);
}

static const char *const photo[] = {"-[Photos thumbnail:]"}, *const opens[] = {"open"},
                        *const ids[] = {"getuid"},
                        *const scales[] = {"-[Photos scale:b:c:d:e:f:g:h:]"};
static const uint32_t any[] = {0};
static const struct sonde__audit_rule rules[] = {
    {.name = "early", .pack = "album", .category = "", .text = "", .severity = SONDE_AUDIT_ERROR,
     .functions = photo, .arguments = any, .function_count = 1, .phase = "consent",
     .is_before_phase = true},
    {.name = "photo", .pack = "album", .category = "", .text = "", .severity = SONDE_AUDIT_NOTE,
     .functions = photo, .arguments = any, .function_count = 1},
    {.name = "etc", .pack = "album", .category = "", .text = "", .severity = SONDE_AUDIT_WARNING,
     .functions = opens, .arguments = any, .function_count = 1, .when = "path ~ /etc/**"},
    {.name = "often", .pack = "album", .category = "", .text = "", .severity = SONDE_AUDIT_WARNING,
     .functions = ids, .arguments = any, .function_count = 1, .limit_count = LIMIT,
     .limit_ns = (uint64_t)60000000000},
    {.name = "kept", .pack = "album", .category = "", .text = "", .severity = SONDE_AUDIT_WARNING,
     .functions = ids, .arguments = any, .function_count = 1, .limit_count = USES,
     .limit_ns = (uint64_t)60000000000},
    {.name = "scale", .pack = "album", .category = "", .text = "", .severity = SONDE_AUDIT_NOTE,
     .functions = scales, .arguments = any, .function_count = 1},
};

/* What is told, one a line; `told` is written by the audit's thread, and then by the main one. */
static char told[1 << 14];
static unsigned told_count;

static void keep(const char *line)
{
    size_t used = strlen(told);
    snprintf(told + used, sizeof told - used, "%s\n", line);
}

static void see_found(void *ctx, const struct sonde_audit_found *found)
{
    char line[512];
    (void)ctx;
    snprintf(line, sizeof line, "%s: %s by %s in '%s'", found->rule, found->function,
             found->callers, found->phase);
    keep(line);
    told_count++;
}

static void see_line(void *ctx, const char *line)
{
    (void)ctx;
    keep(line);
}

static void check_told(void)
{
    static const char *const wanted[] = {
        "early: -[Photos thumbnail:] by -[Album showAll] < show < main in ''\n",
        "photo: -[Photos thumbnail:] by -[Album showAll] < show < main in ''\n",
        "photo: -[Photos thumbnail:] by -[Album showAll] < show < main in 'consent'\n",
        "photo: -[Photos thumbnail:] by -[Album showFirst] < main in 'consent'\n",
        "etc: open by use_others < main in 'consent'\n",
        "often: getuid by use_others < main in 'consent'\n",
        "kept: getuid by use_others < main in 'consent'\n", /* its report says that none is over */
        "scale: -[Photos scale:b:c:d:e:f:g:h:] by main in 'consent'\n",
        "1053 calls of 4 functions recorded, 8 different stacks; each counts once for each rule",
    };
    unsigned missing = 0;
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        missing += strstr(told, wanted[i]) == NULL;
    }
    CHECK(missing == 0 && told_count == 8);
    if (mistakes != 0) {
        printf("%s", told);
    }
}

__attribute__((noinline)) static void use_others(void)
{
    int fd = open("/etc/hostname", O_RDONLY);
    (void)close(fd);
    fd = open("/nowhere", O_RDONLY);
    CHECK(fd < 0);
#pragma clang loop unroll(disable)
    for (int i = 0; i < USES; i++) { /* one place of code */
        (void)getuid();
    }
}

/* In a device's app the system's libraries are in folders of the system. */
static void tell_system(void)
{
    Dl_info info;
    CHECK(dladdr((const void *)&mach_task_self_, &info) != 0 &&
          sonde_image_set_app(info.dli_fname, 0) == SONDE_OK);
}

/* argv[1]: where the report goes. */
int main(int argc, char **argv)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct sonde_audit_run *run = NULL;
    struct sonde_error error = {.what = ""};
    const struct sonde__audit_rules all = {.rules = rules,
                                           .count = sizeof rules / sizeof *rules};
    struct sonde_audit_options options = {.struct_bytes = sizeof options,
                                          .report = argc > 1 ? argv[1] : NULL,
                                          .build = "1.2.3",
                                          .on_found = see_found,
                                          .on_line = see_line};
    tell_system();
    if (sonde__audit_blob_write(&all, &bytes, &size, &error) != SONDE_OK ||
        sonde_audit_begin(bytes, size, &options, &run, &error) != SONDE_OK) {
        printf("no audit: %s\n", error.what);
        return 2;
    }
    Album *album = [Album alloc];
    album->_photos = [Photos alloc];
    void *queue = dispatch_queue_create("photos", NULL);
    dispatch_sync_f(queue, (__bridge void *)album, show);
    sonde_watch_phase("consent", SONDE_CONSENT_GIVEN);
    dispatch_sync_f(queue, (__bridge void *)album, show);
    CHECK([album showFirst] == 1);
    /* arguments in registers that sonde and libSystem use, too */
    CHECK([album->_photos scale:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1] == 255);
    use_others();
    CHECK(sonde_audit_finish(run, &error) == SONDE_OK);
    CHECK([album showFirst] == 1); /* as before */
    check_told();
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
