/* Elements that are chosen, packed together and spread out; loops that end early. */

int packed_positive_f32(int n, float *restrict a, const float *restrict b)
{
    int j = 0;
    for (int i = 0; i < n; i++)
        if (b[i] > 0) {
            a[j] = b[i];
            j++;
        }
    return j;
}

int packed_places_i32(int n, int *restrict a, const int *restrict b)
{
    int j = 0;
    for (int i = 0; i < n; i++)
        if (b[i] > 0)
            a[j++] = i;
    return j;
}

int unpacked_f32(int n, float *restrict a, const float *restrict b)
{
    int j = 0;
    for (int i = 0; i < n; i++)
        if (a[i] > 0) {
            a[i] = b[j];
            j++;
        }
    return j;
}

int first_above_f32(int n, const float *restrict a)
{
    for (int i = 0; i < n; i++)
        if (a[i] > 2.0f)
            return i;
    return -1;
}

int equal_i32(int n, const int *restrict positive, const int *restrict same)
{
    for (int i = 0; i < n; i++)
        if (positive[i] == -same[i])
            return 0;
    return 1;
}

void until_negative_f32(int n, float *restrict a, const float *restrict positive, const float *restrict c)
{
    for (int i = 0; i < n; i++) {
        if (positive[i] < 0)
            break;
        a[i] += positive[i] * c[i];
    }
}

int length_of_run_i32(int n, const int *restrict positive)
{
    int i = 0;
    while (i < n && positive[i] > 0)
        i++;
    return i;
}
