// SPDX-License-Identifier: Apache-2.0
/* The Firefox Profiler's processed profile, version 61 (github.com/firefox-devtools/profiler,
 * docs-developer/CHANGELOG-formats.md), the first version with all that is written here in its
 * final form; newer profilers upgrade it.
 *
 * A stall becomes a marker over the weighted samples of its thread; each other thread gets a marker
 * with its stack. Tables are columns, and each column is written in its own walk over the report,
 * so no table is kept in memory. A stack of the report becomes several rows of the stack table:
 * tail calls, the frame, the calls inlined into it. Only their first row numbers are stored. */
#include "export_firefox.h"

#include "export_formats.h"
#include "mem_heap.h"

bool sonde__export_firefox(const struct sonde__export_set *set, struct sonde__report_sink sink)
{
    struct sonde__export_firefox f = {.set = set};
    bool done = sonde__export_tracks_make(&f.tracks, set->report) == SONDE_OK &&
                sonde__export_firefox_number(&f);
    if (done) {
        sonde__report_out_init(&f.out, sink, false);
        sonde__report_out_str(&f.out, "{");
        sonde__export_firefox_meta(&f);
        sonde__report_out_str(&f.out, ",\n");
        sonde__export_firefox_libs(&f);
        sonde__report_out_str(&f.out, ",\n");
        sonde__export_firefox_shared(&f);
        sonde__report_out_str(&f.out, ",\n\"threads\":[");
        sonde__export_firefox_threads(&f);
        sonde__report_out_str(&f.out, "]}\n");
        sonde__report_out_flush(&f.out);
    }
    sonde__export_tracks_done(&f.tracks);
    sonde__mem_free(f.first_frame_row);
    sonde__mem_free(f.first_stack_row);
    sonde__mem_free(f.sources);
    return done;
}
