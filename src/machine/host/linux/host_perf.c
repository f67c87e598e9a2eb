// SPDX-License-Identifier: Apache-2.0
#include "host_perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "host_event.h"
#include "os.h"

/* A power of two, larger than one record: 64 KiB holds more than one sample. Unprivileged users may
 * lock about half a megabyte per CPU for rings. */
enum { RING_DATA_BYTES = 65536 };
/* Some two hundred ticks, or a thousand switch records. */
enum { TRACE_DATA_BYTES = 65536 };

/* Bit numbers of sample_regs_user, in the kernel's order (ascending), and their DWARF numbers. */
#define PC 255u
#if defined(__x86_64__)
/* asm/perf_regs.h: ax bx cx dx si di bp sp ip flags cs ss ds es fs gs r8..r15 */
static const struct {
    uint8_t bit, dwarf;
} registers[] = {{0, 0},   {1, 3},   {2, 2},   {3, 1},   {4, 4},  {5, 5},
                 {6, 6},   {7, 7},   {8, PC},  {16, 8},  {17, 9}, {18, 10},
                 {19, 11}, {20, 12}, {21, 13}, {22, 14}, {23, 15}};
enum { REGISTER_COUNT = sizeof registers / sizeof registers[0] };
#elif defined(__aarch64__)
/* asm/perf_regs.h: x0..x29 lr sp pc */
enum { REGISTER_COUNT = 33 };
#endif

static unsigned register_bit(unsigned index)
{
#if defined(__x86_64__)
    return registers[index].bit;
#else
    return index;
#endif
}

static unsigned register_dwarf(unsigned index)
{
#if defined(__x86_64__)
    return registers[index].dwarf;
#else
    return index == 32 ? PC : index;
#endif
}

static enum sonde_status open_status(int error, int32_t *ret_os_error)
{
    if (ret_os_error != NULL) {
        *ret_os_error = error;
    }
    switch (error) {
    case ESRCH:
        return SONDE_ABSENT;
    case EACCES:
    case EPERM:
        return SONDE_DENIED;
    case ENOSYS:
    case ENOENT:
    case EOPNOTSUPP:
    case EINVAL:
        return SONDE_UNSUPPORTED;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return SONDE_LIMIT;
    default:
        return SONDE_OS;
    }
}

static enum sonde_status open_event(struct perf_event_attr *attr, int32_t pid, uint64_t tid,
                                    size_t data_bytes, struct sonde__host_perf *ret_perf,
                                    int32_t *ret_os_error)
{
    size_t page = sonde__os_page_size();
    size_t ring_size = page + (data_bytes > page ? data_bytes : page);
    void *ring;
    attr->size = sizeof *attr;
    attr->type = PERF_TYPE_SOFTWARE;
    attr->exclude_kernel = 1;
    attr->exclude_hv = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    int fd = sonde__host_event_open(attr, pid, tid);
    if (fd < 0) {
        return open_status(-fd, ret_os_error);
    }
    ring = mmap(NULL, ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ring == MAP_FAILED) {
        int error = errno;
        close(fd);
        if (ret_os_error != NULL) {
            *ret_os_error = error;
        }
        return error == EPERM || error == ENOMEM ? SONDE_LIMIT : SONDE_OS;
    }
    *ret_perf = (struct sonde__host_perf){.fd = fd,
                                          .ring = ring,
                                          .ring_size = ring_size,
                                          .is_on = attr->disabled == 0,
                                          .period_ns = attr->sample_period,
                                          .asked_ns = attr->sample_period};
    return SONDE_OK;
}

enum sonde_status sonde__host_perf_open(int32_t pid, uint64_t tid, uint64_t period_ns,
                                        struct sonde__host_perf *ret_perf, int32_t *ret_os_error)
{
    struct perf_event_attr attr = {.config = PERF_COUNT_SW_TASK_CLOCK};
    attr.sample_period = period_ns;
    attr.sample_type =
        PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attr.wakeup_events = 1;
    attr.context_switch = 1;
    attr.sample_stack_user = SONDE__PERF_STACK_BYTES;
    for (unsigned i = 0; i < REGISTER_COUNT; i++) {
        attr.sample_regs_user |= (uint64_t)1 << register_bit(i);
    }
    return open_event(&attr, pid, tid, RING_DATA_BYTES, ret_perf, ret_os_error);
}

static struct perf_event_attr switches(uint64_t tick_ns)
{
    struct perf_event_attr attr = {.config = PERF_COUNT_SW_DUMMY};
    attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    if (tick_ns != 0) {
        attr.config = PERF_COUNT_SW_TASK_CLOCK;
        attr.sample_period = tick_ns;
        attr.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_STACK_USER;
        attr.sample_stack_user = SONDE__HOST_TICK_WORDS * sizeof(uint64_t);
    }
    attr.sample_id_all = 1;
    attr.context_switch = 1;
    attr.disabled = 1;
    return attr;
}

enum sonde_status sonde__host_perf_open_switches(int32_t pid, uint64_t tid, uint64_t tick_ns,
                                                 struct sonde__host_perf *ret_perf,
                                                 int32_t *ret_os_error)
{
    struct perf_event_attr attr = switches(tick_ns);
    return open_event(&attr, pid, tid, TRACE_DATA_BYTES, ret_perf, ret_os_error);
}

enum sonde_status sonde__host_perf_open_wakes(int32_t pid, uint64_t tid,
                                              struct sonde__host_perf *ret_perf,
                                              int32_t *ret_os_error)
{
    struct perf_event_attr attr = switches(0);
    attr.watermark = 1; /* records that are no samples wake only by bytes: one is enough */
    attr.wakeup_watermark = 1;
    return open_event(&attr, pid, tid, 0, ret_perf, ret_os_error);
}

/* Each of these calls interrupts the processor that the thread runs on. */
void sonde__host_perf_pause(struct sonde__host_perf *perf, bool pause)
{
    perf->is_on = !pause;
    (void)ioctl(perf->fd, pause ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
}

static void drop_records(struct sonde__host_perf *perf)
{
    struct perf_event_mmap_page *page = perf->ring;
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE); /* pairs with the kernel */
    __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

/* The period begins anew. */
static void set_period(struct sonde__host_perf *perf, uint64_t period_ns)
{
    if (ioctl(perf->fd, PERF_EVENT_IOC_PERIOD, &period_ns) == 0) {
        perf->asked_ns = period_ns;
    }
}

static void count_taken(struct sonde__host_perf *perf, uint64_t count)
{
    if (perf->left > 0) {
        perf->left = count < perf->left ? perf->left - (uint32_t)count : 0;
        perf->is_on = perf->left > 0;
    }
}

/* The kernel adds up how many samples it is asked for, and counts those down that it drops, which
 * may not be known yet. An event that has none left, and is enabled without asking, samples until
 * it is paused: so it is asked again only when all seem to have come, and else enabled, because it
 * may be paused already. To enable an event that is enabled costs no interrupt. */
void sonde__host_perf_times(struct sonde__host_perf *perf, uint64_t period_ns, uint32_t count)
{
    if (sonde__host_perf_has_sample(perf)) {
        count_taken(perf, 1);
    }
    drop_records(perf);
    if (perf->left > 0 || perf->asked_ns != period_ns) {
        set_period(perf, period_ns);
    }
    if (perf->left > 0) {
        sonde__host_perf_pause(perf, false);
    } else if (ioctl(perf->fd, PERF_EVENT_IOC_REFRESH, (int)count) == 0) {
        perf->left = count;
        perf->is_on = true;
    }
}

void sonde__host_perf_restart(struct sonde__host_perf *perf)
{
    drop_records(perf);
    if (perf->asked_ns != perf->period_ns) {
        set_period(perf, perf->period_ns);
    }
    perf->waits = true; /* it may be waiting now; the first record then ends that wait */
    perf->off_ns = 0;
    if (!perf->is_on || perf->left > 0) {
        sonde__host_perf_pause(perf, false);
    }
}

void sonde__host_perf_close(struct sonde__host_perf *perf)
{
    munmap(perf->ring, perf->ring_size);
    close(perf->fd);
    *perf = (struct sonde__host_perf){.fd = -1};
}

/* --- records --- */

struct ring {
    const uint8_t *data;
    size_t size; /* power of two */
    uint64_t at, end;
};

static bool take_bytes(struct ring *r, void *to, size_t size)
{
    size_t offset = (size_t)(r->at & (r->size - 1));
    size_t first = size < r->size - offset ? size : r->size - offset;
    if (size > r->end - r->at) {
        return false;
    }
    if (to != NULL) {
        memcpy(to, r->data + offset, first);
        memcpy((uint8_t *)to + first, r->data, size - first);
    }
    r->at += size;
    return true;
}

/* Take the header of a record, and get where the next one begins. False: none, or it cannot be
 * followed any more. */
static bool take_header(struct ring *r, struct perf_event_header *ret, uint64_t *ret_next)
{
    uint64_t at = r->at;
    if (!take_bytes(r, ret, sizeof *ret) || ret->size < sizeof *ret || ret->size > r->end - at) {
        return false;
    }
    *ret_next = at + ret->size;
    return true;
}

static struct ring ring_of(const struct sonde__host_perf *perf)
{
    const struct perf_event_mmap_page *page = perf->ring;
    size_t head_size = sonde__os_page_size();
    return (struct ring){
        .data = (const uint8_t *)perf->ring + head_size,
        .size = perf->ring_size - head_size,
        .at = page->data_tail,
        .end = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), /* pairs with the kernel */
    };
}

/* The body of PERF_RECORD_SAMPLE in the order of the sample_type bits: tid, time, registers (none
 * if abi is 0: a kernel thread), stack (size, bytes, size really copied). */
static bool take_sample(struct ring *r, struct sonde__host_perf_sample *ret)
{
    uint32_t ids[2];
    uint64_t time_ns, abi, size, copied;
    if (!take_bytes(r, ids, sizeof ids) || !take_bytes(r, &time_ns, 8) || !take_bytes(r, &abi, 8) ||
        abi != PERF_SAMPLE_REGS_ABI_64) {
        return false;
    }
    memset(&ret->regs, 0, sizeof ret->regs);
    ret->regs.arch = SONDE__ARCH_HOST;
    for (unsigned i = 0; i < REGISTER_COUNT; i++) {
        uint64_t value;
        unsigned dwarf = register_dwarf(i);
        if (!take_bytes(r, &value, 8)) {
            return false;
        }
        if (dwarf == PC) {
            ret->regs.pc = value;
        } else {
            sonde__regs_set(&ret->regs, dwarf, value);
        }
    }
    ret->tid = (uint64_t)ids[1];
    ret->time_ns = time_ns;
    ret->stack_address = ret->regs.r[sonde__arch_sp(SONDE__ARCH_HOST)];
    ret->stack_size = 0;
    if (!take_bytes(r, &size, 8) || size == 0) {
        return true;
    }
    if (size > SONDE__PERF_STACK_BYTES || !take_bytes(r, ret->stack, (size_t)size) ||
        !take_bytes(r, &copied, 8)) {
        return true;
    }
    ret->stack_size = (size_t)(copied < size ? copied : size);
    return true;
}

bool sonde__host_perf_next(struct sonde__host_perf *perf, struct sonde__host_perf_sample *ret)
{
    struct perf_event_mmap_page *page = perf->ring;
    struct ring r = ring_of(perf);
    uint64_t head = r.end, next = head;
    struct perf_event_header header;
    bool found = false;
    while (!found && take_header(&r, &header, &next)) {
        r.end = next;
        if (header.type == PERF_RECORD_SAMPLE) {
            found = take_sample(&r, ret);
            count_taken(perf, 1);
        } else if (header.type == PERF_RECORD_LOST) {
            uint64_t lost[2];
            lost[1] = take_bytes(&r, lost, sizeof lost) ? lost[1] : 0;
            perf->lost += lost[1];
            count_taken(perf, lost[1]);
        }
        r.at = next;
        r.end = head;
    }
    __atomic_store_n(&page->data_tail, found ? next : head, __ATOMIC_RELEASE);
    return found;
}

bool sonde__host_perf_peek_sample(const struct sonde__host_perf *perf,
                                  struct sonde__host_perf_sample *ret)
{
    struct ring r = ring_of(perf);
    struct perf_event_header header;
    uint64_t next = 0;
    while (take_header(&r, &header, &next)) {
        if (header.type == PERF_RECORD_SAMPLE) {
            return take_sample(&r, ret);
        }
        r.at = next;
    }
    return false;
}

bool sonde__host_perf_has_sample(const struct sonde__host_perf *perf)
{
    struct ring r = ring_of(perf);
    struct perf_event_header header = {0};
    while (header.type != PERF_RECORD_SAMPLE && take_header(&r, &header, &r.at)) {
    }
    return header.type == PERF_RECORD_SAMPLE;
}

bool sonde__host_perf_awaits(struct sonde__host_perf *perf)
{
    struct perf_event_mmap_page *page = perf->ring;
    struct ring r = ring_of(perf);
    struct perf_event_header header;
    bool awaits = perf->left > 0 && perf->is_on;
    while (awaits && take_header(&r, &header, &r.at)) {
        awaits = header.type != PERF_RECORD_SAMPLE && header.type != PERF_RECORD_LOST;
    }
    if (awaits) {
        __atomic_store_n(&page->data_tail, r.at, __ATOMIC_RELEASE);
    }
    return awaits;
}

/* In a ring with less room, a record may be missing. */
#define SWITCH_ROOM 64u

/* The kernel writes PERF_RECORD_SWITCH when the thread leaves a processor and before it runs
 * again. */
uint64_t sonde__host_perf_off(const struct sonde__host_perf *perf)
{
    struct ring r = ring_of(perf);
    uint64_t tail = r.at;
    bool is_off = false;
    while (r.at < r.end) {
        struct perf_event_header header;
        if (!take_header(&r, &header, &r.at) || header.type == PERF_RECORD_LOST) {
            return 0;
        }
        if (header.type == PERF_RECORD_SWITCH) {
            is_off = (header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
        }
    }
    return is_off && r.size - (size_t)(r.end - tail) >= SWITCH_ROOM ? r.end : 0;
}

bool sonde__host_perf_peek(const struct sonde__host_perf *perf, struct sonde__host_moves *ret)
{
    struct ring r = ring_of(perf);
    struct perf_event_header header;
    bool is_whole = r.size - (size_t)(r.end - r.at) >= SWITCH_ROOM;
    *ret = (struct sonde__host_moves){.runs = !perf->waits};
    while (is_whole && take_header(&r, &header, &r.at)) {
        bool out = (header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
        bool waits = out && (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) == 0;
        is_whole = header.type != PERF_RECORD_LOST;
        if (header.type == PERF_RECORD_SWITCH) {
            ret->outs += out;
            ret->waits += waits;
            ret->runs = !waits;
        }
    }
    return is_whole;
}

static void note_switch(struct sonde__host_perf *perf, uint32_t misc, uint64_t time_ns,
                        struct sonde__host_switches *ret,
                        const struct sonde__host_listener *listener)
{
    bool out = (misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
    bool waits = out && (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) == 0;
    if (waits || (!out && perf->waits)) {
        ret->first_ns = ret->count == 0 ? time_ns : ret->first_ns;
        ret->count++;
        ret->last_ns = time_ns;
    }
    if (!out && perf->off_ns != 0 && listener->on_off != NULL) {
        listener->on_off(listener->ctx, perf->off_ns, time_ns);
    }
    perf->off_ns = out && !waits ? time_ns : 0;
    perf->waits = waits;
}

/* tid and time, in the order of the sample_type bits; switch records end with the same. */
struct record_id {
    uint32_t pid, tid;
    uint64_t time_ns;
};

/* The body of a tick: pc, tid, time, and the stack as in take_sample(). */
static bool take_tick(struct ring *r, struct sonde__host_tick *ret)
{
    struct record_id id;
    uint64_t size, copied;
    if (!take_bytes(r, &ret->pc, 8) || !take_bytes(r, &id, sizeof id) || !take_bytes(r, &size, 8)) {
        return false;
    }
    ret->time_ns = id.time_ns;
    ret->count = 0;
    if (size != 0 && size <= sizeof ret->words && take_bytes(r, ret->words, (size_t)size) &&
        take_bytes(r, &copied, 8)) {
        ret->count = (uint32_t)((copied < size ? copied : size) / sizeof ret->words[0]);
    }
    return true;
}

/* Consume one record, unless it is later than until_ns: then return false. */
static bool note_record(struct sonde__host_perf *perf, struct ring *r,
                        const struct perf_event_header *header, uint64_t until_ns,
                        struct sonde__host_switches *ret, struct sonde__host_listener *listener)
{
    struct record_id id;
    struct sonde__host_tick tick;
    if (header->type == PERF_RECORD_SWITCH && take_bytes(r, &id, sizeof id)) {
        if (id.time_ns > until_ns) {
            return false;
        }
        note_switch(perf, header->misc, id.time_ns, ret, listener);
    } else if (header->type == PERF_RECORD_SAMPLE && take_tick(r, &tick)) {
        if (tick.time_ns > until_ns) {
            return false;
        }
        if (listener->on_tick != NULL && listener->on_tick(listener->ctx, &tick) != 0) {
            listener->on_tick = NULL;
        }
    } else if (header->type == PERF_RECORD_LOST) {
        ret->lost = true;
    }
    return true;
}

bool sonde__host_perf_is_off(const struct sonde__host_perf *perf)
{
    struct sonde__host_perf then = *perf;
    const struct sonde__host_listener none = {0};
    struct sonde__host_switches moves = {0};
    struct ring r = ring_of(perf);
    struct perf_event_header header;
    while (take_header(&r, &header, &r.at)) {
        moves.lost = moves.lost || header.type == PERF_RECORD_LOST;
        if (header.type == PERF_RECORD_SWITCH) {
            note_switch(&then, header.misc, 1, &moves, &none);
        }
    }
    return then.off_ns != 0 && moves.count == 0 && !moves.lost;
}

void sonde__host_perf_switches(struct sonde__host_perf *perf, uint64_t until_ns,
                               struct sonde__host_switches *ret,
                               const struct sonde__host_listener *asked)
{
    struct sonde__host_listener listener =
        asked != NULL ? *asked : (struct sonde__host_listener){0};
    struct perf_event_mmap_page *page = perf->ring;
    struct ring r = ring_of(perf);
    uint64_t head = r.end, tail = r.at;
    *ret = (struct sonde__host_switches){0};
    while (tail < head) {
        struct perf_event_header header;
        uint64_t next;
        if (!take_header(&r, &header, &next)) {
            ret->lost = true;
            tail = head;
            break;
        }
        r.end = next;
        if (!note_record(perf, &r, &header, until_ns, ret, &listener)) {
            break;
        }
        r.at = tail = next;
        r.end = head;
    }
    __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}
