void walsh(TYPE *a, int n)
{
    for (int h = 1; h < n; h *= 2)
        for (int i = 0; i < n; i += 2 * h)
            for (int j = i; j < i + h; j++) {
                TYPE x = a[j], y = a[j + h];
                a[j] = x + y;
                a[j + h] = x - y;
            }
}
