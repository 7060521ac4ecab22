/* A convolution of images in channels: 3 x 3, NCHW; the input has a border of one element on each side. */
void conv3x3(int batch, int outputs, int inputs, int h, int w, const float x[batch][inputs][h + 2][w + 2],
             const float k[outputs][inputs][3][3], float y[restrict batch][outputs][h][w])
{
  for (int b = 0; b < batch; b++)
    for (int o = 0; o < outputs; o++)
      for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++) {
          float sum = 0;
          for (int c = 0; c < inputs; c++)
            for (int u = 0; u < 3; u++)
              for (int v = 0; v < 3; v++)
                sum += x[b][c][i + u][j + v] * k[o][c][u][v];
          y[b][o][i][j] = sum;
        }
}
