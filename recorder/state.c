// SPDX-License-Identifier: Apache-2.0
#include "recorder.h"

struct sonde__record_page *recorder_page;
struct sonde__record *recorder_record;
struct sonde__record_phases *recorder_phases;
struct sonde__hooks *recorder_hooks;
bool (*recorder_join)(void);
uint64_t (*recorder_redirect)(enum sonde__record_event event, uint64_t target);
struct sonde__when recorder_when;
void (*recorder_swept)(void);
uint32_t recorder_name_count;
const char *recorder_names[SONDE__RECORD_FUNCTIONS];
uint32_t recorder_listed_events[SONDE__RECORD_EVENTS];
__thread uint32_t recorder_busy;
