set(sources
    hook.c
    hook_blind_spots.c
    hook_method.c
    hook_objc.c
    hook_override.c
    hook_raw_find.c
    hook_text.c
    hook_thunk.c
    ${SONDE_PORT}/hook_define.c
    ${SONDE_PORT}/hook_list.c
    ${SONDE_PORT}/hook_loader.c
    ${SONDE_PORT}/hook_object.c
    ${SONDE_PORT}/hook_port.c
    ${SONDE_PORT}/hook_raw.c
    ${SONDE_PORT}/hook_slots.c
    ${SONDE_PORT}/hook_write.c
)
# the parts of Darwin's port that exist
if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    list(APPEND sources darwin/hook_ahead.c darwin/hook_gather.c darwin/hook_images.c darwin/hook_names.c darwin/hook_patch.c
        darwin/hook_port.c darwin/hook_raw_none.c darwin/hook_write.c)
endif()
