// SPDX-License-Identifier: Apache-2.0
#include "emulated.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "decode.h"
#include "host_regs.h"
#include "remote.h"
#include "test.h"

#define SYSROOT "/usr/aarch64-linux-gnu"

enum { CODES = 1 << 14 };

/* System calls of aarch64 that change the map (asm-generic/unistd.h). */
enum { NR_BRK = 214, NR_MUNMAP = 215, NR_MREMAP = 216, NR_MMAP = 222, NR_MPROTECT = 226 };

struct emulated {
    pid_t pid;
    struct remote remote;
    struct compare *compare;
    struct space space;
    struct shadow shadow;
    struct sonde__regs before, after;
    bool ended;
    struct {
        uint64_t pc;
        uint8_t kind;
        bool is_exclusive;
    } codes[CODES];
};

static size_t read_memory(void *ctx, uint64_t address, void *ret_bytes, size_t size)
{
    struct emulated *e = ctx;
    return remote_read(&e->remote, address, ret_bytes, size);
}

static uint64_t region(void *ctx, uint64_t address)
{
    const struct emulated *e = ctx;
    return space_region(&e->space, address);
}

/* makecontext: the function starts with its return address in lr. */
static struct shadow_frame made_root(void *ctx, uint64_t sp)
{
    const struct emulated *e = ctx;
    return (struct shadow_frame){.pc = e->after.r[SONDE__AARCH64_LR], .sp = sp};
}

static bool is_aarch64(const struct sonde__host_map *map)
{
    uint8_t head[20] = {0};
    int fd = map->path[0] == '/' ? open(map->path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return false;
    }
    bool read_it = read(fd, head, sizeof head) == sizeof head;
    (void)close(fd);
    return read_it && memcmp(head, "\177ELF", 4) == 0 && head[18] == 183;
}

/* qemu has the emulated program's memory at its own addresses, without execute permission: the
 * program's files give that. */
static void read_maps(struct emulated *e)
{
    struct sonde__host_maps maps;
    CHECK_OK(sonde__host_maps_read(e->pid, &maps, NULL));
    for (uint32_t i = 0; i < maps.count; i++) {
        struct sonde__host_map *map = &maps.items[i];
        map->flags = (map->flags & ~(uint32_t)SONDE__MAP_EXECUTE) |
                     (is_aarch64(map) ? SONDE__MAP_UNKNOWN : 0);
    }
    space_map(&e->space, &maps);
    memset(e->codes, 0, sizeof e->codes);
}

static enum instruction kind_at(struct emulated *e, uint64_t pc)
{
    unsigned slot = (unsigned)(pc / 4 % CODES);
    uint8_t code[4] = {0};
    if (e->codes[slot].pc != pc) {
        size_t size = read_memory(e, pc, code, sizeof code);
        e->codes[slot].pc = pc;
        e->codes[slot].kind = (uint8_t)decode_aarch64(code, size);
        /* ldxr, ldaxr */
        e->codes[slot].is_exclusive = (code[3] & 0x3f) == 0x08 && (code[2] & 0xc0) == 0x40;
    }
    return (enum instruction)e->codes[slot].kind;
}

/* The answer to "g" begins with x0 to x30, sp, pc. */
static void read_regs(struct emulated *e)
{
    static char answer[8192];
    uint8_t set[SONDE__REGSET_AARCH64_BYTES] = {0};
    int64_t number = 0;
    uint64_t args[6];
    CHECK(remote_ask(&e->remote, "g", answer, sizeof answer));
    CHECK(remote_bytes(answer, set, 33 * 8) == 33 * 8);
    CHECK(sonde__host_regs_decode(SONDE_ARCH_AARCH64, set, sizeof set, &e->after, &number, args));
}

/* qemu waits for a debugger at a socket. */
static pid_t start(const char *const argv[], const char *socket_path)
{
    static char path[] = "PATH=/usr/bin:/bin";
    static char *const environment[] = {path, NULL}; /* libc's start reads all of it */
    const char *command[16] = {"qemu-aarch64", "-L", SYSROOT, "-g", socket_path};
    unsigned count = 5;
    for (unsigned i = 0; argv[i] != NULL && count < 15; i++) {
        command[count++] = argv[i];
    }
    (void)fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)freopen("/dev/null", "w", stdout);
        (void)execvpe(command[0], (char *const *)(uintptr_t)command, environment);
        _exit(127);
    }
    return pid;
}

static void stop(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* gdb's answers, from a second run of the program, which does the same again. */
static void ask_gdb(struct compare *compare, const char *const argv[])
{
    static struct frames theirs;
    char socket_path[256];
    char list[4096] = "SONDE_PLACES=";
    char where[300];
    char script[512];
    bool any = false;
    for (unsigned i = 0; i < compare->place_count; i++) {
        size_t used = strlen(list);
        if (compare->places[i].count > 0 && used + 32 < sizeof list) {
            snprintf(list + used, sizeof list - used, "%#" PRIx64 " ",
                     compare->places[i].ours.at[0].pc);
            any = true;
        }
    }
    if (!any) {
        return;
    }
    snprintf(socket_path, sizeof socket_path, "%s/gdb", test_folder());
    snprintf(where, sizeof where, "SONDE_STUB=%s", socket_path);
    snprintf(script, sizeof script, "%s/tests/integration/oracle/gdb_places.py", test_source_dir());
    pid_t pid = start(argv, socket_path);
    const char *const gdb[] = {"gdb-multiarch", "-nx", "-q", "-batch", "-x", script, argv[0], NULL};
    const char *const env[] = {list, where, NULL};
    struct test_run run = test_run(gdb, env, NULL, 200);
    for (unsigned i = 0; i < compare->place_count; i++) {
        struct place *place = &compare->places[i];
        char head[48];
        snprintf(head, sizeof head, "place %#" PRIx64 "\n", place->ours.at[0].pc);
        if (place->count > 0 && compare_read_frames(run.out, head, &theirs)) {
            place->verdicts[1] = compare_verdict(place, &theirs);
        }
    }
    test_run_done(&run);
    stop(pid);
}

/* A load with a reservation, up to its store: stepping in between drops the reservation, so the
 * program would retry for ever. *ret_places: the places where control may go on. */
enum { EXCLUSIVE_MAX = 16, PLACES_MAX = 4 };

static unsigned behind_exclusive(struct emulated *e, uint64_t *ret_places)
{
    uint32_t words[EXCLUSIVE_MAX];
    unsigned count = 0;
    if (!e->codes[e->before.pc / 4 % CODES].is_exclusive ||
        read_memory(e, e->before.pc, words, sizeof words) < sizeof words) {
        return 0;
    }
    for (unsigned i = 1; i < EXCLUSIVE_MAX; i++) {
        uint64_t at = e->before.pc + i * 4;
        bool is_branch = (words[i] & 0xff000010) == 0x54000000 || /* b.cond; cbz, cbnz */
                         (words[i] & 0x7e000000) == 0x34000000;
        if (is_branch && count + 1 < PLACES_MAX) {
            int64_t distance = (int32_t)(words[i] << 8) >> 13;
            ret_places[count++] = at + (uint64_t)(distance * 4);
        }
        if ((words[i] & 0x3fc00000) == 0x08000000) { /* stxr, stlxr */
            ret_places[count++] = at + 4;
            return count;
        }
    }
    return 0;
}

static bool run_to(struct emulated *e, const uint64_t *places, unsigned count, char *ret_answer,
                   size_t size)
{
    char packet[64];
    char ok[64];
    bool is_there = true;
    for (unsigned i = 0; i < count; i++) {
        snprintf(packet, sizeof packet, "Z0,%" PRIx64 ",4", places[i]);
        is_there = is_there && remote_ask(&e->remote, packet, ok, sizeof ok);
    }
    is_there = is_there && remote_ask(&e->remote, "c", ret_answer, size);
    for (unsigned i = 0; i < count && is_there; i++) {
        snprintf(packet, sizeof packet, "z0,%" PRIx64 ",4", places[i]);
        is_there = remote_ask(&e->remote, packet, ok, sizeof ok);
    }
    return is_there;
}

/* kind_at() has looked at the instruction. */
static void step(struct emulated *e)
{
    char answer[256];
    uint64_t places[PLACES_MAX];
    unsigned count = behind_exclusive(e, places);
    bool is_there = count > 0 ? run_to(e, places, count, answer, sizeof answer)
                              : remote_ask(&e->remote, "s", answer, sizeof answer);
    if (!is_there || answer[0] == 'W') {
        e->ended = true;
        return;
    }
    if (strncmp(answer, "T05", 3) != 0 && strncmp(answer, "S05", 3) != 0) {
        FAIL("the program was not stepped: %s", answer);
    }
    read_regs(e);
}

static bool moves_maps(uint64_t number)
{
    return number == NR_BRK || number == NR_MUNMAP || number == NR_MREMAP || number == NR_MMAP ||
           number == NR_MPROTECT;
}

static void follow_step(struct emulated *e, enum instruction kind)
{
    uint64_t pc = e->after.pc;
    uint64_t sp = e->after.r[SONDE__AARCH64_SP];
    uint64_t fp = e->after.r[SONDE__AARCH64_FP];
    bool switched = false;
    if (kind == CALL) {
        CHECK_EQ(e->after.r[SONDE__AARCH64_LR], e->before.pc + 4);
        shadow_push(&e->shadow, (struct shadow_frame){e->before.pc + 4, sp, fp, false});
    } else if (kind == RETURN) {
        switched = shadow_return(&e->shadow, pc, sp);
    } else if (kind == JUMP_INDIRECT) {
        switched = shadow_jump(&e->shadow, pc, sp);
    } else if (kind == SYSTEM_CALL && moves_maps(e->before.r[8])) {
        read_maps(e);
    }
    if (switched) {
        compare_switched(e->compare, &(struct shadow_frame){pc, sp, fp, true});
    }
}

void emulated_run(struct compare *compare, const char *const argv[], uint64_t limit)
{
    static struct emulated emulated;
    struct emulated *e = &emulated;
    char socket_path[256];
    memset(e, 0, sizeof *e);
    e->compare = compare;
    e->space = (struct space){.arch = SONDE_ARCH_AARCH64, .read = read_memory, .ctx = e};
    e->shadow = (struct shadow){.region = region, .made_root = made_root, .ctx = e};
    compare_start(compare, &e->space, &e->shadow);
    snprintf(socket_path, sizeof socket_path, "%s/stub", test_folder());
    e->pid = start(argv, socket_path);
    remote_open(&e->remote, socket_path);
    read_regs(e);
    read_maps(e);
    if (sonde__image_find(&e->space.images.set, e->after.pc) == NULL) {
        FAIL("the program's memory is not where it says");
    }
    shadow_start(&e->shadow, e->after.r[SONDE__AARCH64_SP]);
    while (compare->instants < limit) {
        e->before = e->after;
        compare_instant(compare, &e->before);
        enum instruction kind = kind_at(e, e->before.pc);
        step(e);
        if (e->ended) {
            break;
        }
        follow_step(e, kind);
    }
    compare_end(compare);
    remote_close(&e->remote);
    stop(e->pid);
    ask_gdb(compare, argv);
    space_done(&e->space);
}
