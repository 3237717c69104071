/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Partitions of the strategies of a node. All results are remembered. */
#include "solver/core/classes.h"

#include <string.h>

const MwTable *mw_classes_identity(MwTables *tables, int strategies)
{
    int64_t *classes = mw_tables_scratch(tables, strategies);
    for (int s = 0; s < strategies; s++)
        classes[s] = s;
    return mw_table_intern(tables, 1, &strategies, classes);
}

int mw_classes_count(const MwTable *classes)
{
    int64_t greatest = 0;
    for (int64_t s = 0; s < classes->count; s++)
        greatest = mw_max(greatest, classes->at[s]);
    return (int)greatest + 1;
}

const MwRenumbered *mw_classes_renumber(MwTables *tables, const MwTable *classes)
{
    int key[] = {MW_OPERATION_RENUMBER, classes->id};
    MwRenumbered *known = mw_tables_recall(tables, key, MW_COUNT(key));
    if (known)
        return known;
    MwRenumbered *made = MW_NEW(mw_tables_arena(tables), MwRenumbered, 1);
    int size = (int)classes->count, gaps = mw_classes_count(classes), count = 0;
    int64_t *renumbered = mw_tables_scratch(tables, 3 * size + gaps);
    int64_t *old = renumbered + size, *first = old + size, *new_class = first + size;
    memset(new_class, -1, sizeof *new_class * (size_t)gaps);
    for (int s = 0; s < size; s++) {
        int64_t from = classes->at[s];
        if (new_class[from] < 0) {
            old[count] = from;
            first[count] = s;
            new_class[from] = count++;
        }
        renumbered[s] = new_class[from];
    }
    made->classes = mw_table_intern(tables, 1, &size, renumbered);
    made->old = mw_table_intern(tables, 1, &count, old);
    made->first = mw_table_intern(tables, 1, &count, first);
    mw_tables_remember(tables, key, MW_COUNT(key), made);
    return made;
}

const MwRefined *mw_classes_refine(MwTables *tables, const MwTable *a, const MwTable *b)
{
    int key[] = {MW_OPERATION_REFINE, a->id, b->id};
    MwRefined *known = mw_tables_recall(tables, key, MW_COUNT(key));
    if (known)
        return known;
    MW_ASSERT(a->count == b->count);
    MwRefined *made = MW_NEW(mw_tables_arena(tables), MwRefined, 1);
    int size = (int)a->count, columns = mw_classes_count(b);
    int64_t *pairs = mw_tables_scratch(tables, size);
    for (int s = 0; s < size; s++)
        pairs[s] = a->at[s] * columns + b->at[s];
    const MwRenumbered *joint =
        mw_classes_renumber(tables, mw_table_intern(tables, 1, &size, pairs));
    int count = (int)joint->old->count;
    int64_t *in_a = mw_tables_scratch(tables, 2 * count), *in_b = in_a + count;
    for (int i = 0; i < count; i++) {
        in_a[i] = joint->old->at[i] / columns;
        in_b[i] = joint->old->at[i] % columns;
    }
    made->classes = joint->classes;
    made->in_a = mw_table_intern(tables, 1, &count, in_a);
    made->in_b = mw_table_intern(tables, 1, &count, in_b);
    mw_tables_remember(tables, key, MW_COUNT(key), made);
    return made;
}
