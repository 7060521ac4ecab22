/* The loop runs once, so that its schedule has no loop (an internal error in poly/privatise once). */
int g0[8];

void once(void)
{
    for (short i2 = 1; i2 < 4; i2 += 4) {
        unsigned char t3 = ((((i2 - i2) > i2) || ((i2 - 1) % 3 == 0)) ? g0[i2 - 1] : 0x1F) / 3;
    }
}

void twice(int *d)
{
    for (int i = 0; i < 1; i++) {
        int t[2];
        t[0] = g0[i] * 3;
        t[1] = t[0] + 1;
        d[i] = t[1];
        d[i + 1] = t[0];
    }
}
