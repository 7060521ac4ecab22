/* C[a,b,c] += A[b,d,a] B[d,c], summed over d.
 * sizes: na=4 nb=5 nc=6 nd=4
 * defines: NA=5 NB=6 NC=7 ND=5 */
#ifndef NA
#define NA 160
#define NB 160
#define NC 160
#define ND 160
#endif

void contract_abc_bda_dc(int na, int nb, int nc, int nd, double C[NA][NB][NC], double A[NB][ND][NA], double B[ND][NC])
{
    int a, b, c, d;

    for (a = 0; a < na; a++)
        for (b = 0; b < nb; b++)
            for (c = 0; c < nc; c++)
                for (d = 0; d < nd; d++)
                    C[a][b][c] += A[b][d][a] * B[d][c]; /*= contraction A B -> C: bda,dc->abc alpha=1 beta=1 */
}
