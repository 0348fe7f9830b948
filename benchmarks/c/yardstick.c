/* The yardstick of a sweep: the random swap over the cells of one table, in plain C.

   Does the statistical work of `frontier sweep --all-specs` and nothing else: no plan, no keys, no study, no choice of
   measures.  Uses what is known to make it fast: cells in place of records, one draw for all rates and all splits of
   the attributes that must differ, departures counted once for all splits, tables of square roots and of x log x.
   Its random stream is its own, so its figures agree with the engine's in distribution and not one by one.

   yardstick TABLE space PAIRS,PAIRS,... SEED PART PARTS OUT     every spec of one part of the structures; OUT receives
                                                                 7 doubles for each candidate
   yardstick TABLE small PAIRS,PAIRS,... SEED REPLICATES ROUNDS  swaps of one and two attributes, each rate on its own;
                                                                 prints microseconds for each candidate

   TABLE is a text: attributes, cells, levels of each attribute, then for each cell its codes and its count.  PAIRS are
   the pairs wanted at each rate, in rising order.  The packed cells of the table have at most 20 bits. */

#include "release.h"

static void roles_of(int spec, char *roles) {
    for (int j = d - 1; j >= 0; j--, spec /= 4) roles[j] = spec % 4;
}

/* The structure of a spec, or -1 where it is impossible or the same release as an earlier one: without U attributes S
   and C trade places, and a single U without C must differ, so it is a C. */
static int structure_of(const char *roles) {
    int has[4] = {0, 0, 0, 0}, code = 0, first = 0;
    for (int j = 0; j < d; j++) {
        has[(int)roles[j]]++;
        code = 3 * code + (roles[j] == U ? 0 : roles[j] == F ? 1 : 2);
        if (!first && (roles[j] == S || roles[j] == C)) first = roles[j] == S ? 1 : -1;
    }
    if (!has[S] || !(has[C] || has[U])) return -1;
    if (!has[C] && has[U] == 1) return -1;
    if (!has[U] && first < 0) return -1;
    return 2 * code + (has[C] > 0);
}

static void space(uint64_t seed, int part, int parts, const char *path) {
    int n_specs = 1 << 2 * d, n_structures = 2, n_mine = 0, n_met = 0;
    for (int j = 0; j < d; j++) n_structures *= 3;
    int *structure = room(n_specs, sizeof *structure), *first = room(n_structures + 1, sizeof *first);
    int *member = room(n_specs, sizeof *member);
    char roles[MOST_ATTRIBUTES];
    for (int spec = 0; spec < n_specs; spec++) {
        roles_of(spec, roles);
        structure[spec] = structure_of(roles);
        if (structure[spec] >= 0) first[structure[spec] + 1]++;
    }
    for (int k = 0; k < n_structures; k++) first[k + 1] += first[k];
    for (int spec = 0; spec < n_specs; spec++)
        if (structure[spec] >= 0) member[first[structure[spec]]++] = spec;
    FILE *out = fopen(path, "wb");
    if (!out) refuse("cannot write the figures");
    double figures[MOST_RATES][4];
    int stops[MOST_RATES];
    for (int k = 0, at = 0; k < n_structures; at = first[k++]) { /* first[k] is by now the end of structure k */
        if (at == first[k] || n_met++ % parts != part) continue;
        n_mine++;
        roles_of(member[at], roles);
        prepare(roles);
        seed_stream(seed, k, 1);
        draw_stops(stops);
        for (; at < first[k]; at++) {
            roles_of(member[at], roles);
            arrive(stops, mask_of(roles, S), figures);
            for (int r = 0; r < n_rates; r++) {
                double row[7] = {member[at], r, 2.0 * stops[r]};
                memcpy(row + 3, figures[r], sizeof figures[r]);
                if (fwrite(row, sizeof row, 1, out) != 1) refuse("cannot write the figures");
            }
        }
        forget();
    }
    if (fclose(out)) refuse("cannot write the figures");
    printf("%d\n", n_mine);
}

/* Microseconds of processor time for each candidate of one swap, drawn, exchanged and measured on its own; what is
   prepared serves all replicates.  The least of some rounds; prints the mean small-cell risk too. */
static void time_one(const char *roles, uint64_t seed, int replicates, int rounds) {
    double least = INFINITY, risk = 0.0, figures[1][4];
    int stops[1];
    for (int round = 0; round < rounds; round++) {
        clock_t begin = clock();
        prepare(roles);
        for (int replicate = 1; replicate <= replicates; replicate++) {
            seed_stream(seed, mask_of(roles, S), (uint64_t)round * replicates + replicate);
            draw_stops(stops);
            arrive(stops, mask_of(roles, S), figures);
            forget();
            risk += figures[0][0] / ((double)replicates * rounds);
        }
        double spent = (double)(clock() - begin) / CLOCKS_PER_SEC;
        if (spent < least) least = spent;
    }
    for (int j = 0; j < d; j++) putchar("SFCU"[(int)roles[j]]);
    printf(" %d %.3f %.9f\n", wanted[0], 1e6 * least / replicates, risk);
}

static void small(uint64_t seed, int replicates, int rounds) {
    int all[MOST_RATES], n_all = n_rates;
    char roles[MOST_ATTRIBUTES];
    memcpy(all, wanted, sizeof all);
    n_rates = 1;
    for (int k = 0; k < n_all; k++) {
        wanted[0] = all[k];
        for (int i = 0; i < d; i++)
            for (int j = i; j < d; j++) {
                memset(roles, U, sizeof roles);
                roles[i] = roles[j] = S;
                time_one(roles, seed, replicates, rounds);
            }
    }
}

int main(int arguments, char **argument) {
    if (arguments < 7) refuse("usage: yardstick TABLE space|small PAIRS,... SEED ...");
    read_table(argument[1]);
    for (char *text = argument[3], *end; *text && n_rates < MOST_RATES; text = *end ? end + 1 : end)
        wanted[n_rates++] = strtol(text, &end, 10);
    uint64_t seed = strtoull(argument[4], NULL, 10);
    make_room();
    if (!strcmp(argument[2], "space") && arguments == 8)
        space(seed, atoi(argument[5]), atoi(argument[6]), argument[7]);
    else if (!strcmp(argument[2], "small"))
        small(seed, atoi(argument[5]), atoi(argument[6]));
    else
        refuse("usage: yardstick TABLE space|small PAIRS,... SEED ...");
    return 0;
}
