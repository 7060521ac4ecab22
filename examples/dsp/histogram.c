#include <stdint.h>

/* Counts of the 256 values among n bytes; bins is cleared first. */
void histogram(const uint8_t *src, int32_t *bins, int n)
{
    int i;

    for (i = 0; i < 256; i++)
        bins[i] = 0;
    while (n-- > 0)
        bins[*src++]++;
}
