/* The scalar product of two vectors. */
float dot(int n, const float *x, const float *y)
{
  float sum = 0;
  for (int i = 0; i < n; i++)
    sum += x[i] * y[i];
  return sum;
}
