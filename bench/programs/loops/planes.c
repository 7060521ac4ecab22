/* Sweeps over rows and columns. */

void transposed_sum(int m, float aa[restrict m][m], float bb[restrict m][m])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < i; j++)
            aa[i][j] = aa[j][i] + bb[i][j];
}

void solved_triangle(int m, float *restrict small_first, float aa[m][m])
{
    for (int j = 0; j < m; j++)
        for (int i = j + 1; i < m; i++)
            small_first[i] -= aa[j][i] * 0.01f * small_first[j];
}

void along_diagonals(int m, float aa[restrict m][m], float bb[restrict m][m])
{
    for (int i = 1; i < m; i++)
        for (int j = 1; j < m; j++)
            aa[i][j] = aa[i - 1][j - 1] * 0.5f + bb[i][j];
}

void columns_before_rows(int m, float aa[restrict m][m], float bb[restrict m][m])
{
    for (int i = 0; i < m; i++)
        for (int j = 1; j < m; j++)
            aa[j][i] = aa[j - 1][i] * 0.5f + bb[j][i];
}

void column_recurrence_in_rows(int m, float aa[restrict m][m], float bb[restrict m][m])
{
    for (int j = 1; j < m; j++)
        for (int i = 0; i < m; i++)
            aa[i][j] = aa[i][j - 1] * 0.5f + bb[i][j];
}

void wavefront(int m, float aa[restrict m][m])
{
    for (int i = 1; i < m; i++)
        for (int j = 1; j < m; j++)
            aa[i][j] = (aa[i - 1][j] + aa[i][j - 1]) * 0.5f;
}

void diagonal_only(int m, float aa[restrict m][m], float bb[restrict m][m])
{
    for (int i = 0; i < m; i++)
        aa[i][i] += bb[i][i] * 2;
}

void identity(int m, float aa[restrict m][m])
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < m; j++)
            aa[i][j] = 0;
        aa[i][i] = 1;
    }
}

void column_sums(int m, float *restrict a, float aa[restrict m][m])
{
    for (int j = 0; j < m; j++) {
        float sum = 0;
        for (int i = 0; i < m; i++)
            sum += aa[i][j];
        a[j] = sum;
    }
}

void row_sums(int m, float *restrict a, float aa[restrict m][m])
{
    for (int i = 0; i < m; i++) {
        float sum = 0;
        for (int j = 0; j < m; j++)
            sum += aa[i][j];
        a[i] = sum;
    }
}

void rows_where_positive(int m, float aa[restrict m][m], float bb[restrict m][m])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            if (bb[i][j] > 0)
                aa[i][j] += bb[i][j];
}
