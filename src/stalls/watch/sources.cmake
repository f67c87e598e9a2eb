set(sources
    watch_attend.c
    watch_early.c
    watch_family.c
    watch_follow.c
    watch_kept.c
    watch_launch.c
    watch_live.c
    watch_loop.c
    watch_missed.c
    watch_most.c
    watch_outside.c
    watch_outside_sleep.c
    watch_outside_wait.c
    watch_output.c
    watch_pid.c
    watch_program.c
    watch_release.c
    watch_rest.c
    watch_rounds.c
    watch_run.c
    watch_sampler.c
    watch_sampling.c
    watch_scope.c
    watch_scopes.c
    watch_shared.c
    watch_spool.c
    watch_spooled.c
    watch_stalled.c
    watch_summary.c
    watch_supervise.c
    watch_unread.c
    watch_watchdog.c
    watch_workers.c
    watch_writer.c
)
# inside its program only
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    list(REMOVE_ITEM sources watch_attend.c watch_family.c watch_follow.c watch_launch.c watch_outside.c
         watch_outside_sleep.c watch_outside_wait.c watch_pid.c watch_program.c watch_supervise.c watch_workers.c)
    list(APPEND sources darwin/watch_alone.c)
endif()
