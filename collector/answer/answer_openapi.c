// SPDX-License-Identifier: Apache-2.0
/* GET /api/openapi.json: the description of the API. tests/integration/collector/check_openapi.py
 * holds it against the routes and their answers. */
#include "answer_openapi.h"

#include <stdlib.h>
#include <string.h>

#include "answers.h"

enum http_when answer_openapi(struct http_request *request)
{
    void *body = malloc(answer_openapi_size);
    if (body == NULL) {
        return http_refuse(request, 503, "no memory for the answer");
    }
    memcpy(body, answer_openapi_json, answer_openapi_size);
    return http_give(request, 200, "application/json", body, answer_openapi_size);
}
