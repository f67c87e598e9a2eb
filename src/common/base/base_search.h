// SPDX-License-Identifier: Apache-2.0
/* Binary search. Context: handler. */
#ifndef SONDE_BASE_SEARCH_H
#define SONDE_BASE_SEARCH_H

/* The first `i` in [first, end) for which `is_before`, an expression of `i`, is false; `end` if
 * none. All items for which it is true must come first. The result has the type of `end`. A macro,
 * to inline the comparison. */
#define SONDE__SEARCH(first, end, i, is_before)                                                    \
    __extension__({                                                                                \
        __typeof__((end) + 0) sonde_low_ = (first), sonde_high_ = (end);                           \
        while (sonde_low_ < sonde_high_) {                                                         \
            __typeof__(sonde_low_) i = sonde_low_ + (sonde_high_ - sonde_low_) / 2;                \
            if (is_before) {                                                                       \
                sonde_low_ = i + 1;                                                                \
            } else {                                                                               \
                sonde_high_ = i;                                                                   \
            }                                                                                      \
        }                                                                                          \
        sonde_low_;                                                                                \
    })

#endif
