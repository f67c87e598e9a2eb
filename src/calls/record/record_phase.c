// SPDX-License-Identifier: Apache-2.0
#include "record_phase.h"

#include "base_mem.h"

static size_t kept_size(const char *name, size_t size)
{
    size_t kept = 0;
    while (kept < size && kept < SONDE__RECORD_PHASE_NAME - 1 && name[kept] != '\0') {
        kept++;
    }
    return kept;
}

static bool is_it(const struct sonde__record_phase *phase, const char *name, size_t size,
                  uint32_t consent)
{
    return phase->consent == consent && phase->name[size] == '\0' &&
           sonde__base_mem_compare(phase->name, name, size) == 0;
}

/* Phases that are not complete yet have no name. */
static bool has_name(const struct sonde__record_phase *phase, const char *name)
{
    size_t i = 0;
    if (atomic_load_explicit(&phase->begin_ns, memory_order_relaxed) == 0) {
        return false;
    }
    while (i < SONDE__RECORD_PHASE_NAME - 1 && phase->name[i] == name[i] && name[i] != '\0') {
        i++;
    }
    return phase->name[i] == name[i];
}

bool sonde__record_phase_is(const struct sonde__record_phases *phases, uint32_t number,
                            const char *name, bool is_before)
{
    if (!is_before) {
        return number != 0 && has_name(&phases->list[number], name);
    }
    for (uint32_t i = 1; i <= number; i++) {
        if (has_name(&phases->list[i], name)) {
            return false;
        }
    }
    return true;
}

bool sonde__record_phase_begin(struct sonde__record_phases *phases, const char *name, size_t size,
                               uint32_t consent, uint64_t now_ns)
{
    uint32_t current = sonde__record_phase_now(phases);
    uint32_t claimed = atomic_load_explicit(&phases->claimed, memory_order_relaxed);
    size = kept_size(name, size);
    if (is_it(&phases->list[current], name, size, consent)) {
        return true;
    }
    do {
        if (claimed >= SONDE__RECORD_PHASES - 1) {
            atomic_fetch_add_explicit(&phases->lost, 1, memory_order_relaxed);
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&phases->claimed, &claimed, claimed + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    uint32_t number = claimed + 1;
    struct sonde__record_phase *phase = &phases->list[number];
    sonde__base_mem_copy(phase->name, name, size);
    phase->name[size] = '\0';
    phase->consent = consent;
    atomic_store_explicit(&phase->begin_ns, now_ns, memory_order_relaxed);
    while (current < number &&
           !atomic_compare_exchange_weak_explicit(&phases->current, &current, number,
                                                  memory_order_seq_cst, memory_order_relaxed)) {
    }
    return true;
}
