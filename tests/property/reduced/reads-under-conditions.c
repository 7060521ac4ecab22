#include <stdint.h>
#include <stdio.h>

/* Arrays that are there only for iterations that read them. */

int sum_with(int n, const int *x, const int *weight, int weighted)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += weighted ? x[i] * weight[i] : x[i];
    return s;
}

int sum_where(int n, const int *x, const int *weight, const uint8_t *use)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        if (use[i])
            s += x[i] * weight[i];
    return s;
}

void scale_rows(int n, int m, int *x, const int *scale)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            x[i * m + j] = x[i * m + j] > 1000 ? x[i * m + j] * scale[j] : x[i * m + j] + 1;
}

void add_some(int n, uint16_t *restrict y, const uint16_t *restrict x, int skips)
{
    for (int i = 0; i < n; i++) {
        if (skips && x[i] > 0)
            continue;
        y[i] += x[i];
    }
}

int main(void)
{
    static int x[300];
    static uint8_t use[300];
    for (int i = 0; i < 300; i++)
        x[i] = i * 37 % 101;
    for (int n = 0; n < 300; n = 2 * n + 5) {
        printf("i sum_with %d\n", sum_with(n, x, 0, 0));
        printf("i sum_where %d\n", sum_where(n, x, 0, use));
        scale_rows(n / 20, 20, x, 0);
        static uint16_t y[300], z[300];
        z[n] = 9;
        add_some(n, y, z, n & 1);
        add_some(n, y, z, 0);
        printf("i add_some %d\n", y[5] + y[35]);
        printf("i scale_rows %d\n", x[n]);
    }
    return 0;
}
