set(sources
    target.c
    target_capture.c
    target_cause.c
    target_core.c
    target_core_notes.c
    target_files.c
    target_frozen.c
    target_images.c
    target_jit.c
    target_place.c
    target_running.c
    target_sample.c
    target_script.c
    target_self.c
    target_self_images.c
    target_self_permanent.c
    target_signal.c
    target_state.c
    target_stop.c
    target_walk.c
    target_window.c
    ${SONDE_PORT}/target_process.c
    ${SONDE_PORT}/target_self_describe.c
    ${SONDE_PORT}/target_self_loader.c
    ${SONDE_PORT}/target_self_needed.c
    ${SONDE_PORT}/target_self_paths.c
)
# the parts of Darwin's port that exist (darwin/target_none.c is for apps: Package.swift)
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    list(APPEND sources darwin/target_process.c darwin/target_self_loader.c
        darwin/target_self_needed.c darwin/target_zones.c)
endif()
