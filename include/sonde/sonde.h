// SPDX-License-Identifier: Apache-2.0
/* All of sonde. Each header can be included alone. */
#ifndef SONDE_SONDE_H
#define SONDE_SONDE_H

#include "sonde/arch.h"
#include "sonde/audit.h"
#include "sonde/block.h"
#include "sonde/block_registry.h"
#include "sonde/depot.h"
#include "sonde/image.h"
#include "sonde/index.h"
#include "sonde/note.h"
#include "sonde/report.h"
#include "sonde/scope.h"
#include "sonde/stack.h"
#include "sonde/status.h"
#include "sonde/symbol.h"
#include "sonde/text.h"
#include "sonde/thread.h"
#include "sonde/watch.h"

#endif
