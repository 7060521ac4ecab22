/* A filter over an image, only where it lies in it; the result in rows as long as that.
 * sizes: h=7 w=9 kh=3 kw=4 */
void conv2d(int h, int w, int kh, int kw, const float *in, const float *filter, float *out)
{
    for (int y = 0; y < h - kh + 1; y++)
        for (int x = 0; x < w - kw + 1; x++) {
            float acc = 0;
            for (int r = 0; r < kh; r++)
                for (int s = 0; s < kw; s++)
                    acc += in[(y + r) * w + x + s] * filter[r * kw + s]; /*= conv2d in filter -> out: beta=0 */
            out[y * (w - kw + 1) + x] = acc;
        }
}
