/* C += A B with pointers that walk: along a row of A, down a column of B, through C once.
 * sizes: n=6 m=8 p=7 */
void gemm(int n, int m, int p, const float *a, const float *b, float *c)
{
    const float *p_a, *p_b;
    float *p_c = c;
    int i, j, k;

    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++) {
            p_a = a + i * p;
            p_b = b + j;
            for (k = 0; k < p; k++) {
                *p_c += *p_a++ * *p_b; /*= gemm a b -> c: ik,kj->ij alpha=1 beta=1 */
                p_b += m;
            }
            p_c++;
        }
}
