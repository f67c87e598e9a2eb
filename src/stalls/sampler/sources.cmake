set(sources sampler.c sampler_border.c sampler_cause.c sampler_child.c sampler_clock.c sampler_load.c sampler_note.c
    sampler_stall.c sampler_trace.c)
# inside its program only
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    list(REMOVE_ITEM sources sampler_cause.c sampler_child.c)
    list(APPEND sources darwin/sampler_alone.c)
endif()
