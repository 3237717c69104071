/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The border of scans: the values that a step takes get names, and what a step leaves is noted. The
 * node itself is written once its loop is (scan.c). */
#include "codegen/onnx/rules.h"

/* The loop whose border the node is on. */
static MwWrittenScan *scan_of(MwWriter *writer)
{
    return &writer->scans[mw_node_int(writer->node, MW_ATTR_LOOP)];
}

static MwNodeId id_of(const MwWriter *writer)
{
    return (MwNodeId){(int32_t)(writer->node - writer->graph->nodes.at)};
}

/* A name for the result, which a Scan gives or its body takes. */
static bool give_name(MwWriter *writer)
{
    const MwValueId result = mw_writer_result(writer, 0);
    writer->name[result.index][MW_ORDER_OWN] = mw_writer_value_name(writer, result);
    return true;
}

bool mw_write_scan_in(MwWriter *writer, const char *op)
{
    (void)op;
    mw_vec_push(writer->arena, &scan_of(writer)->ins, id_of(writer));
    return give_name(writer);
}

bool mw_write_scan_carry(MwWriter *writer, const char *op)
{
    (void)op;
    mw_vec_push(writer->arena, &scan_of(writer)->carries, id_of(writer));
    return give_name(writer);
}

bool mw_write_scan_next(MwWriter *writer, const char *op)
{
    (void)op;
    return give_name(writer);
}

bool mw_write_scan_out(MwWriter *writer, const char *op)
{
    (void)op;
    mw_vec_push(writer->arena, &scan_of(writer)->outs, id_of(writer));
    return give_name(writer);
}
