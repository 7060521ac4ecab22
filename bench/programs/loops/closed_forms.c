/* Loops whose result follows from the bounds alone. */

int sum_of_places(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += i;
    return sum;
}

unsigned sum_of_squares(int n)
{
    unsigned sum = 0;
    for (int i = 0; i < n; i++)
        sum += (unsigned)i * (unsigned)i;
    return sum;
}

int repeated_step(int n, int step)
{
    int k = 3;
    for (int i = 0; i < n; i++)
        k += step;
    return k;
}

double repeated_factor(int n)
{
    double product = 1;
    for (int i = 0; i < n; i++)
        product *= 0.9999;
    return product;
}

int count_of_even(int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        if (i % 2 == 0)
            count++;
    return count;
}
