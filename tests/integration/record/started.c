// SPDX-License-Identifier: Apache-2.0
#include "forms.h"

FORM __attribute__((constructor)) static void form_started_constructor(void)
{
    CALL(api_call, FORM_STARTED_CONSTRUCTOR);
}

FORM __attribute__((destructor)) static void form_started_destructor(void)
{
    CALL(api_call, FORM_STARTED_DESTRUCTOR);
}
