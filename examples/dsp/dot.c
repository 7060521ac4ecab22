/* Dot product of two vectors of n floats. */
float dot(const float *x, const float *y, int n)
{
    register float acc = 0.0f;

    while (--n >= 0)
        acc += *x++ * *y++;
    return acc;
}
