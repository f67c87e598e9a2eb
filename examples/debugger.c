// SPDX-License-Identifier: Apache-2.0
/* Functions to call from a debugger, wherever the process is stopped:
 *
 *     (gdb) call sonde_stacks_print()
 *     (gdb) call sonde_block_print(handler)
 *
 * The functions need no preparation, but they must be linked in: with the static library, the
 * program refers to them, as here, or is linked with -Wl,-u,sonde_block_print. The program may call
 * them, too. They write to standard error; this example sends that to standard output. */
#include <unistd.h>

#include <sonde/block.h>
#include <sonde/text.h>

/* A block made by hand, as a C compiler lays it out, so that any compiler can build this. */
void *_NSConcreteStackBlock[32];
struct literal {
    const void *isa;
    uint32_t flags, reserved;
    void (*invoke)(struct literal *block);
    const void *descriptor;
    int number;
};
static const struct {
    uintptr_t reserved, size;
    const char *signature;
} descriptor = {0, sizeof(struct literal), "v8@?0"};

static void count_block_invoke(struct literal *block)
{
    block->number++;
}

int main(void)
{
    struct literal block = {
        _NSConcreteStackBlock, SONDE_BLOCK_HAS_SIGNATURE, 0, count_block_invoke, &descriptor, 42};
    block.invoke(&block);
    if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0) {
        return 1;
    }
    sonde_block_print(&block);
    sonde_block_print("text");
    sonde_stacks_print();
    return 0;
}
