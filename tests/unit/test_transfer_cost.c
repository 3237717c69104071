/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cost/transfer.c: its formulas against times worked out by hand, and against the messages of
 * runtime/plan/messages.h, sent hop by hop over the links of small clusters. */
#include "cost/cost.h"
#include "cost/transfer.h"
#include "runtime/plan/messages.h"
#include "tests/unit/clusters.h"
#include "tests/unit/specs.h"
#include "tests/unit/support.h"

#include <math.h>

/* ---- A simulation ---- */

/* What one device, or one node over its network, does in a hop; by direction. */
enum { SENDS, GETS };

typedef struct {
    int near_messages[2], far_messages[2];
    double near_bytes[2], far_bytes[2];
} Traffic;

static void add_message(Traffic *device, Traffic *node, int direction, bool is_near, double bytes)
{
    (is_near ? device->near_messages : device->far_messages)[direction] += 1;
    (is_near ? device->near_bytes : device->far_bytes)[direction] += bytes;
    if (!is_near)
        node->far_bytes[direction] += bytes;
}

static double traffic_s(const MwCluster *cluster, const Traffic *traffic, int direction)
{
    const MwLink *near = &cluster->node_link, *far = &cluster->network_link;
    double latency_s = traffic->near_messages[direction] * near->latency_s +
                       traffic->far_messages[direction] * far->latency_s;
    double near_s = traffic->near_bytes[direction] / mw_cost_link_share(near, 2, 1, 1);
    return latency_s + near_s;
}

/* A hop begins when the one before has ended. */
static double hop_s(const MwCluster *cluster, const MwMessage *messages, int count)
{
    Traffic devices[64] = {0}, nodes[8] = {0};
    int per_node = cluster->devices_per_node;
    bool is_far = false;
    for (int i = 0; i < count; i++) {
        int from = messages[i].from, to = messages[i].to;
        double bytes = (double)mw_box_elements(&messages[i].box) * 4;
        bool is_near = from / per_node == to / per_node;
        is_far |= !is_near;
        add_message(&devices[from], &nodes[from / per_node], SENDS, is_near, bytes);
        add_message(&devices[to], &nodes[to / per_node], GETS, is_near, bytes);
    }
    double longest_s = 0, rate = 0;
    if (is_far)
        rate = mw_cost_link_share(&cluster->network_link, 2, 1, 1);
    for (int direction = SENDS; direction <= GETS; direction++)
        for (int d = 0; d < cluster->nodes * per_node; d++) {
            double network_s = is_far ? nodes[d / per_node].far_bytes[direction] / rate : 0;
            longest_s = fmax(longest_s, traffic_s(cluster, &devices[d], direction) + network_s);
        }
    return longest_s + (is_far ? cluster->network_link.call_s : cluster->node_link.call_s);
}

static double simulated_s(const MwCluster *cluster, const MwMessages *messages)
{
    double total_s = 0;
    for (int first = 0, end; first < messages->count; first = end) {
        end = first;
        while (end < messages->count && messages->at[end].hop == messages->at[first].hop)
            end++;
        total_s += hop_s(cluster, messages->at + first, end - first);
    }
    return total_s;
}

typedef struct {
    const MwCluster *cluster;
    MwTensor tensor;
    double least_ratio, greatest_ratio; /* of the closed form to the simulation */
    double choice;                      /* greatest time of the way taken to the other's */
} Comparison;

static double simulated_way_s(MwArena *arena, const Comparison *c, const MwTensorPlacement *from,
                              const MwTensorPlacement *to, bool broadcast)
{
    MwTransfer t = {.global = c->tensor,
                    .from = {from->spec, from->mesh, from->first_device},
                    .to = {to->spec, to->mesh, to->first_device},
                    .broadcast = broadcast};
    MwMessages messages = mw_transfer_messages(arena, &t);
    return simulated_s(c->cluster, &messages);
}

static void compare(Comparison *c, const MwTensorPlacement *from, const MwTensorPlacement *to)
{
    MwArena *arena = mw_arena_new();
    MwTransferCost cost = mw_transfer_cost(c->cluster, &c->tensor, from, to);
    double taken_s = simulated_way_s(arena, c, from, to, cost.broadcast);
    double other_s = simulated_way_s(arena, c, from, to, !cost.broadcast);
    double ratio = (cost.crossing_s + cost.passing_s) / taken_s;
    c->least_ratio = fmin(c->least_ratio, ratio);
    c->greatest_ratio = fmax(c->greatest_ratio, ratio);
    c->choice = fmax(c->choice, taken_s / other_s);
    mw_arena_free(&arena);
}

static void compare_all(Comparison *c, const MwMeshShape *from_mesh, const MwMeshShape *to_mesh,
                        int to_device)
{
    MwArena *arena = mw_arena_new();
    Specs sends = complete_specs(arena, &c->tensor, from_mesh);
    Specs wants = complete_specs(arena, &c->tensor, to_mesh);
    for (int i = 0; i < sends.count; i++)
        for (int k = 0; k < wants.count; k++) {
            MwTensorPlacement from = {sends.at[i], *from_mesh, 0};
            MwTensorPlacement to = {wants.at[k], *to_mesh, to_device};
            compare(c, &from, &to);
        }
    mw_arena_free(&arena);
}

/* Where the first sub-mesh of `devices` from device `after` on is: within a node, or of whole
 * nodes; -1: nowhere. */
static int place_after(const MwCluster *cluster, int after, int devices)
{
    int per_node = cluster->devices_per_node;
    if (devices > per_node && devices % per_node != 0)
        return -1;
    if (after % per_node + devices > per_node)
        after = (int)mw_round_up(after, per_node);
    return after + devices <= per_node * cluster->nodes ? after : -1;
}

/* Over all pairs of meshes next to each other, and all specs. */
static Comparison compare_meshes(const MwCluster *cluster, const MwTensor *tensor,
                                 const MwMeshShape *meshes, int mesh_count)
{
    Comparison c = {.cluster = cluster, .tensor = *tensor, .least_ratio = INFINITY};
    for (int from = 0; from < mesh_count; from++)
        for (int to = 0; to < mesh_count; to++) {
            int senders = mw_mesh_devices(&meshes[from]);
            int to_device = place_after(cluster, senders, mw_mesh_devices(&meshes[to]));
            if (place_after(cluster, 0, senders) == 0 && to_device >= 0)
                compare_all(&c, &meshes[from], &meshes[to], to_device);
        }
    return c;
}

static void check_comparison(const Comparison *c, double least, double greatest, double choice)
{
    char text[MW_TENSOR_TEXT_BYTES];
    if (c->least_ratio < least || c->greatest_ratio > greatest || c->choice > choice)
        ck_abort_msg("%s on %d nodes of %d: %.2f to %.2f times the simulated; up to %.2f times the "
                     "other way",
                     mw_tensor_text(&c->tensor, text), c->cluster->nodes,
                     c->cluster->devices_per_node, c->least_ratio, c->greatest_ratio, c->choice);
}

/* Where everything divides the closed form is what the messages take. */
START_TEST(powers_of_two_are_exact)
{
    static const MwMeshShape meshes[] = {
        {1, {1}},    {1, {2}},    {1, {4}},    {1, {8}},
        {2, {2, 2}}, {2, {2, 4}}, {2, {4, 2}}, {3, {2, 2, 2}},
    };
    static const MwTensor tensors[] = {
        {MW_F32, 0, {0}},         {MW_F32, 1, {1 << 20}}, {MW_F32, 2, {16, 16}},
        {MW_F32, 2, {512, 4096}}, {MW_F32, 2, {1024, 1}}, {MW_F32, 3, {8, 512, 1024}},
    };
    const MwCluster clusters[] = {test_cluster(16), test_cluster_of_nodes(2, 8),
                                  test_cluster_of_nodes(4, 4), test_cluster_of_nodes(8, 2)};
    for (int t = 0; t < MW_COUNT(tensors); t += CASE_STRIDE) {
        Comparison c = compare_meshes(&clusters[_i], &tensors[t], meshes, MW_COUNT(meshes));
        check_comparison(&c, 0.99, 1.01, 1.06);
    }
}
END_TEST

/* Elsewhere it errs in how many messages one device has, which counts where tensors are small, and
 * on the safe side where mesh axes do not follow the nodes. */
START_TEST(other_sizes_are_near)
{
    static const MwMeshShape meshes[] = {
        {1, {2}}, {1, {3}}, {1, {6}}, {2, {2, 3}}, {2, {3, 4}}, {2, {2, 4}},
    };
    static const MwTensor tensors[] = {
        {MW_F32, 2, {3, 5}},
        {MW_F32, 2, {24, 36}},
        {MW_F32, 2, {999, 777}},
        {MW_F32, 2, {2400, 3600}},
    };
    static const double least[] = {0.4, 0.4, 0.8, 0.9}, greatest = 2;
    const MwCluster clusters[] = {test_cluster(24), test_cluster_of_nodes(6, 3),
                                  test_cluster_of_nodes(8, 4)};
    for (int t = 0; t < MW_COUNT(tensors); t++) {
        Comparison c = compare_meshes(&clusters[_i], &tensors[t], meshes, MW_COUNT(meshes));
        check_comparison(&c, least[t], greatest, 1.6);
    }
}
END_TEST

/* ---- By hand ---- */

static MwTensorPlacement place_of(const char *spec, const char *mesh, int first_device)
{
    MwTensorPlacement place = {.first_device = first_device};
    int rank;
    ck_assert(mw_spec_parse(spec, &place.spec, &rank) && mw_mesh_parse(mesh, &place.mesh));
    return place;
}

START_TEST(transfers_cost_what_the_formulas_say)
{
    /* Nodes of 4; 1 us a call and 1 us a message; 200 GB/s in a node, 5 GB/s between nodes. */
    static const struct {
        const char *from, *from_mesh, *to, *to_mesh;
        int64_t elements;
        int to_device;
        double crossing_s, passing_s;
        bool broadcast;
    } cases[] = {
        /* 100 MB a piece, at a quarter of the network each; within a node. */
        {"[S0]", "4", "[S0]", "4", 100000000, 4, 2e-6 + 80e-3, 0, false},
        {"[S0]", "2", "[S0]", "2", 100000000, 2, 2e-6 + 1e-3, 0, false},
        /* All on one: it takes four messages. */
        {"[S0]", "4", "[R]", "1", 100000000, 4, 5e-6 + 80e-3, 0, false},
        /* Quarters cross, then 1/4 and 1/2 pass on within the node. */
        {"[R]", "4", "[R]", "4", 100000000, 4, 2e-6 + 80e-3, 2 * 2e-6 + 0.75 * 2e-3, false},
        /* Two nodes: between them first, where an eighth of 4 devices at once crosses. */
        {"[R]", "4", "[R]", "8", 100000000, 4, 3e-6 + 80e-3, 2e-6 + 40e-3 + 4e-6 + 0.75 * 2e-3,
         false},
        /* Four messages take longer than one hop more of 4 KB. */
        {"[R]", "1", "[R]", "4", 1000, 4, 2e-6 + 0.8e-6, 2 * 2e-6 + 2 * 20e-9, true},
    };
    MwCluster cluster = test_cluster_of_nodes(4, 4);
    for (int i = 0; i < MW_COUNT(cases); i++) {
        MwTensor tensor = {MW_F32, 1, {cases[i].elements}};
        MwTensorPlacement from = place_of(cases[i].from, cases[i].from_mesh, 0);
        MwTensorPlacement to = place_of(cases[i].to, cases[i].to_mesh, cases[i].to_device);
        MwTransferCost cost = mw_transfer_cost(&cluster, &tensor, &from, &to);
        if (fabs(cost.crossing_s - cases[i].crossing_s) > 1e-9 * cases[i].crossing_s ||
            fabs(cost.passing_s - cases[i].passing_s) > 1e-9 * cases[i].passing_s ||
            cost.broadcast != cases[i].broadcast)
            ck_abort_msg("case %d: %g s and %g s", i, cost.crossing_s, cost.passing_s);
    }
}
END_TEST

START_TEST(more_bytes_never_cost_less)
{
    MwCluster cluster = test_cluster_of_nodes(4, 4);
    MwTensorPlacement from = place_of("[S0]", "2", 0), to = place_of("[R]", "2x4", 8);
    double before = 0;
    for (int64_t elements = 2; elements < (int64_t)1 << 32; elements *= 2) {
        MwTensor tensor = {MW_F32, 1, {elements}};
        MwTransferCost cost = mw_transfer_cost(&cluster, &tensor, &from, &to);
        ck_assert_double_ge(cost.crossing_s + cost.passing_s, before);
        before = cost.crossing_s + cost.passing_s;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transfer_cost");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 100);
    tcase_add_loop_test(tests, powers_of_two_are_exact, 0, 4);
    tcase_add_loop_test(tests, other_sizes_are_near, 0, 3);
    tcase_add_test(tests, transfers_cost_what_the_formulas_say);
    tcase_add_test(tests, more_bytes_never_cost_less);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
