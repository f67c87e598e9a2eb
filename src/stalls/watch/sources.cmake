set(sources watch_capture.c watch_decide.c watch_follow.c watch_loop.c watch_output.c watch_program.c
            watch_rounds.c watch_run.c watch_stall.c watch_supervise.c)
