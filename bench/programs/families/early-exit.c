int first_zero(const int *a, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] == 0)
        return i;

    return -1;
}

long mismatch(const char *a, const char *b, long n)
{
    long i = 0;
    while ((i < n) && (a[i] == b[i]))
        i++;

    return i;
}

int all_below(const float *x, float limit, int n)
{
    for (int i = 0; i < n; i++)
    {
        if (x[i] >= limit)
            return 0;
    }

    return 1;
}

int contains(const short *set, int n, short key)
{
    for (int i = 0; i < n; i++)
    {
        if (set[i] == key)
            return 1;
    }

    return 0;
}

int length(const char *s)
{
    int n = 0;
    while (s[n] != 0)
        n++;

    return n;
}

int unsorted(const double *x, int n)
{
    int i;
    for (i = 1; i < n; i++)
        if (x[i] < x[i - 1])
        break;

    return i;
}

int any_above(int n, const float *level, float limit)
{
    int found = 0;
    for (int i = 0; i < n && !found; i++)
        if (level[i] > limit)
            found = 1;
    return found;
}
