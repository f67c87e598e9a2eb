// SPDX-License-Identifier: Apache-2.0
/* The description of the API, against the routes and their answers. */
#include <stdio.h>
#include <stdlib.h>

#include "collector.h"

TEST_TIMEOUT(api_is_as_described, 120)
{
    const char *const look[] = {"/usr/bin/python3", "-c", "import jsonschema", NULL};
    struct test_run found = test_run(look, NULL, NULL, 30);
    bool is_there = found.status == 0;
    test_run_done(&found);
    if (!is_there) {
        SKIP("no jsonschema for python3 (./dev setup test)");
    }
    const char *const options[] = {"--keep-every=1", "--keep-per-group=4", NULL};
    struct collector_run run = collector_start(options);
    char script[1024];
    snprintf(script, sizeof script,
             "export ADMIN COLLECTOR SONDE LOOP; /usr/bin/python3 '%s' $URL data '%s' || exit 1",
             program_source("collector/check_openapi.py"),
             program_source("../../collector/answer/answer_routes.c"));
    free(collector_script(&run, script));
    collector_stop(&run);
}
