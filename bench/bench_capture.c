// SPDX-License-Identifier: Apache-2.0
/* Capture of the current thread, compared with other unwinders in one run: a stack that is captured
 * repeatedly (also by tables alone, and in place), stacks that change, cold memory, new threads,
 * two threads. Then building tables. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <sonde/stack.h>

#include "bench_bare.h"
#include "bench_chain.h"
#include "bench_peers.h"
#include "bench_table_program.h"
#include "bench_threads.h"
#include "bench_varied.h"
#include "capture_images.h"
#include "harness.h"
#include "image_cfi.h"
#include "target_self.h"
#include "unwind_memo.h"
#include "unwind_rules.h"
#include "unwind_walk.h"

#define FRAMES_MAX 1024
#define IMAGES_MAX 256
/* Libraries with more call frame information than this are also measured alone. */
#define LARGE_BYTES 100000

enum { OURS, TABLE, IN_PLACE, GLIBC, UNW_BACKTRACE, UNW_STEP, LLVM_STEP, FP_LOOP, METHODS };

static const char *const names[METHODS] = {
    "ours",          "table",    "in_place",      "glibc_backtrace",
    "unw_backtrace", "unw_step", "llvm_unw_step", "fp_loop"};

static struct sonde__image_set set;
static struct sonde__image_set set_in_place;
static struct sonde__image images_in_place[IMAGES_MAX];
static uint64_t stack_end;

static __thread uint64_t pcs[FRAMES_MAX];
static __thread uint8_t how[FRAMES_MAX];
static struct sonde__walk walk; /* from the leaf */
static int counts[METHODS];
static bool is_keeping;
static const void *leaf_frame; /* of at_leaf() */

static void walk_with(const struct sonde__image_set *images, int *count)
{
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, FRAMES_MAX, 0);
    walk.images = images;
    sonde__unwind_walk(&walk, &stack);
    *count = stack.end == SONDE_END_ROOT ? (int)stack.count : 0;
    bench_keep(pcs);
}

static void run_table(void *unused)
{
    (void)unused;
    walk_with(&set, &counts[TABLE]);
}

static void run_in_place(void *unused)
{
    (void)unused;
    walk_with(&set_in_place, &counts[IN_PLACE]);
}

/* The number of frames, or 0 if the stack is not whole. */
static int capture_whole(void)
{
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, FRAMES_MAX, 0);
    int count = sonde_stack_capture(&stack, 0) == SONDE_OK ? (int)stack.count : 0;
    bench_keep(pcs);
    return stack.end == SONDE_END_ROOT ? count : 0;
}

static int capture_ours(void)
{
    struct sonde_stack stack;
    sonde_stack_init(&stack, pcs, how, FRAMES_MAX, 0);
    int count = sonde_stack_capture(&stack, 0) == SONDE_OK ? (int)stack.count : 0;
    bench_keep(pcs);
    return count;
}

static void run_ours(void *unused)
{
    (void)unused;
    counts[OURS] = capture_ours();
}

static void touch(void)
{
    memset(pcs, 0, sizeof pcs);
    memset(how, 0, sizeof how);
    bench_peers_touch();
}

static void run_glibc(void *unused)
{
    (void)unused;
    counts[GLIBC] = bench_glibc_backtrace();
}

static void run_unw_backtrace(void *unused)
{
    (void)unused;
    counts[UNW_BACKTRACE] = bench_unw_backtrace();
}

static void run_unw_step(void *unused)
{
    (void)unused;
    counts[UNW_STEP] = bench_unw_step();
}

static void run_llvm_step(void *unused)
{
    (void)unused;
    counts[LLVM_STEP] = bench_llvm_step();
}

static void run_fp_loop(void *unused)
{
    (void)unused;
    counts[FP_LOOP] = bench_fp_loop(leaf_frame);
}

/* The registers of the frame that called getcontext(). Its rows are valid while that frame
 * lives. */
static void set_registers(const ucontext_t *uc)
{
    memset(&walk, 0, sizeof walk);
#if defined(__x86_64__)
    static const int order[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};
    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++) {
        sonde__regs_set(&walk.regs, i, (uint64_t)uc->uc_mcontext.gregs[order[i]]);
    }
    walk.regs.pc = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
#else
    for (unsigned i = 0; i < 31; i++) {
        sonde__regs_set(&walk.regs, i, uc->uc_mcontext.regs[i]);
    }
    sonde__regs_set(&walk.regs, SONDE__AARCH64_SP, uc->uc_mcontext.sp);
    walk.regs.pc = uc->uc_mcontext.regs[30];
#endif
    walk.regs.arch = SONDE__ARCH_HOST;
    walk.first_exact = true;
    walk.memory.plain_start = walk.regs.r[sonde__arch_sp(SONDE__ARCH_HOST)];
    walk.memory.plain_end = stack_end;
}

static void report(unsigned depth, const double *ns)
{
    const char *kind = is_keeping ? "repeat_fp_code" : "repeat";
    double ours = ns[OURS] / counts[OURS];
    bench_print(ours, "ns", "capture.%s.d%u.ns_per_frame", kind, depth);
    for (unsigned i = TABLE; i < METHODS; i++) {
        if (counts[i] != 0 && ns[i] != 0) {
            double per_frame = ns[i] / counts[i];
            bench_print(per_frame, "ns", "capture.%s.d%u.%s.ns_per_frame", kind, depth, names[i]);
            bench_print(per_frame / ours, "x", "capture.%s.d%u.vs_%s", kind, depth, names[i]);
        }
    }
}

static void at_leaf(void *ctx)
{
    unsigned depth = *(unsigned *)ctx;
    struct bench_method methods[METHODS] = {
        {names[OURS], run_ours, NULL},         {names[TABLE], run_table, NULL},
        {names[IN_PLACE], run_in_place, NULL}, {names[GLIBC], run_glibc, NULL},
        {names[UNW_BACKTRACE], NULL, NULL},    {names[UNW_STEP], NULL, NULL},
        {names[LLVM_STEP], NULL, NULL},        {names[FP_LOOP], NULL, NULL},
    };
    ucontext_t uc;
    double ns[METHODS];
    leaf_frame = __builtin_frame_address(0);
    (void)getcontext(&uc);
    set_registers(&uc);
    memset(counts, 0, sizeof counts);
    if (bench_unw_backtrace() != 0) {
        methods[UNW_BACKTRACE].run = run_unw_backtrace;
    }
    if (bench_unw_step() != 0) {
        methods[UNW_STEP].run = run_unw_step;
    }
    if (bench_llvm_step() != 0) {
        methods[LLVM_STEP].run = run_llvm_step;
    }
    if (is_keeping) {
        methods[FP_LOOP].run = run_fp_loop;
    }
    bench_compare(methods, METHODS, ns);
    if (counts[TABLE] < (int)depth || counts[OURS] < (int)depth ||
        counts[IN_PLACE] != counts[TABLE]) {
        bench_note("capture: the walk gave %d frames by table, %d in place, of %u", counts[TABLE],
                   counts[IN_PLACE], depth);
        exit(1);
    }
    report(depth, ns);
}

/* Bytes of records up to the terminator: the rest of the mapping is not call frame information. */
static uint64_t record_bytes(const struct sonde__image *image)
{
    struct sonde__cfi_fde fde;
    uint64_t offset = 0;
    uint64_t next = 0;
    fde.cie.program = NULL;
    while (sonde__cfi_record_read(&image->cfi, image->arch, SONDE__CFI_EH_FRAME, offset, &fde,
                                  &next) != SONDE__CFI_RECORD_END) {
        offset = next;
    }
    return offset;
}

struct build {
    void *memory;
    size_t size;
    uint64_t table_bytes;
    const struct sonde__image *image;
};

static void build_one(void *ctx)
{
    struct build *build = ctx;
    const struct sonde__rules *rules = NULL;
    if (sonde__unwind_rules_build(&build->image->cfi, build->image->arch, build->memory,
                                  build->size, &rules) == SONDE_OK) {
        build->table_bytes += sonde__unwind_rules_bytes(rules);
    }
}

/* Build the table of one image. Returns nanoseconds. */
static double bench_table(struct build *build, const struct sonde__image *image)
{
    struct bench_method method = {"build", build_one, build};
    const char *name = strrchr(image->path, '/');
    uint64_t bytes = record_bytes(image);
    double ns = 0;
    build->image = image;
    build->table_bytes = 0;
    build_one(build);
    uint64_t table_bytes = build->table_bytes;
    bench_compare(&method, 1, &ns);
    build->table_bytes = table_bytes;
    if (bytes >= LARGE_BYTES && name != NULL) {
        bench_print((double)bytes * 1000 / ns, "MB/s", "capture.table.%.*s.mb_per_s",
                    (int)strcspn(name + 1, ".-"), name + 1);
    }
    return ns;
}

static void bench_tables(void)
{
    struct build build = {.size = 0};
    uint64_t bytes = 0, table_bytes = 0;
    double ns = 0, largest = 0;
    for (uint32_t i = 0; i < set.image_count; i++) {
        size_t size = 0;
        if (sonde__unwind_rules_size(&set.images[i].cfi, set.images[i].arch, &size) == SONDE_OK &&
            size > build.size) {
            build.size = size;
        }
        bytes += record_bytes(&set.images[i]);
    }
    build.memory =
        mmap(NULL, build.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (build.memory == MAP_FAILED) {
        return;
    }
    for (uint32_t i = 0; i < set.image_count; i++) {
        /* one image at a time: batches are short, and a busy machine disturbs few */
        ns += bench_table(&build, &set.images[i]);
        uint64_t image_bytes = record_bytes(&set.images[i]);
        double ratio = image_bytes > 0 ? (double)build.table_bytes / (double)image_bytes : 0;
        largest = ratio > largest ? ratio : largest;
        table_bytes += build.table_bytes;
    }
    bench_print((double)bytes * 1000 / ns, "MB/s", "capture.table.mb_per_s");
    bench_print((double)table_bytes / (double)bytes, "x", "capture.table.bytes_vs_eh_frame");
    bench_print(largest, "x", "capture.table.largest_vs_eh_frame");
    bench_print((double)bytes / 1e6, "MB", "capture.table.eh_frame");
    (void)munmap(build.memory, build.size);
}

static void bench_stacks_that_change(void)
{
    struct bench_unwinder unwinders[BENCH_UNWINDERS_MAX] = {
        {"ours", capture_ours}, {"glibc_backtrace", bench_glibc_backtrace}};
    unsigned count = 2;
    if (bench_unw_backtrace() != 0) {
        unwinders[count++] = (struct bench_unwinder){"unw_backtrace", bench_unw_backtrace};
    }
    bench_varied(unwinders, count);
    bench_bare("capture.no_cfi", capture_whole);
    bench_cold(unwinders, count);
    bench_first_on_thread(unwinders, count, touch);
    bench_print(SONDE__MEMO_BYTES, "B", "capture.memo.bytes_per_thread");
    if (bench_unw_step() != 0) {
        unwinders[count++] = (struct bench_unwinder){"unw_step", bench_unw_step};
    }
    bench_scaling(unwinders, count);
    bench_chase();
}

int main(void)
{
    static const unsigned depths[] = {10, 30, 100, 256};
    /* some large libraries for the tables, if they are installed */
    static const char *const libraries[] = {"libstdc++.so.6", "libcrypto.so.3", "libglib-2.0.so.0",
                                            "libpython3.11.so.1.0"};
    pthread_attr_t attr;
    void *base = NULL;
    size_t size = 0;
    bench_peers_open();
    for (unsigned i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        if (dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL) == NULL) {
            bench_note("capture: without %s", libraries[i]);
        }
    }
    bench_bare_unprepared("capture.no_cfi.unprepared", capture_whole);
    if (sonde__target_self_refresh(true) != SONDE_OK ||
        pthread_getattr_np(pthread_self(), &attr) != 0) {
        return 1;
    }
    (void)pthread_attr_getstack(&attr, &base, &size);
    (void)pthread_attr_destroy(&attr);
    stack_end = (uint64_t)(uintptr_t)base + size;
    struct sonde__capture_pin pin = sonde__capture_pin();
    set = *pin.images;
    set_in_place = set;
    set_in_place.images = images_in_place;
    for (uint32_t i = 0; i < set.image_count && i < IMAGES_MAX; i++) {
        images_in_place[i] = set.images[i];
        images_in_place[i].rules = NULL;
    }
    for (unsigned i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        unsigned depth = depths[i];
        is_keeping = false;
        (void)bench_chain_omit((int)depth, at_leaf, &depth);
        is_keeping = true;
        (void)bench_chain_keep((int)depth, at_leaf, &depth);
    }
    bench_stacks_that_change();
    bench_tables();
    bench_table_program("/usr/bin/python3");
    bench_threads();
    sonde__capture_unpin(pin);
    return 0;
}
