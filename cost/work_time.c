/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seconds of work, from the figures of a cluster file. cost/work.c computes how much work a node
 * is.
 *
 * Work on one device takes launch + max(arithmetic, bytes / bandwidth(bytes)), the roofline
 * model (Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009). Bandwidth depends on the
 * bytes used between two uses of the same, because small working sets stay in a cache: those of
 * the work itself, where what runs around it is not known. Rates of products and convolutions that
 * were measured have the traffic of a working set of their own size in them; what it takes longer
 * from further away is added. Products without a table of measured
 * rates take the root of the sum of both squares instead, because a tile reads before its first
 * multiplication and writes after its last. For 42 products on an H100 (bench/published --only
 * xla), predicted over measured has a geometric mean of 1.01 so, and of 0.88 with the greater of
 * both. Arithmetic is
 *   stream     flops / vector_flops, but sums of rows at rate(elements of a row), if measured: a
 *              short row leaves most of a vector idle, and each is added up at its end
 *   product    flops / rate(m, n, k). The measured rates are interpolated linearly in the
 *              logarithms of m, n and k, so that a power law between two sizes is exact. Below
 *              the least size a product costs as much as one of that size (tiles are padded);
 *              above the largest the rate is constant. A device without a table computes 128 x
 *              128 tiles of the result on its `units` in waves: ceil(tiles / units) * tile_flops
 *              * units / rate (NVIDIA, Matrix Multiplication Background User's Guide, "Tile
 *              Quantization" and "Wave Quantization"). Where tiles are fewer than units, units
 *              share the k of a tile evenly (Osama et al.: Stream-K, PPoPP 2023)
 *   convolution  flops / rate(flops of one window); without a curve, those of a product
 *   attention  flops / rate(flops of one head), which may differ where a mask leaves out keys;
 *              without a curve, half the rate of products of
 *              that shape (Dao: FlashAttention-2, 2023, section 4.1 measures 50-73 % of peak
 *              forward, up to 63 % backward, where products reach 80-90 %)
 *
 * On the host, copies take latency + bytes / bandwidth, and an update, which only streams through
 * memory, launch + bytes / (update rate of the node / devices of the node).
 */
#include "cost/cost.h"
#include "cost/curve.h"

#include <math.h>

/* The position of a size among the measured ones: between sizes[index] and the next, at fraction
 * t in logarithms. */
typedef struct {
    int index;
    double t;
} SizePosition;

static SizePosition position_of(const MwGemm *gemm, double size)
{
    const double *sizes = gemm->sizes.at;
    int last = gemm->sizes.count - 1, i = 0;
    if (last == 0 || size <= sizes[0])
        return (SizePosition){0, 0};
    while (i + 1 < last && sizes[i + 1] <= size)
        i++;
    return (SizePosition){i, fmin(1, log(size / sizes[i]) / log(sizes[i + 1] / sizes[i]))};
}

/* The rate interpolated between the eight measured sizes around m, n and k. */
static double measured_rate(const MwGemm *gemm, double m, double n, double k)
{
    int count = gemm->sizes.count;
    SizePosition at[3] = {position_of(gemm, m), position_of(gemm, n), position_of(gemm, k)};
    double log_rate = 0;
    for (int corner = 0; corner < 8; corner++) {
        double weight = 1;
        int index = 0;
        for (int d = 0; d < 3; d++) {
            int upper = corner >> d & 1;
            weight *= upper ? at[d].t : 1 - at[d].t;
            index = index * count + (int)mw_min(at[d].index + upper, count - 1);
        }
        if (weight > 0)
            log_rate += weight * log(gemm->rates.at[index]);
    }
    return exp(log_rate);
}

static bool is_known(const MwGemm *gemm)
{
    return gemm->rate_flops > 0 || gemm->sizes.count;
}

/* The figures for floats of 8 bits are those for fp8; without them, those for bf16 count, in which
 * devices compute that do not have them. Without figures for a type of 16 bits, those of another
 * one count; otherwise a device computes the products in f32. */
static const MwGemm *gemm_of(const MwDeviceModel *device, MwType type)
{
    if (mw_type_is_fp8(type))
        type = MW_FP8;
    if (type == MW_FP8 && !is_known(&device->gemm[type]))
        type = mw_type_stored(type);
    const MwGemm *gemm = &device->gemm[type];
    if (is_known(gemm))
        return gemm;
    for (int other = 0; other < MW_TYPE_COUNT && mw_type_is_half(type); other++)
        if (mw_type_is_half((MwType)other) && is_known(&device->gemm[other]))
            return &device->gemm[other];
    return &device->gemm[MW_F32];
}

/* The side of a tile that `units` counts (docs/clusters.md), and the least of k that a part has. */
enum { TILE = 128 };

/* A product by tiles. Where they are fewer than units, units share the k of a tile; each part of
 * the result is then written and read once more. Both ways grow with m, n and k. */
static double tiles_s(const MwDeviceModel *device, const MwGemm *gemm, const MwWork *work)
{
    const double tiles = work->batch * ceil(work->m / TILE) * ceil(work->n / TILE);
    const double depth_s = 2.0 * TILE * TILE * device->units / gemm->rate_flops;
    const double whole_s = ceil(tiles / device->units) * work->k * depth_s;
    const double depth = fmax(fmin(work->k, TILE), work->k * tiles / device->units);
    if (depth >= work->k)
        return whole_s;
    const double bytes =
        2.0 * tiles * (work->k / depth) * TILE * TILE * (double)mw_type_bytes(MW_F32);
    return fmin(whole_s, depth * depth_s + bytes / mw_curve_value(&device->bandwidth, bytes));
}

static double products_s(const MwDeviceModel *device, const MwWork *work)
{
    const MwGemm *gemm = gemm_of(device, work->type);
    double m = work->m, n = work->n, k = work->k;
    if (gemm->sizes.count) {
        double floor = gemm->sizes.at[0];
        m = fmax(m, floor);
        n = fmax(n, floor);
        k = fmax(k, floor);
        return 2 * work->batch * m * n * k / measured_rate(gemm, m, n, k);
    }
    if (device->units == 0)
        return 2 * work->batch * m * n * k / gemm->rate_flops;
    return tiles_s(device, gemm, work);
}

/* By the curve of the device; as a product without one. */
static double conv_s(const MwDeviceModel *device, const MwCurve *curve, const MwWork *work)
{
    return curve->count ? work->flops / mw_curve_value(curve, work->flops / work->windows)
                        : products_s(device, work);
}

static const MwCurve *attention_curve(const MwDeviceModel *device, const MwWork *work)
{
    const MwGemm *gemm = gemm_of(device, work->type);
    const bool is_forward = work->kind == MW_WORK_ATTENTION;
    const MwCurve *curve = is_forward ? &gemm->attention_flops : &gemm->attention_grad_flops;
    if (is_forward && work->is_masked && gemm->masked_attention_flops.count)
        return &gemm->masked_attention_flops;
    if (curve->count)
        return curve;
    return is_forward ? &device->attention_flops : &device->attention_grad_flops;
}

static double attention_s(const MwDeviceModel *device, const MwWork *work)
{
    const MwCurve *curve = attention_curve(device, work);
    if (curve->count)
        return work->flops / mw_curve_value(curve, work->flops / work->batch);
    double product_flops = 2 * work->batch * work->m * work->n * work->k;
    return 2 * products_s(device, work) * (work->flops / product_flops);
}

static double stream_s(const MwDeviceModel *device, const MwWork *work)
{
    if (!device->row_sum_flops.count || work->row_flops == 0)
        return work->flops / device->vector_flops;
    return (work->flops - work->row_flops) / device->vector_flops +
           work->row_flops / mw_curve_value(&device->row_sum_flops, work->columns);
}

static double arithmetic_s(const MwDeviceModel *device, const MwWork *work)
{
    switch (work->kind) {
    case MW_WORK_NONE:
        return 0;
    case MW_WORK_STREAM:
        return stream_s(device, work);
    case MW_WORK_GEMM:
        return products_s(device, work);
    case MW_WORK_CONV:
        return conv_s(device, &device->conv_flops, work);
    case MW_WORK_CONV_TRANSPOSE:
        return conv_s(device, &device->conv_transpose_flops, work);
    case MW_WORK_CONV_FILTER_GRAD:
        return conv_s(device, &device->conv_filter_grad_flops, work);
    case MW_WORK_ATTENTION:
    case MW_WORK_ATTENTION_GRAD:
        return attention_s(device, work);
    case MW_WORK_HOST_COPY:
    case MW_WORK_HOST:
        break;
    }
    MW_UNREACHABLE();
}

/* What a device waits for its host; all devices of the node want it at once. */
static double host_s(const MwCluster *cluster, const MwWork *work)
{
    const MwHostModel *host = &cluster->host;
    return work->kind == MW_WORK_HOST_COPY
               ? host->latency_s + work->bytes / host->bytes_per_s
               : cluster->device.launch_s +
                     work->bytes * cluster->devices_per_node / host->update_bytes_per_s;
}

double mw_cost_memory_s(const MwCostModel *model, double bytes, double distance)
{
    return bytes / mw_curve_value(&model->cluster->device.bandwidth, distance);
}

/* Whether the seconds of arithmetic were measured with the operands that it reads, and thus have
 * their traffic in them. */
static bool has_traffic(const MwDeviceModel *device, const MwWork *work)
{
    switch (work->kind) {
    case MW_WORK_GEMM:
        return gemm_of(device, work->type)->sizes.count;
    case MW_WORK_CONV:
        return device->conv_flops.count || gemm_of(device, work->type)->sizes.count;
    case MW_WORK_CONV_TRANSPOSE:
        return device->conv_transpose_flops.count || gemm_of(device, work->type)->sizes.count;
    case MW_WORK_CONV_FILTER_GRAD:
        return device->conv_filter_grad_flops.count || gemm_of(device, work->type)->sizes.count;
    case MW_WORK_NONE:
    case MW_WORK_STREAM:
    case MW_WORK_ATTENTION:
    case MW_WORK_ATTENTION_GRAD:
    case MW_WORK_HOST_COPY:
    case MW_WORK_HOST:
        return false;
    }
    MW_UNREACHABLE();
}

double mw_cost_work_s(const MwCostModel *model, const MwWork *work)
{
    const MwDeviceModel *device = &model->cluster->device;
    if (work->kind == MW_WORK_NONE)
        return 0;
    if (work->kind == MW_WORK_HOST_COPY || work->kind == MW_WORK_HOST)
        return host_s(model->cluster, work);
    const double near_s = mw_cost_memory_s(model, work->bytes, work->bytes);
    const double memory_s = work->memory_s > 0 ? work->memory_s : near_s;
    const double compute_s = arithmetic_s(device, work);
    if (has_traffic(device, work))
        return device->launch_s + fmax(compute_s, near_s) + fmax(memory_s - near_s, 0);
    return device->launch_s + (mw_work_is_product(work->kind) ? hypot(compute_s, memory_s)
                                                              : fmax(compute_s, memory_s));
}
