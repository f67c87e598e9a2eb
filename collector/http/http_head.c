// SPDX-License-Identifier: Apache-2.0
/* Heads of requests that two programs may read in two ways. A proxy before the collector that takes
 * another end of the body than libmicrohttpd does would take what is in the body for the next
 * request, of another client. libmicrohttpd 0.9.75 takes the first of two lengths, prefers a
 * transfer coding to a length, and reads to the end of the connection for codings that it does not
 * know. Source: RFC 9112, 5.1, 6.1, 6.3 and 3.2. */
#include "http_head.h"

#include <microhttpd.h>
#include <stdbool.h>
#include <string.h>

struct head {
    unsigned lengths, codings, hosts;
    bool is_chunked, has_bad_name;
};

static bool is_token(const char *name)
{
    size_t size = strcspn(name, " \t\r\n\v\f\"(),/:;<=>?@[\\]{}");
    return size != 0 && name[size] == '\0';
}

static enum MHD_Result look(void *ctx, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct head *head = ctx;
    (void)kind;
    head->has_bad_name |= !is_token(name);
    head->hosts += strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0;
    head->lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0;
    if (strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0) {
        head->codings++;
        head->is_chunked = value != NULL && strcasecmp(value, "chunked") == 0;
    }
    return MHD_YES;
}

unsigned http_look_at_head(void *connection)
{
    struct head head = {0};
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, look, &head);
    if (head.has_bad_name || head.hosts > 1 || head.lengths + head.codings > 1) {
        return 400;
    }
    return head.codings == 0 || head.is_chunked ? 0 : 501;
}

/* A zero byte would end the text for us and not for a proxy: a part with one stays as it came. */
size_t http_unescape(void *ctx, struct MHD_Connection *connection, char *text)
{
    (void)ctx, (void)connection;
    return strstr(text, "%00") != NULL ? strlen(text) : MHD_http_unescape(text);
}
