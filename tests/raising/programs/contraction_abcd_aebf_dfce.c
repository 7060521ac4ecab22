/* C[a,b,c,d] += A[a,e,b,f] B[d,f,c,e], summed over e and f.
 * sizes: na=4 nb=5 nc=6 nd=4 ne=5 nf=6
 * defines: NA=5 NB=6 NC=7 ND=5 NE=6 NF=7 */
#ifndef NA
#define NA 32
#define NB 32
#define NC 32
#define ND 32
#define NE 32
#define NF 32
#endif

void contract_abcd_aebf_dfce(int na, int nb, int nc, int nd, int ne, int nf,
                             double C[NA][NB][NC][ND], double A[NA][NE][NB][NF], double B[ND][NF][NC][NE])
{
    int a, b, c, d, e, f;

    for (a = 0; a < na; a++)
        for (b = 0; b < nb; b++)
            for (c = 0; c < nc; c++)
                for (d = 0; d < nd; d++)
                    for (e = 0; e < ne; e++)
                        for (f = 0; f < nf; f++)
                            /*= contraction A B -> C: aebf,dfce->abcd alpha=1 beta=1 */
                            C[a][b][c][d] += A[a][e][b][f] * B[d][f][c][e];
}
