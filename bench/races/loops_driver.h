/* Runs one loop out of several libraries: compares each with the first, or times all of them in turns.
   Before it: turns.h. */

enum { BUFFERS = 8 };

/* What a buffer begins with, by the name of its parameter. */
enum fill { SIGNED, POSITIVE, ONES, SMALL, INDEX };

struct buffer {
    int size, kind; /* of an element: 'f' a float, 'i' a signed integer */
    enum fill fill;
    size_t count;
    unsigned char *now, *first;
};

struct call {
    int n, m, k, step, buffers;
    double x, y, result;
    struct buffer buffer[BUFFERS];
};

static uint64_t seed;

static uint64_t draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed >> 33;
}

static double value_of(const struct buffer *b, size_t i, size_t limit)
{
    const double unit = (double)draw() / 2147483648.0;
    const double scale = b->kind == 'f' ? 1.0 : 100.0;
    switch (b->fill) {
    case SIGNED: return (2 * unit - 1) * scale;
    case POSITIVE: return (0.5 + unit) * scale;
    case ONES: return 1 + (unit - 0.5) / 512;
    case SMALL: return (double)(draw() % 4);
    default: return (double)(limit ? (i * 7919) % limit : 0);
    }
}

static void put(unsigned char *to, const struct buffer *b, double value)
{
    if (b->kind == 'f') {
        const float f = (float)value;
        memcpy(to, b->size == 4 ? (const void *)&f : (const void *)&value, (size_t)b->size);
    } else {
        const int64_t i = (int64_t)value;
        memcpy(to, &i, (size_t)b->size);
    }
}

static double get(const unsigned char *from, const struct buffer *b)
{
    float f;
    double d;
    int64_t i = 0;
    if (b->kind == 'f') {
        memcpy(b->size == 4 ? (void *)&f : (void *)&d, from, (size_t)b->size);
        return b->size == 4 ? (double)f : d;
    }
    memcpy(&i, from, (size_t)b->size);
    return (double)(i << (64 - 8 * b->size) >> (64 - 8 * b->size));
}

static void fill_all(struct call *c, size_t count)
{
    seed = 1;
    for (int i = 0; i < c->buffers; i++) {
        struct buffer *b = &c->buffer[i];
        b->count = count;
        b->now = aligned_alloc(64, (count * (size_t)b->size + 63) / 64 * 64);
        b->first = malloc(count * (size_t)b->size);
        for (size_t j = 0; j < count; j++)
            put(b->first + j * (size_t)b->size, b, value_of(b, j, (size_t)c->n));
    }
}

static void reset(void *call)
{
    struct call *c = call;
    for (int i = 0; i < c->buffers; i++)
        memcpy(c->buffer[i].now, c->buffer[i].first, c->buffer[i].count * (size_t)c->buffer[i].size);
}

/* The largest difference, relative to the largest element of an array; exact: of one bit, a value above all others. */
static double compare(run *go, void *right, void *ours, struct call *c, int exact)
{
    double worst = 0;
    reset(c);
    go(right, c, 1);
    const double result = c->result;
    unsigned char *kept[BUFFERS];
    for (int i = 0; i < c->buffers; i++) {
        const size_t bytes = c->buffer[i].count * (size_t)c->buffer[i].size;
        kept[i] = memcpy(malloc(bytes), c->buffer[i].now, bytes);
    }
    reset(c);
    go(ours, c, 1);
    double scale = result < 0 ? -result : result, apart = result - c->result;
    if (scale < 1) scale = 1;
    worst = (apart < 0 ? -apart : apart) / scale;
    for (int i = 0; i < c->buffers; i++) {
        const struct buffer *b = &c->buffer[i];
        scale = 0;
        for (size_t j = 0; j < b->count; j++) {
            double a = get(kept[i] + j * (size_t)b->size, b);
            if (a < 0) a = -a;
            if (a > scale && a < 1e30) scale = a;
        }
        for (size_t j = 0; j < b->count; j++) {
            const unsigned char *p = kept[i] + j * (size_t)b->size, *q = b->now + j * (size_t)b->size;
            if (!memcmp(p, q, (size_t)b->size)) continue;
            double d = get(p, b) - get(q, b);
            d = exact || b->kind == 'i' || d != d ? 1e9 : (d < 0 ? -d : d) / scale;
            if (d > worst) worst = d;
        }
        free(kept[i]);
    }
    if (exact && result != c->result) worst = 1e9;
    return worst;
}

/* DRIVER check|exact|time SIZE ROUNDS LIBRARY...: a line for each library. */
static int drive(int count, char **argument, const char *name, run *go, struct call c, int planes)
{
    const int size = atoi(argument[2]), rounds = atoi(argument[3]), libraries = count - 4;
    void *function[LIBRARIES];
    if (!load_all(function, argument + 4, libraries, name)) return 1;
    const int timed = argument[1][0] == 't';
    static const int tried[] = { 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 100, 127, 129, 200, 515, 1001 };
    const int sizes = timed ? 1 : (int)(sizeof tried / sizeof *tried);
    double worst[LIBRARIES] = { 0 };
    for (int s = 0; s < sizes; s++) {
        c.n = timed ? size : tried[s];
        for (c.m = 0; (c.m + 1) * (c.m + 1) <= c.n; c.m++)
            ;
        if (!timed && planes) c.m = c.n < 130 ? c.n : 130;
        c.k = c.n / 2;
        c.step = 1;
        c.x = -0.5;
        c.y = 0.5;
        fill_all(&c, (size_t)(c.n > c.m * c.m ? c.n : c.m * c.m) + 64);
        if (!timed)
            for (int i = 1; i < libraries; i++) {
                const double d = compare(go, function[0], function[i], &c, argument[1][0] == 'e');
                if (d > worst[i]) worst[i] = d;
            }
    }
    if (!timed) {
        for (int i = 1; i < libraries; i++) printf("%.3g\n", worst[i]);
        return 0;
    }
    print_times(function, libraries, go, reset, &c, rounds, 64);
    return 0;
}
