/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "codegen/simulate/goodput.h"

#include "base/hash.h"
#include "base/philox.h"

double mw_daly_interval_s(double checkpoint_s, double mtbf_s)
{
    const double part = checkpoint_s / (2 * mtbf_s);
    if (part >= 1)
        return mtbf_s;
    return sqrt(2 * checkpoint_s * mtbf_s) * (1 + sqrt(part) / 3 + part / 9) - checkpoint_s;
}

typedef struct {
    const MwGoodputOptions *options;
    MwGoodput result;
    double interval_steps; /* whole */
    double now_s;
    uint64_t stream, drawn;
} Run;

/* Seconds to the next failure, which do not depend on those since the last. */
static double draw_failure(Run *run)
{
    return -run->options->mtbf_s *
           log(mw_uniform_at(run->options->seed, run->stream, run->drawn++));
}

/* Steps and checkpoints until the next failure or the end; true if that is a failure. */
static bool do_steps(Run *run)
{
    MwGoodput *result = &run->result;
    const double interval_s = result->every_s + run->options->checkpoint_s;
    const double left_s = run->options->horizon_s - run->now_s, failure_s = draw_failure(run);
    const bool fails = failure_s < left_s;
    const double elapsed_s = fails ? failure_s : left_s;
    const double intervals = floor(elapsed_s / interval_s);
    const double rest_s = fmax(elapsed_s - intervals * interval_s, 0);
    double steps = intervals * run->interval_steps;
    if (fails)
        result->lost_s += rest_s;
    else
        steps += floor(fmin(rest_s, result->every_s) / run->options->step_s);
    result->steps += (int64_t)steps;
    result->kept_s += steps * run->options->step_s;
    result->checkpoint_s += intervals * run->options->checkpoint_s;
    result->failures += fails;
    run->now_s += elapsed_s;
    return fails;
}

/* Starts again until that does not fail, or to the end. */
static void restart(Run *run)
{
    MwGoodput *result = &run->result;
    for (bool fails = true; fails;) {
        const double left_s = run->options->horizon_s - run->now_s;
        const double most_s = fmin(run->options->restart_s, left_s), failure_s = draw_failure(run);
        fails = failure_s < most_s;
        result->failures += fails;
        result->restart_s += fails ? failure_s : most_s;
        run->now_s += fails ? failure_s : most_s;
    }
}

static double expected(const MwGoodputOptions *options, double every_s)
{
    const double mtbf_s = options->mtbf_s;
    return every_s / (mtbf_s * exp(options->restart_s / mtbf_s) *
                      expm1((every_s + options->checkpoint_s) / mtbf_s));
}

MwGoodput mw_goodput(const MwGoodputOptions *options)
{
    MW_ASSERT(options->horizon_s <= MW_MOST_FAILURES * options->mtbf_s);
    Run run = {.options = options, .stream = mw_hash_bytes("goodput", 7)};
    const double every_s = options->every_s > 0
                               ? options->every_s
                               : mw_daly_interval_s(options->checkpoint_s, options->mtbf_s);
    run.interval_steps = fmax(round(every_s / options->step_s), 1);
    run.result.every_s = run.interval_steps * options->step_s;
    while (run.now_s < options->horizon_s && do_steps(&run))
        restart(&run);
    run.result.goodput = run.result.kept_s / options->horizon_s;
    run.result.expected = expected(options, run.result.every_s);
    return run.result;
}
