// SPDX-License-Identifier: Apache-2.0
/* Hits are rare: 16 words are compared at once, and only stretches with a hit are checked word by
 * word. A branch on loaded data would be mispredicted at each hit and discard work in flight while
 * memory is slow. So a first pass marks the stretches of 128 KiB without such a branch; a second
 * pass checks the marked ones, which are then in a cache. Not instrumented by sanitizers, because
 * it reads any memory. */
#include "host_words.h"

enum {
    STRETCH = 16,
    MARKS = 32,            /* stretches per word of marks */
    RUN = 32,              /* words of marks */
    RUN_MAX = RUN * MARKS, /* stretches */
};

#define NOT_OURS __attribute__((no_sanitize_address, no_sanitize_thread))

#if defined(__x86_64__)
#    include <immintrin.h>

/* A stretch is four vectors of four words. */
#    define VECTOR_CODE __attribute__((target("avx2")))
#    if defined(__APPLE__)
#        include <cpuid.h>

/* The compiler's builtin needs its run-time library. The instruction is slow in a virtual machine,
 * so the answer is kept. Source: Intel's manual, volume 1, 14.3 (AVX needs the system's support).
 */
static bool has_vectors(void)
{
    enum { UNKNOWN, NO, YES, SAVED_BY_SYSTEM = 6 };
    static int answer;
    unsigned a, b, c, d, saved = 0;
    if (__atomic_load_n(&answer, __ATOMIC_RELAXED) == UNKNOWN) {
        if (__get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_OSXSAVE) != 0) {
            __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
        }
        bool is_there = (saved & SAVED_BY_SYSTEM) == SAVED_BY_SYSTEM &&
                        __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_AVX2) != 0;
        __atomic_store_n(&answer, is_there ? YES : NO, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&answer, __ATOMIC_RELAXED) == YES;
}
#    else
static bool has_vectors(void)
{
    return __builtin_cpu_supports("avx2") != 0;
}
#    endif

VECTOR_CODE NOT_OURS static inline uint32_t
stretch_hits(const uint64_t *words, const __m256i *needles, unsigned needle_count)
{
    __m256i any = _mm256_setzero_si256();
    for (unsigned i = 0; i < STRETCH; i += 4) {
        __m256i value = _mm256_loadu_si256((const __m256i *)(const void *)(words + i));
        for (unsigned n = 0; n < needle_count; n++) {
            any = _mm256_or_si256(any, _mm256_cmpeq_epi64(value, needles[n]));
        }
    }
    return _mm256_testz_si256(any, any) == 0;
}

VECTOR_CODE NOT_OURS static inline void mark_by(const uint64_t *words, size_t stretches,
                                                const __m256i *needles, unsigned needle_count,
                                                uint32_t *ret_marks)
{
    for (size_t at = 0; at < stretches; at += MARKS) {
        size_t count = stretches - at < MARKS ? stretches - at : MARKS;
        uint32_t marks = 0;
        for (size_t i = 0; i < count; i++) {
            marks |= stretch_hits(words + (at + i) * STRETCH, needles, needle_count) << i;
        }
        ret_marks[at / MARKS] = marks;
    }
}

VECTOR_CODE NOT_OURS static void mark_vector(const uint64_t *words, size_t stretches,
                                             const uint64_t *needles, unsigned needle_count,
                                             uint32_t *ret_marks)
{
    __m256i spread[SONDE__HOST_NEEDLES_MAX];
    for (unsigned n = 0; n < SONDE__HOST_NEEDLES_MAX; n++) {
        spread[n] = _mm256_set1_epi64x((long long)needles[n < needle_count ? n : 0]);
    }
    switch (needle_count) { /* constant counts, so that the loop is unrolled */
    case 1:
        mark_by(words, stretches, spread, 1, ret_marks);
        break;
    case 2:
        mark_by(words, stretches, spread, 2, ret_marks);
        break;
    case 3:
        mark_by(words, stretches, spread, 3, ret_marks);
        break;
    default:
        mark_by(words, stretches, spread, 4, ret_marks);
        break;
    }
}

VECTOR_CODE NOT_OURS static uint64_t read_vector(const uint64_t *words, size_t count)
{
    __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                       _mm256_setzero_si256()};
    uint64_t parts[4];
    for (size_t i = 0; i + STRETCH <= count; i += STRETCH) {
        for (unsigned v = 0; v < 4; v++) {
            const void *at = words + i + (size_t)v * 4;
            sums[v] = _mm256_or_si256(sums[v], _mm256_loadu_si256(at));
        }
    }
    sums[0] = _mm256_or_si256(_mm256_or_si256(sums[0], sums[1]), _mm256_or_si256(sums[2], sums[3]));
    _mm256_storeu_si256((__m256i *)(void *)parts, sums[0]);
    return parts[0] | parts[1] | parts[2] | parts[3];
}
#elif defined(__aarch64__)
#    include <arm_neon.h>

static bool has_vectors(void)
{
    return true;
}

NOT_OURS static void mark_vector(const uint64_t *words, size_t stretches, const uint64_t *needles,
                                 unsigned needle_count, uint32_t *ret_marks)
{
    for (size_t i = 0; i < stretches; i++) {
        uint64x2_t any = vdupq_n_u64(0);
        for (unsigned v = 0; v < STRETCH; v += 2) {
            uint64x2_t value = vld1q_u64(words + i * STRETCH + v);
            for (unsigned n = 0; n < needle_count; n++) {
                any = vorrq_u64(any, vceqq_u64(value, vdupq_n_u64(needles[n])));
            }
        }
        if (i % MARKS == 0) {
            ret_marks[i / MARKS] = 0;
        }
        ret_marks[i / MARKS] |= (uint32_t)((vgetq_lane_u64(any, 0) | vgetq_lane_u64(any, 1)) & 1)
                                << i % MARKS;
    }
}

NOT_OURS static uint64_t read_vector(const uint64_t *words, size_t count)
{
    uint64x2_t sum = vdupq_n_u64(0);
    for (size_t i = 0; i + 2 <= count; i += 2) {
        sum = vorrq_u64(sum, vld1q_u64(words + i));
    }
    return vgetq_lane_u64(sum, 0) | vgetq_lane_u64(sum, 1);
}
#else
static bool has_vectors(void)
{
    return false;
}

static void mark_vector(const uint64_t *words, size_t stretches, const uint64_t *needles,
                        unsigned needle_count, uint32_t *ret_marks)
{
    (void)words, (void)stretches, (void)needles, (void)needle_count, (void)ret_marks;
}

static uint64_t read_vector(const uint64_t *words, size_t count)
{
    (void)words, (void)count;
    return 0;
}
#endif

NOT_OURS static inline bool is_hit(uint64_t word, const uint64_t *needles, unsigned needle_count)
{
    bool found = false;
    for (unsigned n = 0; n < needle_count; n++) {
        found |= word == needles[n];
    }
    return found;
}

/* A compare and a never-taken jump for each value: two pairs per cycle. */
NOT_OURS static inline size_t skip_words(const uint64_t *words, size_t count, uint64_t a,
                                         uint64_t b, uint64_t c, uint64_t d, unsigned needle_count)
{
    size_t i = 0;
    while (i < count) {
        uint64_t value = words[i];
        if (value == a || (needle_count > 1 && value == b) || (needle_count > 2 && value == c) ||
            (needle_count > 3 && value == d)) {
            break;
        }
        i++;
    }
    return i;
}

NOT_OURS static size_t skip_scalar(const uint64_t *words, size_t count, const uint64_t *needles,
                                   unsigned needle_count)
{
    switch (needle_count) {
    case 1:
        return skip_words(words, count, needles[0], 0, 0, 0, 1);
    case 2:
        return skip_words(words, count, needles[0], needles[1], 0, 0, 2);
    case 3:
        return skip_words(words, count, needles[0], needles[1], needles[2], 0, 3);
    default:
        return skip_words(words, count, needles[0], needles[1], needles[2], needles[3], 4);
    }
}

NOT_OURS static void mark_scalar(const uint64_t *words, size_t stretches, const uint64_t *needles,
                                 unsigned needle_count, uint32_t *ret_marks)
{
    size_t count = stretches * STRETCH;
    for (size_t i = 0; i * MARKS < stretches; i++) {
        ret_marks[i] = 0;
    }
    for (size_t at = 0; (at += skip_scalar(words + at, count - at, needles, needle_count)) < count;
         at = (at / STRETCH + 1) * STRETCH) {
        ret_marks[at / STRETCH / MARKS] |= (uint32_t)1 << at / STRETCH % MARKS;
    }
}

/* The hits so far. */
struct hits {
    uint32_t *at;
    size_t count, capacity;
};

/* Check one stretch, or the rest of one. False: no room for the hit at *ret_done. */
NOT_OURS static inline bool add_hits(struct hits *hits, const uint64_t *words, size_t at,
                                     size_t end, const uint64_t *needles, unsigned needle_count,
                                     size_t *ret_done)
{
    for (; at < end; at++) {
        if (!is_hit(words[at], needles, needle_count)) {
            continue;
        }
        if (hits->count == hits->capacity) {
            *ret_done = at;
            return false;
        }
        hits->at[hits->count++] = (uint32_t)at;
    }
    return true;
}

NOT_OURS size_t sonde__host_words_find(enum sonde__host_words_way way, const uint64_t *words,
                                       size_t count, const uint64_t *needles, unsigned needle_count,
                                       uint32_t *ret_hits, size_t capacity, size_t *ret_done)
{
    bool by_vectors = way != SONDE__HOST_WORDS_SCALAR && has_vectors();
    struct hits hits = {.at = ret_hits, .capacity = capacity};
    uint32_t marks[RUN];
    size_t at = 0;
    while (count - at >= STRETCH) {
        size_t stretches = (count - at) / STRETCH < RUN_MAX ? (count - at) / STRETCH : RUN_MAX;
        (by_vectors ? mark_vector : mark_scalar)(words + at, stretches, needles, needle_count,
                                                 marks);
        for (size_t i = 0; i * MARKS < stretches; i++) {
            for (uint32_t left = marks[i]; left != 0; left &= left - 1) {
                size_t begin = at + (i * MARKS + (unsigned)__builtin_ctz(left)) * STRETCH;
                if (!add_hits(&hits, words, begin, begin + STRETCH, needles, needle_count,
                              ret_done)) {
                    return hits.count;
                }
            }
        }
        at += stretches * STRETCH;
    }
    if (add_hits(&hits, words, at, count, needles, needle_count, ret_done)) {
        *ret_done = count;
    }
    return hits.count;
}

NOT_OURS uint64_t sonde__host_words_read(enum sonde__host_words_way way, const uint64_t *words,
                                         size_t count)
{
    uint64_t sum = 0;
    if (way != SONDE__HOST_WORDS_SCALAR && has_vectors()) {
        return read_vector(words, count);
    }
    for (size_t i = 0; i < count; i++) {
        sum |= words[i];
    }
    return sum;
}
