// SPDX-License-Identifier: Apache-2.0
/* What the kinds of targets share: base struct, operations, images. */
#ifndef SONDE_TARGET_PRIVATE_H
#define SONDE_TARGET_PRIVATE_H

#include "host_maps.h"
#include "target.h"
#include "target_images.h"
#include "target_jit.h"
#include "target_script.h"

/* All but `close` and `read` may be null: for a target without lists of threads and memory
 * (frozen); whose allocator tells nothing (allocation, allocations, which go together); for one
 * that does not change (refresh, stop, resume); with nothing to release (rest). */
struct sonde__target_ops {
    void (*close)(struct sonde__target *target);
    enum sonde_status (*list)(struct sonde__target *target, struct sonde_error *ret_error);
    enum sonde_status (*find)(struct sonde__target *target, uint64_t tid,
                              struct sonde__thread *ret_thread);
    enum sonde_status (*refresh)(struct sonde__target *target, struct sonde_error *ret_error);
    size_t (*read)(struct sonde__target *target, uint64_t address, void *ret_bytes, size_t size);
    enum sonde_status (*own_memory)(struct sonde__target *target,
                                    struct sonde__target_memory *ret_memory,
                                    struct sonde_error *ret_error);
    bool (*allocation)(struct sonde__target *target, uint64_t address, uint64_t *ret_start,
                       uint64_t *ret_size);
    enum sonde_status (*allocations)(struct sonde__target_allocations *ret_allocations,
                                     struct sonde_error *ret_error);
    void (*capture)(struct sonde__target *target, const struct sonde__thread *thread,
                    struct sonde_stack *stack, struct sonde__capture *ret_capture);
    void (*expect)(struct sonde__target *target, uint64_t tid, uint64_t after_ns, uint32_t count);
    bool (*met)(struct sonde__target *target, uint64_t tid, struct sonde_stack *stack,
                struct sonde__capture *ret_capture);
    void (*pause)(struct sonde__target *target);
    void (*rest)(struct sonde__target *target);
    /* May an address be code although the images say it is not? */
    bool (*may_be_code)(struct sonde__target *target, uint64_t address);
    enum sonde_status (*stop)(struct sonde__target *target, struct sonde_error *ret_error);
    void (*resume)(struct sonde__target *target, uint64_t *ret_pause_ns);
};

/* First member of each kind's own struct. */
struct sonde__target {
    const struct sonde__target_ops *ops;
    int32_t pid;
    unsigned arch;
    enum sonde__target_mode mode;
    bool is_live; /* a process, not a core */
    struct sonde__target_signals signals;
    char *executable;
    char *root;
    char *own_root;                /* of a process in a chroot; or null */
    char doubt[320];               /* see sonde__target_doubt() */
    struct sonde__thread *threads; /* replaced by each listing */
    uint32_t thread_count;
    struct sonde__target_images images;
    struct sonde__target_jit jit;
    struct sonde__target_scripts scripts;
};

/* Free what the base owns, not the struct. */
void sonde__target_base_done(struct sonde__target *target);

/* Walk a stack with what is common to all kinds: images, counting of hits. */
void sonde__target_walk(struct sonde__target *target, const struct sonde__regs *regs, bool infer,
                        bool (*read)(void *ctx, uint64_t address, void *ret_bytes, size_t size),
                        void *ctx, struct sonde_stack *stack);

/* Select the ranges of `maps` that are the program's own. Returns OK | MEMORY. */
SONDE_NODISCARD enum sonde_status sonde__target_memory_of(const struct sonde__host_maps *maps,
                                                          struct sonde__target_memory *ret_memory,
                                                          struct sonde_error *ret_error);

/* Append to capture->note, as printf. */
void sonde__target_note(struct sonde__capture *capture, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
