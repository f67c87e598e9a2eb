// SPDX-License-Identifier: Apache-2.0
/* Programs in Objective-C: a method that spins, seen from another thread, and a block that holds an
 * object, self and a number: what it holds, who holds that, and what it says of itself. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/block.h>
#include <sonde/symbol.h>
#include <sonde/text.h>
#include <sonde/thread.h>

#include "../sim/foundation.h"
#include "workers.h"

typedef int (^handler)(void);

@interface VC : NSObject {
  @public
    volatile int _isOver, _isReady;
    uint64_t _tid;
}
- (handler)handlerWith:(NSObject *)other count:(int)count;
@end

void corpus_drain(void); /* of the runtime: release what was autoreleased */

int use(const void *a, const void *b, int c);
__attribute__((noinline)) int use(const void *a, const void *b, int c)
{
    return a != b ? c : 0;
}

@implementation VC
- (void)bar
{
    _isReady = 1;
    while (!_isOver) {
    }
}
- (void)foo
{
    [self bar];
    _isReady++;
}
+ (void)shareWith:(VC *)controller
{
    [controller foo];
    controller->_isReady++;
}
- (handler)handlerWith:(NSObject *)other count:(int)count
{
    return ^{
      return use((__bridge const void *)other, (__bridge const void *)self, count);
    };
}
@end

/* --- a method that spins --- */

void *run_controller(void *argument);
void *run_controller(void *argument) /* an export, which has a name in a stripped program, too */
{
    VC *controller = (__bridge VC *)argument;
    controller->_tid = sonde_thread_self();
    [VC shareWith:controller];
    return argument;
}

/* Each line has the image, an address and the name, in this order. */
static void check_lines(void)
{
    static const char *const names[] = {" -[VC bar] + ", " -[VC foo] + ", " +[VC shareWith:] + ",
                                        " run_controller + ", " thread_start + "};
    char *line = strchr(text, '\n');
    CHECK(strncmp(text, "Backtrace of Thread ", 20) == 0);
    for (unsigned i = 0; i < 5 && line != NULL; i++) {
        char *next = strchr(line + 1, '\n');
        if (next != NULL) {
            *next = '\0';
        }
        CHECK(strncmp(line + 1, i < 4 ? "objc " : "libSystem.dylib ", i < 4 ? 5 : 16) == 0);
        CHECK(strstr(line + 1, names[i]) != NULL && strstr(line + 1, " 0x") != NULL);
        line = next;
    }
    CHECK(line != NULL);
}

static void check_method(VC *controller)
{
    pthread_t thread;
    struct sonde_symbolizer *symbolizer = NULL;
    CHECK(pthread_create(&thread, NULL, run_controller, (__bridge void *)controller) == 0);
    while (!controller->_isReady) {
        usleep(10);
    }
    CHECK(sonde_symbolizer_create(&symbolizer) == SONDE_OK);
    CHECK(sonde_thread_write(symbolizer, SONDE_STYLE_BS, controller->_tid, append, NULL) ==
          SONDE_OK);
    sonde_symbolizer_destroy(symbolizer);
    check_lines();
    controller->_isOver = 1;
    pthread_join(thread, NULL);
}

/* --- a block --- */

static void check_captures(struct sonde_blocks *blocks, uint64_t block, uint64_t other,
                           uint64_t self)
{
    struct sonde_block_capture captures[8] = {{.struct_bytes = sizeof captures[0]}};
    size_t count = 0;
    CHECK(sonde_block_captures(blocks, block, captures, 8, &count) == SONDE_OK && count == 3);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(captures[i].kind == SONDE_BLOCK_STRONG && captures[i].is_owned);
        CHECK((captures[i].sources & 1u << SONDE_BLOCK_BY_HELPER) != 0);
        CHECK((captures[i].sources & 1u << SONDE_BLOCK_BY_LAYOUT) != 0);
    }
    CHECK(captures[0].value == other || captures[1].value == other);
    CHECK(captures[0].value == self || captures[1].value == self);
    CHECK(captures[2].kind == SONDE_BLOCK_DATA && (uint32_t)captures[2].value == 77);
    CHECK(captures[2].size_bytes == 4 || captures[2].size_bytes == 0);
}

static int is_found(struct sonde_blocks *blocks, uint64_t block)
{
    static struct sonde_block found[100] = {{.struct_bytes = sizeof found[0]}};
    size_t count = 0;
    int times = 0;
    CHECK(sonde_blocks_scan(blocks, found, 100, &count) == SONDE_OK);
    for (size_t i = 0; i < count && i < 100; i++) {
        times += found[i].address == block && found[i].references == 1;
    }
    return times;
}

static void check_holders(struct sonde_blocks *blocks, uint64_t block, uint64_t held)
{
    struct sonde_block_holder holders[8] = {{.struct_bytes = sizeof holders[0]}};
    size_t count = 0;
    CHECK(sonde_block_holders(blocks, held, holders, 8, &count) == SONDE_OK && count == 1);
    CHECK(holders[0].holder == block && holders[0].is_owned && holders[0].is_certain);
}

static void check_description(handler block, NSObject *other, VC *self)
{
    NSObject *as_object = (NSObject *)block;
    char line[200];
    const char *before = [[as_object debugDescription] UTF8String], *after;
    CHECK(strncmp(before, "<__NSMallocBlock__: 0x", 22) == 0);
    CHECK(sonde_block_describe_install(8) == SONDE_USAGE);
    CHECK(sonde_block_describe_install(0) == SONDE_OK);
    CHECK(sonde_block_describe_install(0) == SONDE_USAGE);
    after = [[as_object debugDescription] UTF8String];
    CHECK(strncmp(after, before, strlen(before)) == 0 && after[strlen(before)] == '\n');
    CHECK(strstr(after, "\n captures : 3\n +32 strong ") != NULL);
    snprintf(line, sizeof line, " strong VC 0x%lx", (unsigned long)(__bridge void *)self);
    CHECK(strstr(after, line) != NULL);
    snprintf(line, sizeof line, " strong NSObject 0x%lx\n", (unsigned long)(__bridge void *)other);
    CHECK(strstr(after, line) != NULL && strstr(after, "\n +48 data 0x4d") != NULL);
    sonde_block_describe_remove();
    CHECK(strcmp([[as_object debugDescription] UTF8String], before) == 0);
    CHECK(sonde_block_describe_install(SONDE_BLOCK_DESCRIBE_OBJECTS) == SONDE_OK);
    after = [[as_object debugDescription] UTF8String];
    snprintf(line, sizeof line, " strong NSObject 0x%lx, <NSObject: 0x%lx>\n",
             (unsigned long)(__bridge void *)other, (unsigned long)(__bridge void *)other);
    CHECK(strstr(after, line) != NULL);
    if (mistakes != 0) {
        printf("%s\n", after);
    }
    sonde_block_describe_remove();
    sonde_block_describe_remove();
    CHECK(strcmp([[as_object debugDescription] UTF8String], before) == 0);
}

int main(void)
{
    VC *controller = [[VC alloc] init];
    NSObject *other = [[NSObject alloc] init];
    struct sonde_blocks *blocks = NULL;
    struct sonde_error error = {.what = ""};
    struct sonde_block block = {.struct_bytes = sizeof block};
    handler made = [controller handlerWith:other count:77];
    uint64_t at = (uint64_t)(__bridge void *)made;
    corpus_drain();
    check_method(controller);
    CHECK(sonde_blocks_open(&blocks, &error) == SONDE_OK);
    if (blocks == NULL) {
        printf("%s\n", error.what);
        return 1;
    }
    CHECK(sonde_block_inspect(blocks, at, &block) == SONDE_OK && block.size_bytes == 52);
    CHECK((block.flags & SONDE_BLOCK_HEAP) != 0 && block.references == 1 && block.captures == 3);
    check_captures(blocks, at, (uint64_t)(__bridge void *)other,
                   (uint64_t)(__bridge void *)controller);
    CHECK(is_found(blocks, at) == 1);
    check_holders(blocks, at, (uint64_t)(__bridge void *)other);
    check_description(made, other, controller);
    CHECK(made() == 77);
    made = 0;
    CHECK(is_found(blocks, at) == 0);
    sonde_blocks_close(blocks);
    check_nothing_is_left();
    printf("%u mistakes\n", mistakes);
    return mistakes != 0;
}
