/* Sums, products, dot products and extrema of arrays. */

float sum_f32(int n, const float *restrict a)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

double sum_f64(int n, const double *restrict a)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

int sum_i32(int n, const int *restrict a)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i];
    return sum;
}

float product_f32(int n, const float *restrict ones)
{
    float product = 1;
    for (int i = 0; i < n; i++)
        product *= ones[i];
    return product;
}

float dot_f32(int n, const float *restrict a, const float *restrict b)
{
    float dot = 0;
    for (int i = 0; i < n; i++)
        dot += a[i] * b[i];
    return dot;
}

double dot_f64(int n, const double *restrict a, const double *restrict b)
{
    double dot = 0;
    for (int i = 0; i < n; i++)
        dot += a[i] * b[i];
    return dot;
}

int dot_i32(int n, const int *restrict a, const int *restrict b)
{
    int dot = 0;
    for (int i = 0; i < n; i++)
        dot += a[i] * b[i];
    return dot;
}

float highest_f32(int n, const float *restrict a)
{
    float most = a[0];
    for (int i = 1; i < n; i++)
        if (a[i] > most)
            most = a[i];
    return most;
}

int lowest_i32(int n, const int *restrict a)
{
    int least = a[0];
    for (int i = 1; i < n; i++)
        if (a[i] < least)
            least = a[i];
    return least;
}

float highest_magnitude_f32(int n, const float *restrict a)
{
    float most = 0;
    for (int i = 0; i < n; i++) {
        float magnitude = a[i] < 0 ? -a[i] : a[i];
        if (magnitude > most)
            most = magnitude;
    }
    return most;
}

int place_of_highest_f32(int n, const float *restrict a)
{
    float most = a[0];
    int place = 0;
    for (int i = 1; i < n; i++)
        if (a[i] > most) {
            most = a[i];
            place = i;
        }
    return place;
}

int place_of_lowest_i32(int n, const int *restrict a)
{
    int least = a[0];
    int place = 0;
    for (int i = 1; i < n; i++)
        if (a[i] < least) {
            least = a[i];
            place = i;
        }
    return place;
}

int place_of_highest_magnitude_f32(int n, int step, const float *restrict a)
{
    float most = 0;
    int place = 0, k = 0;
    for (int i = 0; i < n; i++) {
        float magnitude = a[k] < 0 ? -a[k] : a[k];
        if (magnitude > most) {
            most = magnitude;
            place = i;
        }
        k += step;
    }
    return place;
}

float sum_of_positive_f32(int n, const float *restrict a)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        if (a[i] > 0)
            sum += a[i];
    return sum;
}

int count_between_f32(int n, const float *restrict a, float x, float y)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        if (a[i] > x && a[i] < y)
            count++;
    return count;
}

float two_sums_f32(int n, float *restrict a, float *restrict b, const float *restrict c, const float *restrict d)
{
    float sum = 0;
    for (int i = 0; i < n; i++) {
        a[i] = c[i] + d[i];
        sum += a[i];
        b[i] = c[i] * d[i];
        sum += b[i];
    }
    return sum;
}

float mean_and_square_f32(int n, const float *restrict a)
{
    float sum = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        sum += a[i];
        squares += a[i] * a[i];
    }
    return squares * n - sum * sum;
}

int any_negative_i32(int n, const int *restrict positive)
{
    int any = 0;
    for (int i = 0; i < n; i++)
        any |= positive[i] < 0;
    return any;
}

int all_positive_f64(int n, const double *restrict positive)
{
    int all = 1;
    for (int i = 0; i < n; i++)
        if (!(positive[i] > 0))
            all = 0;
    return all;
}

int last_negative_i32(int n, const int *restrict a)
{
    int last = -1;
    for (int i = 0; i < n; i++)
        if (a[i] < 0)
            last = i;
    return last;
}

float highest_of_rows_f32(int m, float aa[m][m])
{
    float most = aa[0][0];
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            if (aa[i][j] > most)
                most = aa[i][j];
    return most;
}

float distance_f32(int n, const float *restrict a, const float *restrict b)
{
    float sum = 0;
    for (int i = 0; i < n; i++) {
        float d = a[i] - b[i];
        sum += d * d;
    }
    return sum;
}

unsigned xor_u32(int n, const unsigned *restrict a)
{
    unsigned all = 0;
    for (int i = 0; i < n; i++)
        all ^= a[i];
    return all;
}
