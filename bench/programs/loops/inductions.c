/* Places that are counted by variables of their own. */

void next_by_variable(int n, float *restrict a, const float *restrict b)
{
    int j;
    for (int i = 0; i < n - 1; i++) {
        j = i + 1;
        a[i] = a[j] + b[i];
    }
}

void every_second_by_variable(int n, float *restrict a, const float *restrict b)
{
    int j = 0;
    for (int i = 0; i < n / 2; i++) {
        a[i] = b[j] + 1;
        j += 2;
    }
}

void two_stored_by_variable(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    int j = -1;
    for (int i = 0; i < n / 2; i++) {
        j++;
        a[j] = b[i] + c[i];
        j++;
        a[j] = b[i] - c[i];
    }
}

void backwards_by_variable(int n, double *restrict a, const double *restrict b)
{
    int k = n - 1;
    for (int i = 0; i < n; i++) {
        a[i] += b[k];
        k--;
    }
}

void both_branches_count(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    int j = -1;
    for (int i = 0; i < n; i++) {
        if (b[i] > 0) {
            j++;
            a[j] = b[i] + c[i] * c[i];
        } else {
            j++;
            a[j] = c[i] - b[i];
        }
    }
}

void rows_in_one(int m, float *restrict a, float aa[m][m], float bb[m][m])
{
    int k = -1;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            k++;
            a[k] = aa[i][j] + bb[i][j] * 2;
        }
}

void coupled_variables(int n, float *restrict a, const float *restrict b, float *restrict c)
{
    int j = -1, k;
    for (int i = 0; i < n / 2; i++) {
        k = j + 1;
        a[i] = b[k] - c[i];
        j = k + 1;
        c[i] = a[i] + b[k];
    }
}

void around_by_one(int n, float *restrict a, const float *restrict b)
{
    int before = n - 1;
    for (int i = 0; i < n; i++) {
        a[i] = (b[i] + b[before]) * 0.5f;
        before = i;
    }
}

void around_by_two(int n, float *restrict a, const float *restrict b)
{
    int before = n - 1, earlier = n - 2;
    for (int i = 0; i < n; i++) {
        a[i] = (b[i] + b[before] + b[earlier]) * 0.333f;
        earlier = before;
        before = i;
    }
}

void kept_value(int n, float *restrict a, const float *restrict b)
{
    float x = b[n - 1];
    for (int i = 0; i < n; i++) {
        a[i] = (b[i] + x) * 0.5f;
        x = b[i];
    }
}

void counted_factor(int n, float *restrict a, const float *restrict b)
{
    float s = 0;
    for (int i = 0; i < n; i++) {
        s += 2;
        a[i] = s * b[i];
    }
}

void place_as_value(int n, float *restrict a, const float *restrict b, const float *restrict c)
{
    for (int i = 0; i < n; i++)
        a[i] = b[i] + c[i] * (float)(i + 1);
}

void triangle_in_one(int m, float *restrict a, float aa[m][m])
{
    int k = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++) {
            a[k] += aa[i][j];
            k++;
        }
}
