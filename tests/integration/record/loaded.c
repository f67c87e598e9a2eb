// SPDX-License-Identifier: Apache-2.0
#include "forms.h"

FORM __attribute__((constructor)) static void form_loaded_constructor(void)
{
    CALL(api_call, FORM_LOADED_CONSTRUCTOR);
}

FORM void form_loaded(void)
{
    CALL(api_call, FORM_LOADED);
}
