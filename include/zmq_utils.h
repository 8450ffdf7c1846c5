/* SPDX-License-Identifier: MPL-2.0 */
/*
 * Kept for programs that include it beside or instead of zmq.h, which has everything that libzmq
 * once declared here.
 */
#ifndef ZMQ_UTILS_H
#define ZMQ_UTILS_H

#include "zmq.h"

#endif
