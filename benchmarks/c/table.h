/* The table, its packed cells, and random numbers. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ATTRIBUTES = 12, MOST_RATES = 8, MOST_BITS = 20, RETRIES = 64, DIGIT = 12 };
enum { S, F, C, U }; /* roles, in the order in which the engine enumerates them */

static int d, m, n, n_rates;
static int shape[MOST_ATTRIBUTES], bits_at[MOST_ATTRIBUTES], bits_of[MOST_ATTRIBUTES];
static int32_t *codes[MOST_ATTRIBUTES]; /* by attribute: the code of each cell */
static int32_t *cell_count, *count_of;  /* by cell, and by packed word */
static uint32_t *packed;                /* by cell */
static int wanted[MOST_RATES];

static void *room(size_t items, size_t size) {
    void *block = calloc(items ? items : 1, size);
    if (!block) {
        fputs("yardstick: no memory\n", stderr);
        exit(1);
    }
    return block;
}

static void refuse(const char *why) {
    fprintf(stderr, "yardstick: %s\n", why);
    exit(1);
}

static void read_table(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%d %d", &d, &m) != 2) refuse("cannot read the table");
    if (d < 2 || d > MOST_ATTRIBUTES || m < 1) refuse("too few or too many attributes or cells");
    int bits = 0;
    for (int j = 0; j < d; j++) {
        if (fscanf(file, "%d", &shape[j]) != 1) refuse("cannot read the levels");
        bits_at[j] = bits;
        while ((1 << bits_of[j]) < shape[j]) bits_of[j]++;
        bits += bits_of[j];
        codes[j] = room(m, sizeof(int32_t));
    }
    if (bits > MOST_BITS) refuse("too many combinations of levels");
    cell_count = room(m, sizeof(int32_t));
    packed = room(m, sizeof(uint32_t));
    count_of = room((size_t)1 << bits, sizeof(int32_t));
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < d; j++) {
            if (fscanf(file, "%d", &codes[j][i]) != 1) refuse("cannot read a cell");
            packed[i] |= (uint32_t)codes[j][i] << bits_at[j];
        }
        if (fscanf(file, "%d", &cell_count[i]) != 1) refuse("cannot read a count");
        count_of[packed[i]] = cell_count[i];
        n += cell_count[i];
    }
    fclose(file);
}

static uint32_t mask_of(const char *roles, int role) {
    uint32_t mask = 0;
    for (int j = 0; j < d; j++)
        if (roles[j] == role) mask |= ((1u << bits_of[j]) - 1) << bits_at[j];
    return mask;
}

/* Random numbers: xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64, bounded without bias (Lemire 2019). */

static uint64_t state[4];

static void seed_stream(uint64_t seed, uint64_t structure, uint64_t replicate) {
    uint64_t x = seed * 0x9E3779B97F4A7C15u + structure * 0xD1B54A32D192ED03u + replicate * 0xABC98388FB8FAC03u;
    for (int i = 0; i < 4; i++) {
        uint64_t z = (x += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        state[i] = z ^ (z >> 31);
    }
}

static inline uint64_t next_word(void) {
    uint64_t x = state[1] * 5, result = ((x << 7) | (x >> 57)) * 9, t = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= t;
    state[3] = (state[3] << 45) | (state[3] >> 19);
    return result;
}

static inline uint32_t below(uint32_t bound) {
    uint64_t product = (next_word() >> 32) * bound;
    if ((uint32_t)product < bound) {
        uint32_t threshold = -bound % bound;
        while ((uint32_t)product < threshold) product = (next_word() >> 32) * bound;
    }
    return product >> 32;
}
