/* A small network looks at a batch of made-up images: convolution, rectifier, pooling, and two dense layers. */
#include <stdio.h>
#include <stdlib.h>

#include "layers.h"

#define BATCH 32
#define CHANNELS 16
#define SIDE 82
#define FILTERS 64
#define SIZE 3
#define ROWS (SIDE - SIZE + 1)
#define HALF (ROWS / 2)
#define FEATURES (FILTERS * HALF * HALF)
#define HIDDEN 64
#define CLASSES 10

static unsigned state = 11;

/* A number from -1 to 1, the same ones in every run. */
static float draw(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / 8388608.0f - 1;
}

static float *make(int count, float scale)
{
    float *data = malloc(sizeof(float) * count);
    if (!data)
        exit(1);
    for (int t = 0; t < count; t++)
        data[t] = scale * draw();
    return data;
}

int main(void)
{
    float *image = make(CHANNELS * SIDE * SIDE, 1);
    float *filter = make(FILTERS * CHANNELS * SIZE * SIZE, 0.2f), *bias = make(FILTERS, 0.1f);
    float *map = make(FILTERS * ROWS * ROWS, 0), *features = make(BATCH * FEATURES, 0);
    float *first = make(HIDDEN * FEATURES, 0.01f), *first_bias = make(HIDDEN, 0.1f), *hidden = make(BATCH * HIDDEN, 0);
    float *second = make(CLASSES * HIDDEN, 0.3f), *second_bias = make(CLASSES, 0.1f);
    float *score = make(BATCH * CLASSES, 0);
    double total = 0;

    for (int b = 0; b < BATCH; b++) {
        for (int t = 0; t < CHANNELS * SIDE * SIDE; t++)
            image[t] = draw();
        convolve(FILTERS, CHANNELS, SIDE, SIDE, SIZE, image, filter, bias, map);
        rectify(FILTERS, ROWS, ROWS, map);
        pool(FILTERS, HALF, HALF, ROWS, ROWS, map, features + b * FEATURES);
    }
    connect(BATCH, HIDDEN, FEATURES, features, first, first_bias, hidden);
    rectify(BATCH, 1, HIDDEN, hidden);
    connect(BATCH, CLASSES, HIDDEN, hidden, second, second_bias, score);

    for (int b = 0; b < BATCH; b++) {
        int best = 0;
        for (int c = 0; c < CLASSES; c++) {
            total += score[b * CLASSES + c];
            if (score[b * CLASSES + c] > score[b * CLASSES + best])
                best = c;
        }
        if (b % 4 == 0)
            printf("image %2d: class %d, score %.1f\n", b, best, score[b * CLASSES + best]);
    }
    printf("sum of all scores: %.0f\n", total);
    free(image);
    free(filter);
    free(bias);
    free(map);
    free(features);
    free(first);
    free(first_bias);
    free(hidden);
    free(second);
    free(second_bias);
    free(score);
    return 0;
}
