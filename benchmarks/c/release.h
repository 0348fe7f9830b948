/* From pairs of cells to the four figures of each candidate: small-cell risk (cells of 1 and 2), Hellinger distance,
   total variation, entropy change. */

#include "swap.h"

typedef struct {
    double root, x_log_x;
} OfCount;

typedef struct {
    int32_t arrived, rank; /* records that came; its place among the cells that records left, or NO_RANK */
} Touched;

enum { NO_RANK = INT32_MAX };
static OfCount *of_count;
static Touched *touched;
static uint32_t *source, *fresh;
static int32_t *removed[MOST_RATES];
static int known[MOST_RATES], n_sources, at_risk_before;

typedef struct {
    int64_t at_risk, moved;
    double squares, entropy;
} Sums;

static inline void add(Sums *sums, int before, int after, int kept) {
    sums->at_risk += (after > 0 && after < 3 ? kept : 0) - (before < 3 ? before : 0);
    sums->moved += abs(after - before);
    double step = of_count[after].root - of_count[before].root;
    sums->squares += step * step;
    sums->entropy += of_count[before].x_log_x - of_count[after].x_log_x;
}

/* Departures, which no split changes: after stops[k] pairs removed[k][r] records have left the cell source[r]. */
static void leave(const int *stops) {
    n_sources = 0;
    for (int k = 0, i = 0; k < n_rates; k++) {
        if (k) memcpy(removed[k], removed[k - 1], n_sources * sizeof **removed);
        for (; i < 2 * stops[k]; i++) {
            Touched *t = &touched[pair_words[i]];
            if (t->rank == NO_RANK) {
                source[n_sources] = pair_words[i];
                removed[k][n_sources] = 0;
                t->rank = n_sources++;
            }
            removed[k][t->rank]++;
        }
        known[k] = n_sources;
    }
}

/* Arrivals of one split (`mask`: the bits of S), and its four figures at every rate. */
static void arrive(const int *stops, uint32_t mask, double figures[][4]) {
    int n_fresh = 0;
    for (int k = 0, i = 0; k < n_rates; k++) {
        for (; i < stops[k]; i++) {
            uint32_t a = pair_words[2 * i], b = pair_words[2 * i + 1], crossing = (a ^ b) & mask;
            fresh[n_fresh] = a ^ crossing;
            n_fresh += touched[a ^ crossing].arrived++ == 0;
            fresh[n_fresh] = b ^ crossing;
            n_fresh += touched[b ^ crossing].arrived++ == 0;
        }
        Sums sums = {0, 0, 0.0, 0.0};
        for (int r = 0; r < known[k]; r++) {
            int before = count_of[source[r]], kept = before - removed[k][r];
            add(&sums, before, kept + touched[source[r]].arrived, kept);
        }
        for (int f = 0; f < n_fresh; f++)
            if (touched[fresh[f]].rank >= known[k]) {
                int before = count_of[fresh[f]];
                add(&sums, before, before + touched[fresh[f]].arrived, before);
            }
        figures[k][0] = (double)(at_risk_before + sums.at_risk) / (n - 2 * stops[k]);
        figures[k][1] = sqrt(sums.squares / (2.0 * n));
        figures[k][2] = (double)sums.moved / (2.0 * n);
        figures[k][3] = sums.entropy / n;
    }
    for (int f = 0; f < n_fresh; f++) touched[fresh[f]].arrived = 0;
}

static void make_room(void) {
    size_t words = (size_t)1 << (bits_at[d - 1] + bits_of[d - 1]);
    if (m > UINT16_MAX) refuse("too many cells");
    of_count = room(n + 1, sizeof *of_count);
    for (int x = 1; x <= n; x++) of_count[x] = (OfCount){sqrt(x), x * log(x)};
    touched = room(words, sizeof *touched);
    for (size_t w = 0; w < words; w++) touched[w].rank = NO_RANK;
    source = room(words + 1, sizeof *source);
    fresh = room(words + 1, sizeof *fresh);
    for (int k = 0; k < n_rates; k++) removed[k] = room(words, sizeof **removed);
    pair_words = room(2 * (size_t)wanted[n_rates - 1] + 2, sizeof *pair_words);
    for (int i = 0; i < m; i++) at_risk_before += cell_count[i] < 3 ? cell_count[i] : 0;
}

static int draw_stops(int *stops) {
    int drawn = draw(wanted[n_rates - 1]);
    for (int k = 0; k < n_rates; k++) stops[k] = drawn < wanted[k] ? drawn : wanted[k];
    leave(stops);
    return drawn;
}

static void forget(void) {
    for (int r = 0; r < n_sources; r++) touched[source[r]].rank = NO_RANK;
}
