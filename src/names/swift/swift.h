// SPDX-License-Identifier: Apache-2.0
/* Decodes the symbol names of Swift programs (Swift's docs/ABI/Mangling.rst): names of Swift 4 and
 * later, and the class and protocol names of older programs that the Objective-C runtime shows.
 *
 * Input is untrusted. The decoder takes 100 KB from the heap. Its nodes, its depth, the length of
 * its text and the number of its steps are bounded. A name that breaks a rule or a bound, or for
 * which there is no memory, is not decoded, and the caller shows the encoded one: no part of a name
 * is guessed. Context: any thread; not handler. */
#ifndef SONDE_SWIFT_H
#define SONDE_SWIFT_H

#include <stdbool.h>
#include <stddef.h>

#define SONDE__SWIFT_INPUT_MAX 4096u /* bytes of an encoded name */

enum sonde__swift_style {
    SONDE__SWIFT_FULL, /* as swift-demangle prints it: modules, types, constraints */
    SONDE__SWIFT_SHORT /* for people: as in Xcode's and Instruments' stacks, `S.run(with:)` */
};

/* The prefix of a Swift name: "$s", "_$s", "$S", "_$S", "$e", "_$e", "_T0", "_Tt". */
bool sonde__swift_is_encoded(const char *name);

/* True: `text` of `size` bytes has the decoded name. False: not Swift's, or not understood. */
bool sonde__swift_decode(const char *name, enum sonde__swift_style style, char *text, size_t size);

#endif
