set(sources watch_cause.c watch_decide.c watch_output.c watch_program.c watch_run.c watch_stall.c
            watch_supervise.c)
if(TARGET sonde_drain)
    list(APPEND sources watch_capture.c)
else()
    list(APPEND sources watch_capture_plain.c)
endif()
