/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "frontend/cluster/reader.h"

void mw_cluster_advance(MwClusterReader *reader)
{
    reader->token = mw_cluster_lex(&reader->lexer);
}

bool mw_cluster_at_sign(const MwClusterReader *reader, char sign)
{
    return reader->token.kind == MW_CLUSTER_SIGN && reader->token.sign == sign;
}

bool mw_cluster_accept(MwClusterReader *reader, char sign)
{
    bool is_here = mw_cluster_at_sign(reader, sign);
    if (is_here)
        mw_cluster_advance(reader);
    return is_here;
}

bool mw_cluster_expect(MwClusterReader *reader, char sign, const char *where)
{
    if (mw_cluster_accept(reader, sign))
        return true;
    mw_diag_error(reader->diags, reader->token.span, "expected '%c' %s", sign, where);
    return false;
}
