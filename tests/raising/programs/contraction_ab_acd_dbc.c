/* C[a,b] += A[a,c,d] B[d,b,c], summed over c and d.
 * sizes: na=4 nb=5 nc=6 nd=4
 * defines: NA=5 NB=6 NC=7 ND=5 */
#ifndef NA
#define NA 128
#define NB 128
#define NC 128
#define ND 128
#endif

void contract_ab_acd_dbc(int na, int nb, int nc, int nd, double C[NA][NB], double A[NA][NC][ND], double B[ND][NB][NC])
{
    int a, b, c, d;

    for (a = 0; a < na; a++)
        for (b = 0; b < nb; b++)
            for (c = 0; c < nc; c++)
                for (d = 0; d < nd; d++)
                    C[a][b] += A[a][c][d] * B[d][b][c]; /*= contraction A B -> C: acd,dbc->ab alpha=1 beta=1 */
}
