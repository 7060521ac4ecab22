/* Many products of matrices whose sizes are known before the program runs. */
void gemm_fixed(int count, const float a[count][64][64], const float b[count][64][64], float c[restrict count][64][64])
{
  for (int p = 0; p < count; p++)
    for (int i = 0; i < 64; i++)
      for (int j = 0; j < 64; j++) {
        c[p][i][j] = 0;
        for (int k = 0; k < 64; k++)
          c[p][i][j] += a[p][i][k] * b[p][k][j];
      }
}
