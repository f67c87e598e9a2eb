// SPDX-License-Identifier: Apache-2.0
#include "digest_consent.h"

#include <string.h>

#include "mem_heap.h"

static uint8_t said_by(const struct sonde__report *report, uint32_t id)
{
    const struct sonde__report_named_phase *phase = sonde__report_phase(report, id);
    if (phase->consent != SONDE__REPORT_CONSENT_UNKNOWN) {
        return phase->consent <= SONDE__REPORT_CONSENT_REFUSED ? (uint8_t)phase->consent
                                                               : SONDE__REPORT_CONSENT_UNKNOWN;
    }
    return strcmp(sonde__report_text(report, phase->name), "consent") == 0
               ? SONDE__REPORT_CONSENT_GIVEN
               : SONDE__REPORT_CONSENT_UNKNOWN;
}

/* The last answer up to the begin of a phase; a later record of the same time is the later one. */
static uint8_t answer_at(const struct sonde__report *report, const uint8_t *said, uint32_t id,
                         uint32_t count)
{
    uint64_t begin_ns = sonde__report_phase(report, id)->begin_ns, latest_ns = 0;
    uint8_t answer = SONDE__REPORT_CONSENT_UNKNOWN;
    for (uint32_t i = 1; i <= count; i++) {
        uint64_t other_ns = sonde__report_phase(report, i)->begin_ns;
        bool is_before = other_ns < begin_ns || (other_ns == begin_ns && i <= id);
        if (said[i] != SONDE__REPORT_CONSENT_UNKNOWN && is_before && other_ns >= latest_ns) {
            answer = said[i];
            latest_ns = other_ns;
        }
    }
    return answer;
}

enum sonde_status digest_consents(const struct sonde__report *report, uint8_t **ret_consents)
{
    uint32_t count = sonde__report_phase_count(report);
    uint8_t *said = sonde__mem_alloc_zeroed((size_t)count + 1);
    uint8_t *consents = sonde__mem_alloc_zeroed((size_t)count + 1);
    bool is_known = false;
    if (said == NULL || consents == NULL) {
        sonde__mem_free(said);
        sonde__mem_free(consents);
        return SONDE_MEMORY;
    }
    for (uint32_t i = 1; i <= count; i++) {
        said[i] = said_by(report, i);
        is_known = is_known || said[i] != SONDE__REPORT_CONSENT_UNKNOWN;
    }
    for (uint32_t i = 0; i <= count && is_known; i++) {
        consents[i] = i != 0 ? answer_at(report, said, i, count) : SONDE__REPORT_CONSENT_UNKNOWN;
        if (consents[i] == SONDE__REPORT_CONSENT_UNKNOWN) {
            consents[i] = SONDE__REPORT_CONSENT_BEFORE;
        }
    }
    sonde__mem_free(said);
    *ret_consents = consents;
    return SONDE_OK;
}
