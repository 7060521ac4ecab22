// taken: scale threshold rows counted
/* What is asserted is still checked, and calls for which it does not hold run what is written. */
#include <assert.h>
#include <stdint.h>
#define SURE(x) do { if (!(x)) __builtin_unreachable(); } while (0)
int scale(int n, int gain, const uint8_t *restrict x, uint8_t *restrict y)
{
    if (gain < 0 || gain > 255)
        return -1;
    SURE(n < 100000);
    for (int i = 0; i < n; i++)
        y[i] = (x[i] * gain + 127) >> 8;
    return n;
}
int threshold(int n, unsigned t, const uint8_t *restrict x, uint8_t *restrict y)
{
    if (!x || n <= 0) return 1;
    if (t > 255u) return 2;
    for (int i = 0; i < n; i++)
        y[i] = x[i] > t ? 255 : 0;
    return 0;
}
void rows(int n, int pitch, const float *restrict a, float *restrict s)
{
    assert(pitch >= n);
    for (int i = 0; i < n; i++) {
        float t = 0;
        for (int j = 0; j < n; j++)
            t += a[i * pitch + j];
        s[i] = t;
    }
}
/* What a promise to the compiler counts is counted. */
void counted(int n, int k, const int *restrict x, int *restrict y)
{
    for (int i = 0; i < n; i++) {
        if (k++ > 99) __builtin_unreachable();
        y[i] = x[i] * k;
    }
}
/* Stays: what it says is about each element. */
int checked(int n, const int *restrict x, int *restrict y)
{
    for (int i = 0; i < n; i++) {
        assert(x[i] != 13);
        y[i] = x[i] * 3;
    }
    return 0;
}

#ifdef MAIN
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
static jmp_buf back;
static void failed(int sign) { (void)sign; signal(SIGABRT, failed); longjmp(back, 1); }
static uint8_t x[300], y[300];
static float a[40 * 40], s[40];
static int in[50], out[50];
int main(void)
{
    unsigned h = 0;
    for (int i = 0; i < 300; i++) x[i] = (uint8_t)(i * 29);
    for (int i = 0; i < 1600; i++) a[i] = (float)(i % 7);
    for (int i = 0; i < 50; i++) in[i] = i - 20;
    for (int g = -1; g < 300; g += 43) { h = h * 31 + (unsigned)scale(290, g, x, y); for (int i = 0; i < 300; i++) h = h * 31 + y[i]; }
    for (unsigned t = 0; t < 400; t += 50) { h = h * 31 + (unsigned)threshold(300 - (int)t, t, x, y); for (int i = 0; i < 300; i++) h = h * 31 + y[i]; }
    rows(40, 40, a, s); rows(30, 41, a, s);
    for (int i = 0; i < 40; i++) h = h * 31 + (unsigned)s[i];
    fclose(stderr); signal(SIGABRT, failed);
    if (setjmp(back) == 0) { rows(20, 10, a, s); h++; } else printf("rows stopped\n");
    if (setjmp(back) == 0) { checked(50, in, out); h++; } else printf("checked stopped\n");
    for (int i = 0; i < 50; i++) h = h * 31 + (unsigned)out[i];
    counted(50, 49, in, out); counted(3, -2, in, out);
    for (int i = 0; i < 50; i++) h = h * 31 + (unsigned)out[i];
    printf("%u\n", h);
    return 0;
}
#endif
