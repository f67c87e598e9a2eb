// SPDX-License-Identifier: Apache-2.0
/* The spool folder, for the output of a watch: the report of this run, and what earlier runs left.
 * Context: any thread. */
#ifndef SONDE_WATCH_SPOOLED_H
#define SONDE_WATCH_SPOOLED_H

#include "report_line.h"
#include "report_write.h"
#include "watch_run.h"

/* The report of this run in the folder. The writer's thread changes it. */
struct sonde__watch_spooled {
    int32_t report_fd;
    bool is_used;    /* it has a stall */
    bool has_failed; /* it could not be written */
    int error;       /* errno */
};

/* How much of one run is kept. Further stalls are only counted. */
extern const struct sonde__report_writer_options sonde__watch_spool_caps;

/* Finish the reports of killed runs, with names, and remove what exceeds the caps of the folder.
 * say: gets a line for each stall in which a program was killed. Blocks while names are looked
 * up. */
void sonde__watch_spool_tidy(const struct sonde__watch_options *options,
                             struct sonde__report_lines lines);

/* The same for a caller without a watch. symbols: null: no names. Returns as
 * sonde__host_folder_open(), and MEMORY. */
SONDE_NODISCARD enum sonde_status
sonde__watch_spool_finish(const char *path, const struct sonde__symfile_options *symbols,
                          struct sonde__report_lines lines, struct sonde_error *ret_error);

#endif
