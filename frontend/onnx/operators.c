/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/onnx/operators.h"

#include <stddef.h>
#include <string.h>

#define mw_onnx_fold_none NULL

static const MwOnnxOperator operators[] = {
#define OP(name, operands, translate, fold, text, note)                                            \
    {#name, operands, mw_onnx_##translate, mw_onnx_fold_##fold, text, note},
#include "frontend/onnx/ops.def"
};

const MwOnnxOperator *mw_onnx_operator(const char *name)
{
    for (int i = 0; i < MW_COUNT(operators); i++)
        if (strcmp(operators[i].name, name) == 0)
            return &operators[i];
    return NULL;
}
