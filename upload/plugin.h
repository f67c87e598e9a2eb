// SPDX-License-Identifier: Apache-2.0
/* The parts of this library's transport table. */
#ifndef SONDE_UPLOAD_PLUGIN_H
#define SONDE_UPLOAD_PLUGIN_H

#include <stdbool.h>

#include <sonde/upload.h>

void sonde_upload_plugin_send(void *ctx, const struct sonde_upload_request *request,
                              struct sonde_upload_reply *reply);
size_t sonde_upload_plugin_compress(void *ctx, enum sonde_upload_coding coding, const void *bytes,
                                    size_t size_bytes, void *to, size_t capacity_bytes);
enum sonde_upload_metered sonde_upload_plugin_metered(void *ctx);

#endif
