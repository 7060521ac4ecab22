/* y += alpha * x, n contiguous elements. */
void axpy(float alpha, const float *restrict x, float *restrict y, int n)
{
    int i;

    for (i = 0; i < n; i++)
        y[i] += alpha * x[i];
}

/* The same with elements incx and incy apart (both positive). */
void axpy_strided(float alpha, const float *x, int incx,
                  float *y, int incy, int n)
{
    int ix = 0, iy = 0;

    for (; n > 0; n--) {
        y[iy] += alpha * x[ix];
        ix += incx;
        iy += incy;
    }
}
