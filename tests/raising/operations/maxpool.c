/* The greatest of each two by two elements.
 * sizes: h=4 w=5 */
void maxpool(int h, int w, float in[16][16], float out[8][8])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float m = in[2 * y][2 * x];
            for (int r = 0; r < 2; r++)
                for (int s = 0; s < 2; s++)
                    m = in[2 * y + r][2 * x + s] > m ? in[2 * y + r][2 * x + s] : m; /*= maxpool in -> out: */
            out[y][x] = m;
        }
}
