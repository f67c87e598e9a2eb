// SPDX-License-Identifier: Apache-2.0
#include "forms.h"

FORM void form_no_plt(void)
{
    CALL(api_call, FORM_NO_PLT);
}
