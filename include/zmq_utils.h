/* SPDX-License-Identifier: MPL-2.0 */
/*
 * For programs that include it in addition to or instead of zmq.h, which declares everything that
 * libzmq once declared here.
 */
#ifndef ZMQ_UTILS_H
#define ZMQ_UTILS_H

#include "zmq.h"

#endif
