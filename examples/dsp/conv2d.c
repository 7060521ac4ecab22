/*
 * 2-D filtering of a width x height image with a ksize x ksize kernel (not
 * flipped); only the outputs whose window lies within the image:
 * out is (width - ksize + 1) x (height - ksize + 1).
 */
void conv2d(const float *restrict img, const float *restrict kern,
            float *restrict out, int width, int height, int ksize)
{
    int ow = width - ksize + 1;
    int oh = height - ksize + 1;
    int x, y, i, j;

    for (y = 0; y < oh; y++)
        for (x = 0; x < ow; x++) {
            float acc = 0.0f;

            for (i = 0; i < ksize; i++)
                for (j = 0; j < ksize; j++)
                    acc += img[(y + i) * width + x + j] * kern[i * ksize + j];
            out[y * ow + x] = acc;
        }
}
