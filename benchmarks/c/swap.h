/* Pairs of cells: a structure prepared once, and drawn for each replicate (Gomatam, Karr and Sanil 2005, Appendix A).
   Position p of the available records is in cell cell_at[p], and available while below that cell's limit. */

#include "table.h"

/* ---- preparing a structure: cells by stratum (equal on F), inside it by class (equal on S and C) ---- */

typedef struct {
    int32_t start, limit; /* positions of its records; those before limit are available */
    uint32_t word;        /* the packed cell */
    int32_t of_class;
} Cell;

typedef struct {
    int32_t first_cell, first_class, last_class; /* classes of its stratum */
    int32_t runs, n_runs, numbering, total;      /* where its runs are kept (-1: not yet), with reach for a numbering */
    uint64_t spread;                             /* its S and C codes, each in a group of bits with a guard above */
} Class;

typedef struct {
    int32_t first, last, reach, offset; /* cells; positions up to here, and what makes such a number a position */
} Run;

static Cell *cell;
static Class *class_;
static int n_classes;
static Run *run;
static int n_runs_kept, room_for_runs;
static uint16_t *cell_at, *first_cell_at; /* by position: its cell (now, and as first numbered) */
static int32_t *first_start;
static uint64_t lows, guards;             /* of the groups in Class.spread */
static uint32_t free_mask;                /* what a pair must differ on besides S and C; else all bits */

static void sort_by(uint64_t *key, int32_t *order, uint64_t keys) {
    static uint64_t *other_key;
    static int32_t *other;
    static int32_t at[1 << DIGIT];
    if (!other) other = room(m, sizeof *other), other_key = room(m, sizeof *other_key);
    for (int i = 0; i < m; i++) order[i] = i;
    for (int shift = 0; shift < 64 && (keys - 1) >> shift; shift += DIGIT) {
        memset(at, 0, sizeof at);
        for (int i = 0; i < m; i++) at[key[i] >> shift & ((1 << DIGIT) - 1)]++;
        for (int v = 0, sum = 0; v < 1 << DIGIT; v++) sum += at[v], at[v] = sum - at[v];
        for (int i = 0; i < m; i++) {
            int to = at[key[i] >> shift & ((1 << DIGIT) - 1)]++;
            other[to] = order[i];
            other_key[to] = key[i];
        }
        memcpy(order, other, m * sizeof *order);
        memcpy(key, other_key, m * sizeof *key);
    }
}

static void prepare(const char *roles) {
    static uint64_t *key;
    static int32_t *order;
    if (!key) {
        key = room(m, sizeof *key), order = room(m, sizeof *order);
        cell = room(m + 1, sizeof *cell), class_ = room(m + 1, sizeof *class_);
        first_start = room(m + 1, sizeof *first_start);
        cell_at = room(n, sizeof *cell_at), first_cell_at = room(n, sizeof *first_cell_at);
        room_for_runs = 1 << 16;
        run = room(room_for_runs, sizeof *run);
    }
    /* fewest levels first, so that the classes a record may meet lie in few runs */
    int attribute[MOST_ATTRIBUTES], n_fixed = 0, n_sorted = 0, constrained = 0;
    for (int j = 0; j < d; j++)
        if (roles[j] == F) attribute[n_sorted++] = j;
    n_fixed = n_sorted;
    for (int j = 0; j < d; j++)
        if (roles[j] == S || roles[j] == C) {
            int at = n_sorted++;
            while (at > n_fixed && shape[attribute[at - 1]] > shape[j]) attribute[at] = attribute[at - 1], at--;
            attribute[at] = j;
            constrained |= roles[j] == C;
        }
    uint64_t keys = 1, classes = 1;
    memset(key, 0, m * sizeof *key);
    for (int a = 0; a < n_sorted; a++) {
        const int32_t *code = codes[attribute[a]];
        const uint32_t levels = shape[attribute[a]];
        for (int i = 0; i < m; i++) key[i] = key[i] * levels + code[i];
        keys *= levels;
        if (a >= n_fixed) classes *= levels;
    }
    sort_by(key, order, keys);
    free_mask = constrained ? ~0u : mask_of(roles, U);

    lows = guards = 0;
    int at_bit[MOST_ATTRIBUTES], bit = 0;
    for (int a = n_fixed; a < n_sorted; a++) {
        int bits = bits_of[attribute[a]];
        at_bit[a] = bit;
        lows |= ((1ull << bits) - 1) << bit;
        guards |= 1ull << (bit + bits);
        bit += bits + 1;
    }
    uint64_t last_key = ~0ull, stratum_end = 0;
    int stratum_first = 0, position = 0;
    n_classes = 0;
    for (int i = 0; i < m; i++) {
        int c = order[i];
        if (key[i] != last_key) {
            if (key[i] >= stratum_end) {
                for (int k = stratum_first; k < n_classes; k++) class_[k].last_class = n_classes;
                stratum_first = n_classes;
                stratum_end = (key[i] / classes + 1) * classes;
            }
            Class *k = &class_[n_classes++];
            *k = (Class){.first_cell = i, .first_class = stratum_first, .runs = -1, .numbering = -1};
            for (int a = n_fixed; a < n_sorted; a++) k->spread |= (uint64_t)codes[attribute[a]][c] << at_bit[a];
            last_key = key[i];
        }
        cell[i] = (Cell){.word = packed[c], .of_class = n_classes - 1};
        first_start[i] = position;
        for (int end = position + cell_count[c]; position < end; position++) first_cell_at[position] = i;
    }
    first_start[m] = position;
    for (int k = stratum_first; k < n_classes; k++) class_[k].last_class = n_classes;
    class_[n_classes].first_cell = m;
    n_runs_kept = 0;
}

/* ---- drawing pairs ---- */

static int numbering, last_numbering; /* of positions: 0 is the first of every replicate, later ones are told apart */
static uint32_t *pair_words;          /* two packed cells for each pair */

static void find_runs(Class *k) {
    k->runs = n_runs_kept;
    int open = 0;
    for (int other = k->first_class; other < k->last_class; other++) {
        int differs = ((((class_[other].spread ^ k->spread) + lows) & guards) == guards);
        if (differs && !open) {
            if (n_runs_kept == room_for_runs) run = realloc(run, (room_for_runs *= 2) * sizeof *run);
            if (!run) refuse("no memory");
            run[n_runs_kept].first = class_[other].first_cell;
        }
        if (open && !differs) run[n_runs_kept++].last = class_[other].first_cell;
        open = differs;
    }
    if (open) run[n_runs_kept++].last = class_[k->last_class].first_cell;
    k->n_runs = n_runs_kept - k->runs;
    k->numbering = -1;
}

static void measure_runs(Class *k) {
    int total = 0;
    for (Run *r = run + k->runs; r < run + k->runs + k->n_runs; r++) {
        r->offset = cell[r->first].start - total;
        total += cell[r->last].start - cell[r->first].start;
        r->reach = total;
    }
    k->total = total;
    k->numbering = numbering;
}

static inline const Run *run_at(const Class *k, int number) {
    const Run *low = run + k->runs;
    for (int left = k->n_runs; left > 1;) {
        int half = left >> 1;
        low += low[half - 1].reach <= number ? half : 0;
        left -= half;
    }
    return low;
}

/* The partner by counting all: the cell of one of the feasible records, or -1; says how many differ on S and C. */
static int counted_partner(const Class *k, uint32_t word, int *differing) {
    int feasible = 0;
    *differing = 0;
    for (const Run *r = run + k->runs; r < run + k->runs + k->n_runs; r++)
        for (int i = r->first; i < r->last; i++) {
            int available = cell[i].limit - cell[i].start;
            *differing += available;
            if ((cell[i].word ^ word) & free_mask) feasible += available;
        }
    if (!feasible) return -1;
    int number = below(feasible);
    for (const Run *r = run + k->runs;; r++)
        for (int i = r->first; i < r->last; i++)
            if ((cell[i].word ^ word) & free_mask) {
                number -= cell[i].limit - cell[i].start;
                if (number < 0) return i;
            }
}

/* The second cell of a pair, or -1: uniform over the runs until it is available and differs where it must; after some
   tries the same by counting, which says for good that there is nobody, since the pool only shrinks. */
static int partner(int a, const uint16_t *at, int *wasted, int *available) {
    Class *k = &class_[cell[a].of_class];
    uint32_t word = cell[a].word;
    if (k->runs < 0) find_runs(k);
    if (k->numbering != numbering) measure_runs(k);
    for (int tries = 0; k->total > 0 && tries < RETRIES; tries++) {
        int number = below(k->total), position = number + run_at(k, number)->offset, b = at[position];
        if (position >= cell[b].limit)
            ++*wasted;
        else if ((cell[b].word ^ word) & free_mask)
            return b;
    }
    int differing, b = counted_partner(k, word, &differing);
    if (b < 0) { /* nobody for this cell, or for its whole class */
        int first = differing ? a : k->first_cell, last = differing ? a + 1 : k[1].first_cell;
        for (int i = first; i < last; i++) *available -= cell[i].limit - cell[i].start, cell[i].limit = cell[i].start;
    }
    return b;
}

/* Number the available records anew; returns how many there are. */
static int number_anew(void) {
    int positions = 0;
    for (int i = 0; i < m; i++) {
        int left = cell[i].limit - cell[i].start;
        cell[i].start = positions;
        for (int end = positions + left; positions < end; positions++) cell_at[positions] = i;
        cell[i].limit = positions;
    }
    return cell[m].start = positions;
}

/* Draw up to so many pairs; returns how many there were. */
static int draw(int n_wanted) {
    int positions = n, available = n, wasted = 0, n_pairs = 0;
    const uint16_t *at = first_cell_at;
    for (int i = 0; i < m; i++) cell[i].start = first_start[i], cell[i].limit = first_start[i + 1];
    cell[m].start = n;
    numbering = 0;
    while (n_pairs < n_wanted && available > 0) {
        int position = below(positions), a = at[position], b;
        if (position >= cell[a].limit)
            wasted++;
        else if ((b = partner(a, at, &wasted, &available)) >= 0) {
            pair_words[2 * n_pairs] = cell[a].word;
            pair_words[2 * n_pairs++ + 1] = cell[b].word;
            cell[a].limit--;
            cell[b].limit--;
            available -= 2;
        }
        if (wasted >= m) { /* wasted draws have cost as much as numbering anew */
            positions = number_anew();
            at = cell_at;
            numbering = ++last_numbering;
            wasted = 0;
        }
    }
    return n_pairs;
}
