set(sources v8_frame.c v8_name.c v8_object.c v8_position.c v8_text.c)
