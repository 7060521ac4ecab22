/* Colours between planes of luma and halved chroma, interleaved pixels, hue and raw mosaics. */
#include <stddef.h>
#include <stdint.h>

static inline int limit(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }

static inline int blue_of(int y, int u) { return limit((9535 * (y - 16) + 16531 * (u - 128) + (1 << 12)) >> 13); }
static inline int green_of(int y, int u, int v) { return limit((9535 * (y - 16) - 3203 * (u - 128) - 6660 * (v - 128) + (1 << 12)) >> 13); }
static inline int red_of(int y, int v) { return limit((9535 * (y - 16) + 13074 * (v - 128) + (1 << 12)) >> 13); }

static inline void put_bgra(int y, int u, int v, uint8_t alpha, uint8_t *bgra)
{
    bgra[0] = (uint8_t)blue_of(y, u);
    bgra[1] = (uint8_t)green_of(y, u, v);
    bgra[2] = (uint8_t)red_of(y, v);
    bgra[3] = alpha;
}

void yuv444_to_bgra(const uint8_t *y, size_t y_stride, const uint8_t *u, size_t u_stride, const uint8_t *v, size_t v_stride,
                    size_t width, size_t height, uint8_t *bgra, size_t bgra_stride, uint8_t alpha)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col)
            put_bgra(y[col], u[col], v[col], alpha, bgra + 4 * col);
        y += y_stride;
        u += u_stride;
        v += v_stride;
        bgra += bgra_stride;
    }
}

void yuv422_to_bgr(const uint8_t *y, size_t y_stride, const uint8_t *u, size_t u_stride, const uint8_t *v, size_t v_stride,
                   size_t width, size_t height, uint8_t *bgr, size_t bgr_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width / 2; ++col) {
            uint8_t *p = bgr + 6 * col;
            p[0] = (uint8_t)blue_of(y[2 * col], u[col]);
            p[1] = (uint8_t)green_of(y[2 * col], u[col], v[col]);
            p[2] = (uint8_t)red_of(y[2 * col], v[col]);
            p[3] = (uint8_t)blue_of(y[2 * col + 1], u[col]);
            p[4] = (uint8_t)green_of(y[2 * col + 1], u[col], v[col]);
            p[5] = (uint8_t)red_of(y[2 * col + 1], v[col]);
        }
        y += y_stride;
        u += u_stride;
        v += v_stride;
        bgr += bgr_stride;
    }
}

void bgra_to_yuv420(const uint8_t *bgra, size_t bgra_stride, size_t width, size_t height, uint8_t *y, size_t y_stride,
                    uint8_t *u, size_t u_stride, uint8_t *v, size_t v_stride)
{
    for (size_t row = 0; row < height; row += 2) {
        const uint8_t *p = bgra, *q = bgra + bgra_stride;
        for (size_t col = 0; col < width; col += 2) {
            int b = p[4 * col] + p[4 * col + 4] + q[4 * col] + q[4 * col + 4];
            int g = p[4 * col + 1] + p[4 * col + 5] + q[4 * col + 1] + q[4 * col + 5];
            int r = p[4 * col + 2] + p[4 * col + 6] + q[4 * col + 2] + q[4 * col + 6];
            b = (b + 2) >> 2, g = (g + 2) >> 2, r = (r + 2) >> 2;
            y[col] = (uint8_t)limit(((1606 * p[4 * col] + 8258 * p[4 * col + 1] + 4211 * p[4 * col + 2] + 8192) >> 14) + 16);
            y[col + 1] = (uint8_t)limit(((1606 * p[4 * col + 4] + 8258 * p[4 * col + 5] + 4211 * p[4 * col + 6] + 8192) >> 14) + 16);
            y[col + y_stride] = (uint8_t)limit(((1606 * q[4 * col] + 8258 * q[4 * col + 1] + 4211 * q[4 * col + 2] + 8192) >> 14) + 16);
            y[col + y_stride + 1] = (uint8_t)limit(((1606 * q[4 * col + 4] + 8258 * q[4 * col + 5] + 4211 * q[4 * col + 6] + 8192) >> 14) + 16);
            u[col / 2] = (uint8_t)limit(((7193 * b - 4768 * g - 2425 * r + 8192) >> 14) + 128);
            v[col / 2] = (uint8_t)limit(((-1170 * b - 6029 * g + 7193 * r + 8192) >> 14) + 128);
        }
        bgra += 2 * bgra_stride;
        y += 2 * y_stride;
        u += u_stride;
        v += v_stride;
    }
}

void bgr_to_bgra(const uint8_t *bgr, size_t width, size_t height, size_t bgr_stride, uint8_t *bgra, size_t bgra_stride, uint8_t alpha)
{
    for (size_t row = 0; row < height; ++row) {
        const uint8_t *s = bgr;
        uint8_t *d = bgra;
        for (size_t col = 0; col < width; ++col, s += 3, d += 4) {
            d[0] = s[0];
            d[1] = s[1];
            d[2] = s[2];
            d[3] = alpha;
        }
        bgr += bgr_stride;
        bgra += bgra_stride;
    }
}

void bgr48_to_bgra32(const uint8_t *blue, size_t blue_stride, size_t width, size_t height, const uint8_t *green, size_t green_stride,
                     const uint8_t *red, size_t red_stride, uint8_t *bgra, size_t bgra_stride, uint8_t alpha)
{
    const size_t offset = 1;
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0, x = offset; col < width; ++col, x += 2) {
            bgra[4 * col] = blue[x];
            bgra[4 * col + 1] = green[x];
            bgra[4 * col + 2] = red[x];
            bgra[4 * col + 3] = alpha;
        }
        blue += blue_stride;
        green += green_stride;
        red += red_stride;
        bgra += bgra_stride;
    }
}

void uyvy_to_planes(const uint8_t *uyvy, size_t uyvy_stride, size_t width, size_t height, uint8_t *y, size_t y_stride,
                    uint8_t *u, size_t u_stride, uint8_t *v, size_t v_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width / 2; ++col) {
            u[col] = uyvy[4 * col];
            y[2 * col] = uyvy[4 * col + 1];
            v[col] = uyvy[4 * col + 2];
            y[2 * col + 1] = uyvy[4 * col + 3];
        }
        uyvy += uyvy_stride;
        y += y_stride;
        u += u_stride;
        v += v_stride;
    }
}

/* Green, red and blue of a mosaic of two by two, each block of one colour. */
void mosaic_to_bgr(const uint8_t *raw, size_t raw_stride, size_t width, size_t height, uint8_t *bgr, size_t bgr_stride)
{
    for (size_t row = 0; row < height / 2; ++row) {
        const uint8_t *p = raw + 2 * row * raw_stride, *q = p + raw_stride;
        uint8_t *out = bgr + row * bgr_stride;
        for (size_t col = 0; col < width / 2; ++col) {
            out[3 * col + 0] = q[2 * col + 1];
            out[3 * col + 1] = (uint8_t)((p[2 * col + 1] + q[2 * col] + 1) / 2);
            out[3 * col + 2] = p[2 * col];
        }
    }
}

/* Luma of the full range from that of studios, and back. */
void luma_to_gray(const uint8_t *y, size_t y_stride, size_t width, size_t height, uint8_t *gray, size_t gray_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col)
            gray[col] = (uint8_t)limit(((y[col] - 16) * 9535 + (1 << 12)) >> 13);
        y += y_stride;
        gray += gray_stride;
    }
}

void gray_to_luma(const uint8_t *gray, size_t gray_stride, size_t width, size_t height, uint8_t *y, size_t y_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col)
            y[col] = (uint8_t)limit(((gray[col] * 14071 + (1 << 13)) >> 14) + 16);
        gray += gray_stride;
        y += y_stride;
    }
}

/* Colours with their alpha divided out, by a table of reciprocals. */
void unpremultiply_by_table(const uint8_t *src, size_t src_stride, size_t width, size_t height, const uint16_t *reciprocal, uint8_t *dst, size_t dst_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col) {
            const uint8_t *s = src + 4 * col;
            uint8_t *d = dst + 4 * col;
            uint32_t k = reciprocal[s[3]];
            for (size_t c = 0; c < 3; ++c) {
                uint32_t v = (s[c] * k + 128) >> 8;
                d[c] = (uint8_t)(v < 255 ? v : 255);
            }
            d[3] = s[3];
        }
        src += src_stride;
        dst += dst_stride;
    }
}

/* The hue of a pixel as one of 256 steps. */
void bgr_to_hue(const uint8_t *bgr, size_t bgr_stride, size_t width, size_t height, uint8_t *hue, size_t hue_stride)
{
    for (size_t row = 0; row < height; ++row) {
        for (size_t col = 0; col < width; ++col) {
            int b = bgr[3 * col], g = bgr[3 * col + 1], r = bgr[3 * col + 2];
            int max = r > g ? r : g, min = r < g ? r : g;
            max = max > b ? max : b;
            min = min < b ? min : b;
            int range = max - min, dividend;
            if (range == 0) {
                hue[col] = 0;
                continue;
            }
            if (r == max)
                dividend = g - b + 6 * range;
            else if (g == max)
                dividend = b - r + 2 * range;
            else
                dividend = r - g + 4 * range;
            hue[col] = (uint8_t)(dividend * 255 / (6 * range));
        }
        bgr += bgr_stride;
        hue += hue_stride;
    }
}
