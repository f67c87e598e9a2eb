// SPDX-License-Identifier: Apache-2.0
#include "recorder.h"

struct sonde__record_page *recorder_page;
struct sonde__record *recorder_record;
struct sonde__hooks *recorder_hooks;
struct sonde__when recorder_when;
void (*recorder_swept)(void);
uint32_t recorder_name_count;
const char *recorder_names[SONDE__RECORD_FUNCTIONS];
uint32_t recorder_listed_events[SONDE__RECORD_EVENTS];
__thread uint32_t recorder_busy;
