// SPDX-License-Identifier: Apache-2.0
/* The collector's log: one line of key=value pairs on stderr for each event, with the time, as
 * logfmt has them. Values with spaces are quoted, control characters escaped. Context: any thread.
 */
#ifndef SONDE_COLLECTOR_SAY_H
#define SONDE_COLLECTOR_SAY_H

void say_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void say_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
