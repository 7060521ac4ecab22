// taken: doubled weights offsets pairs
/* Bounds that sizeof gives: of arrays, structures and members. */
#include <stdio.h>
struct point { float x, y; };
struct path { char kind; struct point at[3]; double length; };
static const int table[] = {3, 1, 4, 1, 5};

void doubled(float *y)
{
    float x[12];
    for (unsigned k = 0; k < sizeof(x) / sizeof(x[0]); k++)
        x[k] = y[k] + k;
    for (int k = 0; k < (int)(sizeof x / sizeof *x); k++)
        y[k] = x[k] * 2;
}

void weights(int *out)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
        out[i] += table[i];
}

void offsets(int n, long *out)
{
    for (int i = 0; i < n; i++)
        out[i] = (long)(i * sizeof(struct path));
}

void third(struct path *p, int *out)
{
    for (unsigned i = 0; i < sizeof(p->at) / sizeof(p->at[0]); i++)
        out[i] += 3;
}

/* Lists whose parts are no elements: how many there are is for a compiler to say. */
static const char letters[] = {"abcdefgh"};
static const int cells[][2] = {1, 2, 3, 4, 5, 6};
static const int late[] = {[6] = 7, 8};
static const int rows[][2] = {{1, 2}, {3, 4}, {5, 6}};

void texts(int *out)
{
    for (int i = 0; i < (int)sizeof(letters); i++)
        out[i] += letters[i];
}

void flat(int *out)
{
    for (int i = 0; i < (int)(sizeof(cells) / sizeof(cells[0])); i++)
        out[i] += cells[i][1];
}

void named(int *out)
{
    for (int i = 0; i < (int)(sizeof(late) / sizeof(late[0])); i++)
        out[i] += late[i];
}

void read_listed(int n, int *restrict out)
{
    for (int i = 0; i < n; i++)
        out[i] += letters[i] + cells[i / 4][1] + late[i] + rows[i / 4][0];
}

void pairs(int *out)
{
    for (int i = 0; i < 3; i++)
        out[i] += rows[i][0] - rows[i][1];
}

#ifdef MAIN
int main(void)
{
    float y[12];
    int out[8] = {0};
    long where[20];
    struct path p;
    for (int i = 0; i < 12; i++)
        y[i] = i * 0.25f;
    doubled(y);
    weights(out);
    offsets(20, where);
    third(&p, out);
    int more[9] = {0};
    texts(more);
    flat(more);
    named(more);
    read_listed(8, more);
    pairs(more);
    for (int i = 0; i < 9; i++)
        printf("%d ", more[i]);
    printf("%g %g %d %d %d %d %ld\n", y[0], y[11], out[0], out[2], out[3], out[4], where[19]);
}
#endif
