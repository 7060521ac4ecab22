// taken: scale
/* Characters may be a part of any variable that others can reach. */
int factor;
void scale(int n, unsigned char *out)
{
    for (int i = 0; i < n; i++)
        out[i] = (unsigned char)(factor * i + 1);
}

#ifdef MAIN
#include <stdio.h>
int main(void)
{
    unsigned char apart[300]; unsigned long s = 0;
    factor = 7;
    scale(300, apart);
    for (int i = 0; i < 300; i++) s = s * 31 + apart[i];
    printf("%lu\n", s);
    scale(4, (unsigned char *)&factor);
    printf("%d\n", factor);
    return 0;
}
#endif
