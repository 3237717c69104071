/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The values of a cluster file: numbers with units, lists and curves, checked as they are read.
 * Every function gives false after an error. */
#ifndef MW_FRONTEND_CLUSTER_VALUE_H
#define MW_FRONTEND_CLUSTER_VALUE_H

#include "frontend/cluster/reader.h"

enum { MW_CLUSTER_MAX_COUNT = 1 << 20 /* of devices, and of any whole number */ };

bool mw_cluster_read_int(MwClusterReader *reader, int *value);
/* [SIZE: VALUE, ...], or one VALUE that holds for every size. */
bool mw_cluster_read_curve(MwClusterReader *reader, MwQuantity quantity, MwQuantity at,
                           MwCurve *curve);
/* The value of `key` into the struct of its section at `base`. */
bool mw_cluster_read_value(MwClusterReader *reader, const MwClusterKey *key, void *base);

#endif
