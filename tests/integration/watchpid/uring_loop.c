// SPDX-License-Identifier: Apache-2.0
/* A loop over io_uring without a library: the system call is made inside the loop's own function.
 */
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../zoo/inject.h"

static struct {
    int fd;
    uint8_t *sq, *cq;
    struct io_uring_sqe *entries;
    struct io_uring_params params;
} ring;

static uint8_t *map(size_t size, off_t offset)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, offset);
    return memory != MAP_FAILED ? memory : NULL;
}

static int open_ring(void)
{
    ring.fd = (int)syscall(SYS_io_uring_setup, 4, &ring.params);
    if (ring.fd < 0) {
        return -1;
    }
    ring.sq = map(ring.params.sq_off.array + ring.params.sq_entries * 4, IORING_OFF_SQ_RING);
    ring.cq = map(ring.params.cq_off.cqes + ring.params.cq_entries * sizeof(struct io_uring_cqe),
                  IORING_OFF_CQ_RING);
    ring.entries = (void *)map(ring.params.sq_entries * sizeof *ring.entries, IORING_OFF_SQES);
    return ring.sq != NULL && ring.cq != NULL && ring.entries != NULL ? 0 : -1;
}

static uint32_t *word(uint8_t *base, uint32_t offset)
{
    return (uint32_t *)(void *)(base + offset);
}

static void ask_for_timer(void)
{
    static struct __kernel_timespec after = {0, INJECT_TICK_MS * 1000000};
    uint32_t tail = *word(ring.sq, ring.params.sq_off.tail);
    uint32_t index = tail & *word(ring.sq, ring.params.sq_off.ring_mask);
    memset(&ring.entries[index], 0, sizeof ring.entries[index]);
    ring.entries[index].opcode = IORING_OP_TIMEOUT;
    ring.entries[index].addr = (uintptr_t)&after;
    ring.entries[index].len = 1;
    word(ring.sq, ring.params.sq_off.array)[index] = index;
    __atomic_store_n(word(ring.sq, ring.params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
}

/* io_uring_enter(fd, 1, 1, GETEVENTS): no function of the C library on the stack. */
static inline __attribute__((always_inline)) long enter_ring(void)
{
#if defined(__x86_64__)
    long result = SYS_io_uring_enter;
    register long flags __asm__("r10") = IORING_ENTER_GETEVENTS;
    register long mask __asm__("r8") = 0;
    register long size __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"((long)ring.fd), "S"(1L), "d"(1L), "r"(flags), "r"(mask), "r"(size)
                     : "rcx", "r11", "memory");
    return result;
#else
    return syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
#endif
}

int main(int argc, char **argv)
{
    if (open_ring() != 0) {
        puts("no io_uring");
        return 77;
    }
    inject_start(argc, argv);
    do {
        ask_for_timer();
        (void)enter_ring();
        uint32_t *head = word(ring.cq, ring.params.cq_off.head);
        __atomic_store_n(head, *word(ring.cq, ring.params.cq_off.tail), __ATOMIC_RELEASE);
    } while (inject_tick());
    return 0;
}
