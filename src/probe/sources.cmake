set(sources probe_turn.c)
