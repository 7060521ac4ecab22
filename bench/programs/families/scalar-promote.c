void chain(int n, double (*m)[n])
{
    for (int l = 1; l < n; l++)
        for (int i = 0; i < (n - l); i++)
    {
        double b = 1e30;
        for (int k = i; k < (i + l); k++)
        {
            double c = m[i][k] + m[k + 1][i + l];
            if (c < b)
                b = c;
        }

        m[i][i + l] = b;
    }
}

void knapsack_splits(int n, int (*best)[n])
{
    for (int d = 1; d < n; d++)
        for (int lo = 0; (lo + d) < n; lo++)
    {
        int top = 0;
        for (int cut = lo; cut < (lo + d); cut++)
        {
            int v = best[lo][cut] + best[cut + 1][lo + d];
            top = (v > top) ? (v) : (top);
        }

        best[lo][lo + d] = top;
    }
}

void parse_costs(int n, float *c)
{
    for (int len = 1; len < n; len++)
        for (int a = 0; a < (n - len); a++)
    {
        float w = c[(a * n) + a] + c[(((a + 1) * n) + a) + len];
        for (int k = a + 1; k < (a + len); k++)
        {
            float x = c[(a * n) + k] + c[(((k + 1) * n) + a) + len];
            if (x < w)
                w = x;
        }

        c[((a * n) + a) + len] = w;
    }
}
