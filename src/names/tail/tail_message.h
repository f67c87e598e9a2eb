// SPDX-License-Identifier: Apache-2.0
/* Jumps that send a message of Objective-C. Such a jump continues in a method that only the
 * receiver decides: in one of those with the selector in this image, or in another image. */
#ifndef SONDE_TAIL_MESSAGE_H
#define SONDE_TAIL_MESSAGE_H

#include "tail_scan.h"

/* Add the image's stubs that send one message ("objc_msgSend$count") as outlined code that jumps to
 * each method with that selector, and to unknown places; also each word with the selector of such a
 * method, as if a call with that selector entered it. base: vaddr of offset 0. */
void tail_add_senders(struct tail_scan *s, const struct sonde__macho *image, uint64_t base);

/* Does a function of this name (as in a Mach-O) send the message that its arguments say? */
bool tail_is_message(const char *name);

#endif
