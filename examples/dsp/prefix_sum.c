#include <stdint.h>

/* Inclusive prefix sum, out[i] = in[0] + ... + in[i]; out may be in. */
void prefix_sum(const int32_t *in, int32_t *out, int n)
{
    int32_t sum = 0;
    int i;

    for (i = 0; i < n; i++) {
        sum += in[i];
        out[i] = sum;
    }
}
