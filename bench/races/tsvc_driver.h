/* Runs one loop of TSVC out of several libraries: compares each with the first, or times all of them in turns.
   Before it: the source's arrays and turns.h. */

struct place { void *now; size_t bytes; unsigned char *first, *right; };

static struct place places[] = {
    { a, sizeof a, 0, 0 }, { b, sizeof b, 0, 0 }, { c, sizeof c, 0, 0 }, { d, sizeof d, 0, 0 }, { e, sizeof e, 0, 0 },
    { x, sizeof x, 0, 0 }, { aa, sizeof aa, 0, 0 }, { bb, sizeof bb, 0, 0 }, { cc, sizeof cc, 0, 0 },
    { tt, sizeof tt, 0, 0 }, { flat_2d_array, sizeof flat_2d_array, 0, 0 }, { indx, sizeof indx, 0, 0 },
};
enum { PLACES = sizeof places / sizeof *places, REALS = PLACES - 1 };

static void keep(void)
{
    for (int i = 0; i < PLACES; i++) {
        if (!places[i].first) {
            places[i].first = malloc(places[i].bytes);
            places[i].right = malloc(places[i].bytes);
        }
        memcpy(places[i].first, places[i].now, places[i].bytes);
    }
}

static void reset(void *data)
{
    (void)data;
    for (int i = 0; i < PLACES; i++) memcpy(places[i].now, places[i].first, places[i].bytes);
}

/* Both signs, all magnitudes near 1: conditions hold here and there. */
static void draw(uint64_t seed)
{
    for (int i = 0; i < REALS; i++)
        for (size_t j = 0; j < places[i].bytes / sizeof(real_t); j++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            ((real_t *)places[i].now)[j] = (real_t)((double)(seed >> 33) / 1073741824.0 - 1.0);
        }
}

static double distance(double right, double ours, double scale)
{
    if (right == ours || (right != right && ours != ours)) return 0;
    const double far = right > ours ? right - ours : ours - right;
    return far == far ? far / scale : 1e9;
}

/* The largest difference, relative to the largest finite element of its array. */
static double compare(run *go, void *right, void *ours)
{
    double expected = 0, result = 0, worst;
    reset(NULL);
    go(right, &expected, 1);
    for (int i = 0; i < PLACES; i++) memcpy(places[i].right, places[i].now, places[i].bytes);
    reset(NULL);
    go(ours, &result, 1);
    worst = distance(expected, result, expected > 1 ? expected : expected < -1 ? -expected : 1);
    for (int i = 0; i < REALS; i++) {
        const real_t *p = (const real_t *)places[i].right, *q = places[i].now;
        const size_t count = places[i].bytes / sizeof(real_t);
        double scale = 1e-30;
        for (size_t j = 0; j < count; j++) {
            const double size = p[j] < 0 ? -p[j] : p[j];
            if (size > scale && size < 1e30) scale = size;
        }
        for (size_t j = 0; j < count; j++) {
            const double far = distance(p[j], q[j], scale);
            if (far > worst) worst = far;
        }
    }
    return memcmp(places[REALS].right, indx, sizeof indx) ? 1e9 : worst;
}

/* DRIVER check RANDOM|time ROUNDS LIBRARY...: a line for each library (check: for each but the first). */
static int drive(int count, char **argument, const char *name, run *go, void (*begin)(void))
{
    const int rounds = atoi(argument[2]), libraries = count - 3;
    void *function[LIBRARIES];
    double worst[LIBRARIES] = { 0 };
    if (!load_all(function, argument + 3, libraries, name)) return 1;
    if (argument[1][0] == 'c') {
        for (int data = 0; data <= rounds; data++) {
            begin();
            if (data) draw((uint64_t)data);
            keep();
            for (int i = 1; i < libraries; i++) {
                const double far = compare(go, function[0], function[i]);
                if (far > worst[i]) worst[i] = far;
            }
        }
        for (int i = 1; i < libraries; i++) printf("%.3g\n", worst[i]);
        return 0;
    }
    double result;
    begin();
    keep();
    print_times(function, libraries, go, reset, &result, rounds, 1024);
    return 0;
}
