/* Fills the matrices of a chain (the same numbers in every run), multiplies them, and prints a few sums of the result. */
#include <stdio.h>

#if CHAIN == 4
#include "chain4.h"
#elif CHAIN == 5
#include "chain5.h"
#else
#include "chain6.h"
#endif

static unsigned state = 5;

/* A number from -1 to 1. */
static double draw(void)
{
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / 8388608.0 - 1;
}

static void fill(int count, double *x)
{
    for (int t = 0; t < count; t++)
        x[t] = draw();
}

#define MATRIX(name, rows, columns) \
    static double name[rows][columns]; \
    fill(rows * columns, &name[0][0])

int main(void)
{
    MATRIX(A, N0, N1);
    MATRIX(B, N1, N2);
    MATRIX(C, N2, N3);
    MATRIX(D, N3, N4);
#if CHAIN == 4
    static double out[N0][N4];
    chain4(A, B, C, D, out);
    int columns = N4;
#elif CHAIN == 5
    MATRIX(E, N4, N5);
    static double out[N0][N5];
    chain5(A, B, C, D, E, out);
    int columns = N5;
#else
    MATRIX(E, N4, N5);
    MATRIX(F, N5, N6);
    static double out[N0][N6];
    chain6(A, B, C, D, E, F, out);
    int columns = N6;
#endif

    double whole = 0;
    for (int i = 0; i < N0; i++) {
        double sum = 0;
        for (int j = 0; j < columns; j++)
            sum += out[i][j];
        whole += sum;
        if (i % 100 == 0)
            printf("row %3d: %.3f\n", i, sum);
    }
    printf("sum: %.3f\n", whole);
    return 0;
}
