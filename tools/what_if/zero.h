/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data parallelism with what ZeRO splits, as options of planning; and published formulas of memory.
 *
 * Sources: Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter
 * Models, SC 2020, section 5 and figure 1; Korthikanti et al., Reducing Activation Recomputation in
 * Large Transformer Models, 2022, equations 1, 2, 4 to 6. */
#ifndef MW_TOOLS_WHAT_IF_ZERO_H
#define MW_TOOLS_WHAT_IF_ZERO_H

#include "tools/what_if/variant.h"

/* What of the model is split over the devices that share the batch. Gradients are not pinned: a
 * plan may scatter them as it sums them wherever states are split. */
typedef enum { MW_ZERO_NOTHING, MW_ZERO_STATES, MW_ZERO_GRADIENTS, MW_ZERO_WEIGHTS } MwZeroLevel;

/* Pins a variant to one mesh of `devices` that share the batch, on which weights and states are
 * whole, or split over all devices by what the level says. A tensor is split along its first
 * dimension that the devices divide; it is whole where there is none. */
void mw_zero_pin(MwArena *arena, MwVariant *variant, const MwVariantResult *planned, int devices,
                 MwZeroLevel level);

/* Elements of all weights. */
double mw_zero_parameters(const MwVariantResult *planned);

/* Bytes of weights, gradients and states of a device: 2 + 2 + 12 for each parameter, of which the
 * level splits some over the devices. */
double mw_zero_bytes(double parameters, int devices, MwZeroLevel level);

/* Sizes of a Transformer; 0: the model has no size of that name. */
typedef struct {
    double batch, seq, width, heads, layers;
} MwTransformer;

/* The sizes of these names, as the options set them. */
MwTransformer mw_transformer(MwArena *arena, const MwToolOptions *options, MwDiags *diags);

/* Activations of all layers for b rows of the batch, in 16 bits and on one device, bytes: all that
 * the backward needs, without the insides of attention, and the inputs of layers alone. */
typedef struct {
    double all, selective, inputs;
} MwActivationBytes;

MwActivationBytes mw_activation_bytes(const MwTransformer *sizes, double rows);

#endif
