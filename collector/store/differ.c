// SPDX-License-Identifier: Apache-2.0
#include "differ.h"

/* Is `more` at least `percent` of `less`, both divided by their reports? */
static bool is_more(uint64_t more, uint64_t more_reports, uint64_t less, uint64_t less_reports,
                    uint32_t percent)
{
    double a = (double)more / (double)more_reports, b = (double)less / (double)less_reports;
    return a * 100 >= b * percent;
}

/* Does a build say of some of its calls whether they are before consent? */
static bool knows_consent(const struct store_call_sum *sum)
{
    return sum->before != 0 || sum->given != 0 || sum->refused != 0;
}

static struct differ_result judge_both(const struct differ_builds *builds,
                                       const struct store_call_sum *now,
                                       const struct store_call_sum *then)
{
    uint32_t why = 0;
    if (knows_consent(now) && knows_consent(then)) {
        why |= now->before != 0 && then->before == 0 ? DIFFER_BEFORE_CONSENT : 0;
        why |= now->before == 0 && then->before != 0 ? DIFFER_NOT_BEFORE_CONSENT : 0;
    }
    why |= now->over != 0 && then->over == 0 ? DIFFER_OVER_LIMIT : 0;
    why |= now->over == 0 && then->over != 0 ? DIFFER_WITHIN_LIMIT : 0;
    if (is_more(now->count, builds->now, then->count, builds->then, builds->percent)) {
        why |= DIFFER_MORE;
    } else if (is_more(then->count, builds->then, now->count, builds->now, builds->percent)) {
        why |= DIFFER_FEWER;
    }
    return (struct differ_result){why != 0 ? DIFFER_CHANGED : DIFFER_SAME, why};
}

struct differ_result differ_judge(const struct differ_builds *builds,
                                  const struct store_call_pair *pair)
{
    if (pair->now.count != 0 && pair->then.count != 0) {
        return judge_both(builds, &pair->now, &pair->then);
    }
    uint32_t why =
        (pair->is_listed ? 0 : DIFFER_UNLISTED) | (pair->call.is_stable ? 0 : DIFFER_UNSTABLE);
    if (why != 0) {
        return (struct differ_result){DIFFER_UNSURE, why};
    }
    return (struct differ_result){pair->now.count != 0 ? DIFFER_NEW : DIFFER_GONE, 0};
}
