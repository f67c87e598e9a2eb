// SPDX-License-Identifier: Apache-2.0
/* A private copy of the page that a program shares (record_page.h).
 *
 * The program may write anything to its page at any time. So each field is loaded once, into memory
 * that nobody else can write, then checked, then used. All readers use such a copy. Context: any
 * thread. */
#ifndef SONDE_AUDIT_PAGE_H
#define SONDE_AUDIT_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/status.h>

#include "image_set.h"
#include "record_page.h"

enum { SONDE__AUDIT_TEXT_MAX = 4096 }; /* Linux' PATH_MAX, which counts the zero byte */

/* memory: a page that its program may be writing. In the copy counts are within bounds, offsets of
 * text lead to texts of at most SONDE__AUDIT_TEXT_MAX bytes (longer ones are cut, invalid offsets
 * lead to ""), equal texts have equal offsets, and build-ids fit. `functions` are copied as far as
 * function_count says, `text` as far as text_used; `names` are not: the caller has them. Returns
 * OK | MEMORY. Ownership: sonde__audit_page_free(). */
SONDE_NODISCARD enum sonde_status sonde__audit_page_copy(const void *memory,
                                                         struct sonde__record_page **ret_page);
/* Let the copy have the phases of another page, which its program may be writing. */
void sonde__audit_page_take_phases(struct sonde__record_page *page, const void *memory);
/* page: may be null */
void sonde__audit_page_free(struct sonde__record_page *page);

/* Which field of a copy holds what neither sonde nor the recorder writes there: `nodes` and
 * `functions` are what the page began with. Its name, and its offset in the page; null: all are
 * possible. */
const char *sonde__audit_page_damaged(const struct sonde__record_page *page, uint32_t nodes,
                                      uint32_t functions, uint32_t *ret_at);

/* Text of a copy. */
static inline const char *sonde__audit_page_text(const struct sonde__record_page *page, uint32_t at)
{
    return page->text + at;
}

/* Which functions of the list a library defines that was loaded, perhaps later than the program. */
struct sonde__audit_defined {
    bool functions[SONDE__RECORD_FUNCTIONS];
};
void sonde__audit_page_defined(const struct sonde__record_page *page,
                               struct sonde__audit_defined *ret_defined);
static inline bool sonde__audit_is_defined(const struct sonde__audit_defined *defined,
                                           uint32_t function)
{
    return function < SONDE__RECORD_FUNCTIONS && defined->functions[function];
}

/* Which subclasses override function `index`, a method, as a sentence. False: none is known. */
enum { SONDE__AUDIT_OVERRIDDEN_BYTES = 256 };
bool sonde__audit_page_overridden(const struct sonde__record_page *page, uint32_t index,
                                  char ret_text[SONDE__AUDIT_OVERRIDDEN_BYTES]);

/* An image of a copy, which it refers to. index: below image_count */
struct sonde__image sonde__audit_page_image(const struct sonde__record_page *page, uint32_t index);

#endif
