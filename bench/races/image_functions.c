/* Races functions over images: what each leaves is compared with what the first one does, then all are timed in turns.
 *
 * Compiled with `-include contestants.h`, which has the functions' declarations and FUNCTIONS(F), a list of
 * F(function, label, call). Arguments: width, height, rounds, bytes
 * from a multiple of 64 to where images begin. Prints a line `FUNCTION LABEL NANOSECONDS` a contestant, the
 * median time of a pixel, or `FUNCTION LABEL differs`.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { IMAGES = 4, MOST_BYTES = 4, ROUNDS = 999, MOST_CONTESTANTS = 8, MARGIN = 64, LINE = 64 };
/* Pixels of a row, rows, bytes from row to row of pixels of up to MOST_BYTES, and of planes. */
static int W, H, S, P;
static size_t room;
static uint8_t *in[IMAGES], *out[IMAGES], *start[IMAGES], *expected[IMAGES];
static int32_t *places;
static uint32_t bins[256], expected_bins[256];
static uint64_t result, expected_result;

#define DEFINE(function, label, call) static void run_##label##_##function(void) { call; }
FUNCTIONS(DEFINE)
#define ENTRY(function, label, call) {#function, #label, run_##label##_##function},
static const struct { const char *function, *label; void (*run)(void); } contestants[] = {FUNCTIONS(ENTRY)};
enum { COUNT = sizeof contestants / sizeof *contestants };

static uint8_t *image(size_t offset)
{
    uint8_t *made = aligned_alloc(LINE, (room + 2 * LINE) / LINE * LINE);
    if (!made)
        exit(2);
    return made + offset;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * t.tv_sec + t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void restart(void)
{
    for (int i = 0; i < IMAGES; i++)
        memcpy(out[i], start[i], room);
    memset(bins, 0, sizeof bins);
    result = 0;
}

static int differs(int first)
{
    int found = 0;
    for (int i = 0; i < IMAGES; i++) {
        if (first)
            memcpy(expected[i], out[i], room);
        found |= memcmp(expected[i], out[i], room) != 0;
    }
    if (first) {
        memcpy(expected_bins, bins, sizeof bins);
        expected_result = result;
    }
    return found | memcmp(expected_bins, bins, sizeof bins) | (expected_result != result);
}

int main(int argc, char **argv)
{
    static double times[MOST_CONTESTANTS][ROUNDS];
    uint32_t seed = 12345;
    W = atoi(argv[1]), H = atoi(argv[2]);
    int rounds = argc > 3 ? atoi(argv[3]) : 41, offset = argc > 4 ? atoi(argv[4]) % LINE : 0, wrong = 0;
    S = MOST_BYTES * W + MARGIN, P = W + MARGIN;
    room = (size_t)S * (H + 2);
    for (int i = 0; i < IMAGES; i++) {
        in[i] = image(offset), out[i] = image(offset), start[i] = image(0), expected[i] = image(0);
        for (size_t at = 0; at < room; at++) {
            seed = 1664525 * seed + 1013904223;
            in[i][at] = seed >> 24;
            start[i][at] = seed >> 16;
        }
    }
    places = malloc(W * sizeof *places);
    for (int x = 0; x < W; x++)
        places[x] = (int)(x * 0.73);
    for (int first = 0, end; first < COUNT; first = end) {
        for (end = first; end < COUNT && !strcmp(contestants[end].function, contestants[first].function); end++) {
            restart();
            contestants[end].run();
            if (differs(end == first)) {
                printf("%s %s differs\n", contestants[end].function, contestants[end].label);
                wrong = 1;
            }
        }
        for (int round = 0; round < rounds; round++)
            for (int at = first; at < end; at++) {
                double began = now();
                contestants[at].run();
                times[at - first][round] = now() - began;
            }
        for (int at = first; at < end; at++) {
            qsort(times[at - first], rounds, sizeof **times, ascending);
            printf("%s %s %.4f\n", contestants[at].function, contestants[at].label, times[at - first][rounds / 2] / W / H);
        }
    }
    return wrong;
}
