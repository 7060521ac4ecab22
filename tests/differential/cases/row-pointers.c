// slow
// taken: scaled inverted mixed total sums
// tolerance: 1e-6
// sanitize
/* Rows through pointers: of a parameter, in structures, in an array of the function; also where stores lie over them. */
struct image { int w, h; unsigned char **rows; float *planes[4]; };

void scaled(double **data, int n, int m, double f)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            data[i][j] = data[i][j] * f + 1;
}

void inverted(struct image *im)
{
    int y = 0;
    while (y < im->h) {
        for (int x = 0; x < im->w; x++)
            im->rows[y][x] = 255 - im->rows[y][x];
        y++;
    }
}

void mixed(struct image *im, int n, const float *g)
{
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < n; i++)
            im->planes[c][i] += im->planes[(c + 1) & 3][i] * g[i];
}

float total(float *const *a, int k, int n)
{
    float s = 0;
    for (int i = 0; i < n; i++)
        s += (*a)[i] * a[k + 1][i];
    return s;
}

int sums(int n, const int *a, const int *b, int *c)
{
    const int *both[2] = { a, b };
    int s = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < n; i++) {
            s += both[k][i];
            c[i] += both[k][i] * (k + 3);
        }
    return s;
}

#ifdef MAIN
#include <stdio.h>
#include <string.h>
int main(void)
{
    static double d[20][140], *rows[20]; static float p[4][100], g[100]; static unsigned char bytes[12 * 100]; static int a[90], b[90];
    unsigned char *lines[12]; struct image im = { 90, 12, lines, { p[2], p[0], p[3], p[1] } };
    double s = 0; unsigned long h = 0;
    for (int i = 0; i < 20; i++) { rows[i] = d[i * 7 % 20]; for (int j = 0; j < 140; j++) d[i][j] = i * j % 11; }
    for (int i = 0; i < 12; i++) lines[i] = bytes + 100 * (i * 5 % 12);
    for (int i = 0; i < 1200; i++) bytes[i] = (unsigned char)(i * 7);
    for (int i = 0; i < 400; i++) p[i / 100][i % 100] = i % 17;
    for (int i = 0; i < 100; i++) g[i] = i % 5 * 0.25f;
    for (int i = 0; i < 90; i++) { a[i] = i % 23; b[i] = i * i % 29; }
    rows[3] = rows[4] + 5;                      /* rows that overlap */
    scaled(rows, 20, 130, 0.5); scaled(rows, 7, 30, 0.25); scaled(rows, 0, 30, 2); scaled(0, 0, 0, 1); scaled(rows, 3, 0, 2);
    inverted(&im); lines[4] = lines[3] + 1; inverted(&im);
    mixed(&im, 100, g); im.planes[1] = im.planes[0] + 1; mixed(&im, 90, g); mixed(&im, 50, im.planes[0] + 3);
    float *q[3] = { p[0], p[1], p[2] }; s += total(q, 1, 90) + total(q, 0, 0) + total(q, -1, 77);
    h = (unsigned)sums(90, a, b, b) + (unsigned)sums(8, a, b + 3, a + 1);
    for (int i = 0; i < 2800; i++) s += d[i / 140][i % 140] * (i % 7);
    for (int i = 0; i < 400; i++) s += p[i / 100][i % 100] * (i % 3);
    for (int i = 0; i < 1200; i++) h = h * 31 + bytes[i];
    for (int i = 0; i < 90; i++) h = h * 31 + (unsigned)(a[i] + b[i]);
    printf("%lu %.7g\n", h, s);
    return 0;
}
#endif
