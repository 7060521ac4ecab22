/* out[n][f][y][x] += in[n][c][y+r][x+s] w[f][c][r][s]: a convolution of images, channels before rows.
 * sizes: nn=2 nf=3 nc=2 oh=4 ow=5 kh=3 kw=2
 * defines: NN=3 NF=4 NC=3 OH=5 OW=6 KH=3 KW=3 */
#ifndef NN
#define NN 8
#define NF 64
#define NC 32
#define OH 56
#define OW 56
#define KH 3
#define KW 3
#endif

void conv2d_nchw(int nn, int nf, int nc, int oh, int ow, int kh, int kw, float out[NN][NF][OH][OW],
                 float in[NN][NC][OH + KH - 1][OW + KW - 1], float weight[NF][NC][KH][KW])
{
    int n, f, c, y, x, r, s;

    for (n = 0; n < nn; n++)
        for (f = 0; f < nf; f++)
            for (y = 0; y < oh; y++)
                for (x = 0; x < ow; x++)
                    for (c = 0; c < nc; c++)
                        for (r = 0; r < kh; r++)
                            for (s = 0; s < kw; s++)
                                /*= conv2d in weight -> out: layout=nchw beta=1 */
                                out[n][f][y][x] += in[n][c][y + r][x + s] * weight[f][c][r][s];
}
