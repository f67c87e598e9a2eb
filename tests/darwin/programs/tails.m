// SPDX-License-Identifier: Apache-2.0
/* Methods that end by a jump, as optimized code does, behind calls that send a message: what the
 * stack lost, by the code of this program's own file. Returns 0 if each answer is the right one. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <sonde/stack.h>

#include "../sim/foundation.h"
#include "image_macho.h"
#include "tail_code.h"
#include "tail_graph.h"

enum { FILE_BYTES = 16 << 20, FRAMES = 20 };

@interface Worker : NSObject
- (long)handed:(long)x;
- (long)passed:(long)x;
- (long)shared:(long)x;
- (long)kept:(long)x;
@end

@interface Other : Worker
@end

extern long send_handed(Worker *to, void *none, long x) __asm__("_objc_msgSend$handed:");
extern long send_passed(Worker *to, void *none, long x) __asm__("_objc_msgSend$passed:");
extern long send_shared(Worker *to, void *none, long x) __asm__("_objc_msgSend$shared:");
extern long send_kept(Worker *to, void *none, long x) __asm__("_objc_msgSend$kept:");
extern char handed_code[] __asm__("-[Worker handed:]");
extern char passed_code[] __asm__("-[Worker passed:]");

static uint64_t pcs[FRAMES];
static uint8_t how[FRAMES];
static struct sonde_stack stack;
static volatile long calls;
static unsigned mistakes;

__attribute__((noinline)) static long finish(long x)
{
    sonde_stack_init(&stack, pcs, how, FRAMES, 0);
    mistakes += sonde_stack_capture(&stack, 0) != SONDE_OK;
    return x + calls++;
}

__attribute__((noinline)) static long finish_more(long x)
{
    calls += x;
    return finish(x + 1);
}

@implementation Worker
- (long)handed:(long)x
{
    calls++;
    return finish_more(x);
}
- (long)passed:(long)x
{
    calls += 2;
    return send_kept(self, 0, x);
}
- (long)shared:(long)x
{
    calls += 3;
    return finish(x);
}
- (long)kept:(long)x
{
    return finish(x) + calls;
}
@end

@implementation Other
- (long)shared:(long)x
{
    calls += 4;
    return finish(x + 1);
}
@end

#define CALLER(name)                                                                               \
    __attribute__((noinline)) static long calls_##name(Worker *to)                                 \
    {                                                                                              \
        return send_##name(to, 0, 5) + calls;                                                      \
    }
CALLER(handed)
CALLER(passed)
CALLER(shared)
CALLER(kept)

__attribute__((noinline)) static long messages_handed(Worker *to)
{
    return [to handed:5] + calls;
}

/* --- the answers --- */

static struct sonde__tail_graph tails;
extern const char header[] __asm__("__mh_execute_header"); /* of this program: offset 0 */

static const char *read_tails(const char *path)
{
    static uint8_t file[FILE_BYTES];
    static struct sonde__macho macho;
    static struct sonde__tail_bytes bytes;
    static struct sonde_error error;
    int fd = open(path, O_RDONLY);
    ssize_t size = 0, part;
    while (fd >= 0 && (part = read(fd, file + size, sizeof file - (size_t)size)) > 0) {
        size += part;
    }
    close(fd);
    if (sonde__macho_open(file, (size_t)size, &macho, &error) != SONDE_OK) {
        return error.what;
    }
    const struct sonde__tail_macho code = {.image = &macho, .base = macho.base};
    if (sonde__tail_macho_make(&code, &bytes) != SONDE_OK ||
        !sonde__tail_open(bytes.graph, bytes.graph_size, bytes.sites, bytes.sites_size, &tails)) {
        return "no tails";
    }
    return NULL;
}

static uint32_t offset_of(uint64_t address)
{
    return (uint32_t)(address - (uint64_t)(uintptr_t)header);
}

static int is_frame(const struct sonde__tail_found *found, uint32_t i, const void *wanted)
{
    uint32_t entry = wanted != NULL ? offset_of((uint64_t)(uintptr_t)wanted) : 0;
    return wanted == NULL ? found->count <= i : found->count > i && found->frames[i].entry == entry;
}

/* What is missing between frame `inner` of the last stack and its caller. */
static void check(const char *what, unsigned inner, enum sonde__tail_answer wanted,
                  const void *first, const void *second)
{
    struct sonde__tail_found found = {.count = 0};
    enum sonde__tail_answer answer = SONDE__TAIL_NOTHING;
    uint32_t entry;
    bool is_main;
    if (sonde__tail_site(&tails, offset_of(stack.pcs[inner + 1]), &entry, &is_main)) {
        answer = sonde__tail_between(&tails, entry, offset_of(stack.pcs[inner] - (inner != 0)),
                                     &found);
    }
    if (answer != wanted || !is_frame(&found, 0, first) || !is_frame(&found, 1, second)) {
        printf("%s: answer %u, %u frames\n", what, (unsigned)answer, (unsigned)found.count);
        mistakes++;
    }
}

int main(int argc, char **argv)
{
    Worker *worker = [[Worker alloc] init], *other = [[Other alloc] init];
    const char *trouble = argc == 2 ? read_tails(argv[1]) : "no file";
    if (trouble != NULL) {
        printf("%s\n", trouble);
        return 1;
    }
    calls_handed(worker);
    check("handed", 0, SONDE__TAIL_POSSIBLE, (const void *)finish_more, handed_code);
    messages_handed(worker);
    check("handed, without a stub", 0, SONDE__TAIL_POSSIBLE, (const void *)finish_more, handed_code);
    calls_passed(worker);
    check("passed", 1, SONDE__TAIL_POSSIBLE, passed_code, NULL);
    calls_shared(worker);
    check("shared", 0, SONDE__TAIL_POSSIBLE, NULL, NULL);
    calls_shared(other);
    check("shared by another", 0, SONDE__TAIL_POSSIBLE, NULL, NULL);
    calls_kept(worker);
    check("kept", 0, SONDE__TAIL_NOTHING, NULL, NULL);
    check("the caller of kept", 1, SONDE__TAIL_NOTHING, NULL, NULL);
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
