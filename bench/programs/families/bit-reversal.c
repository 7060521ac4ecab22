void permute(int n, double *re, double *im)
{
    int j = 0;
    for (int i = 0; i < (n - 1); i++)
    {
        if (i < j)
        {
            double t = re[i];
            re[i] = re[j];
            re[j] = t;
            t = im[i];
            im[i] = im[j];
            im[j] = t;
        }
        int m = n >> 1;
        while ((m >= 1) && (j & m))
        {
            j ^= m;
            m >>= 1;
        }

        j |= m;
    }
}

void shuffle(float *z, int n, int logn)
{
    for (int i = 0; i < n; i++)
    {
        int r = 0;
        for (int b = 0; b < logn; b++)
            r |= ((i >> b) & 1) << ((logn - 1) - b);

        if (r > i)
        {
            float t = z[i];
            z[i] = z[r];
            z[r] = t;
        }
    }
}

void reorder(int n, int bits, const float *x, float * restrict y)
{
    for (int i = 0; i < n; i++)
    {
        int r = 0;
        for (int k = 0; k < bits; k++)
            if (i & (1 << k))
            r |= 1 << ((bits - 1) - k);

        y[r] = x[i];
    }
}

void scramble(int n, float *z)
{
    for (int i = 1, j = 0; i < n; i++)
    {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;

        j ^= bit;
        if (i < j)
        {
            float a = z[2 * i];
            float b = z[(2 * i) + 1];
            z[2 * i] = z[2 * j];
            z[(2 * i) + 1] = z[(2 * j) + 1];
            z[2 * j] = a;
            z[(2 * j) + 1] = b;
        }
    }
}

void unshuffle(unsigned log2n, double *re, double *im)
{
    unsigned n = 1u << log2n;
    for (unsigned i = 0; i < n; i++)
    {
        unsigned j = 0;
        unsigned x = i;
        for (unsigned b = 0; b < log2n; b++)
        {
            j = (j << 1) | (x & 1);
            x >>= 1;
        }

        if (j > i)
        {
            double t = re[i];
            re[i] = re[j];
            re[j] = t;
            t = im[i];
            im[i] = im[j];
            im[j] = t;
        }
    }
}
