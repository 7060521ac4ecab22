// taken: masked counted chosen picked either first_rows differences
/* What is read under a condition on data need not exist where it does not hold. */
#include <stddef.h>
#include <stdint.h>
uint32_t masked(const uint8_t *mask, const uint8_t *src, int n)
{
    uint32_t s = 0;
    for (int i = 0; i < n; i++)
        if (mask[i] > 7)
            s += src[i] * src[i];
    return s;
}
int counted(const int *kind, const double *value, int n)
{
    int c = 0;
    for (int i = 0; i < n; i++)
        c += kind[i] == 2 && value[i] > 0.5;
    return c;
}
void chosen(const int *m, const float *x, const float *y, float *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = m[i] ? x[i] : y[i];
}
void picked(const uint8_t *m, const uint8_t *x, uint8_t *out, int n)
{
    for (int i = 0; i < n; i++)
        if (m[i] > 100)
            out[i] = x[i];
        else
            out[i] = (uint8_t)(m[i] + 1);
}
double either(const short *w, const double *scale, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += w[i] < 0 ? *scale : w[i];
    return s;
}
void first_rows(const unsigned char *flags, const int *values, int *sums, int n, int m)
{
    for (int j = 0; j < m; j++) {
        int s = 0;
        for (int i = 0; i < n; i++)
            if (flags[i])
                s += values[j * n + i];
        sums[j] = s;
    }
}
uint64_t differences(const uint8_t *a, const uint8_t *b, const uint8_t *mask, size_t stride, size_t width, size_t height)
{
    uint64_t total = 0;
    for (size_t y = 0; y < height; y++) {
        uint32_t row = 0;
        for (size_t x = 0; x < width; x++)
            if (mask[x] > 3) {
                int d = a[x] - b[x];
                row += d < 0 ? -d : d;
            }
        total += row;
        a += stride, b += stride, mask += stride;
    }
    return total;
}

#ifdef MAIN
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
    enum { N = 1000 };
    static uint8_t mask[N], bytes[N], image[9 * 610], rows[9 * 610];
    static int kind[N], sums[N];
    static float y[N], out[N];
    static short w[N];
    void *nothing = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < N; i++) y[i] = (float)i, w[i] = (short)(i % 5);
    unsigned a = masked(mask, nothing, N);
    int b = counted(kind, nothing, N);
    chosen(kind, nothing, y, out, N);
    picked(mask, nothing, bytes, N);
    double c = either(w, nothing, N);
    first_rows(mask, nothing, sums, 100, 10);
    printf("%u %d %g %d %g %d\n", a, b, out[N - 1], bytes[N - 1], c, sums[9]);
    printf("%lu\n", (unsigned long)differences(nothing, nothing, image, 610, 601, 9));
    for (int i = 0; i < 9 * 610; i++) image[i] = (uint8_t)(i * i), rows[i] = (uint8_t)(i % 7);
    printf("%lu\n", (unsigned long)differences(image, rows, rows, 610, 601, 9));
    memset(mask, 200, N);
    for (int i = 0; i < N; i++) kind[i] = 1;
    chosen(kind, y, nothing, out, N);
    picked(mask, mask, bytes, N);
    printf("%u %g %d\n", masked(mask, mask, N), out[7], bytes[7]);
    return 0;
}
#endif
