/* Column-major C = A B + C as Fortran programs have it, in C with the subscripts turned.
 * sizes: m=6 n=8 k=7 */
#define MAXDIM 16

void gemm(int m, int n, int k, double c[MAXDIM][MAXDIM], double a[MAXDIM][MAXDIM], double b[MAXDIM][MAXDIM])
{
    int i, j, l;
    double temp;

    for (j = 0; j < n; j++)
        for (l = 0; l < k; l++) {
            temp = b[j][l];
            for (i = 0; i < m; i++)
                c[j][i] += temp * a[l][i]; /*= gemm b a -> c: ik,kj->ij alpha=1 beta=1 */
        }
}
