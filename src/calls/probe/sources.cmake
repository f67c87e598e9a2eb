set(sources probe_early.c probe_hook.c probe_long.c probe_raw.c probe_raw.S probe_sample.c probe_scope.c probe_thunk.c probe_thunks.S probe_turn.c)
