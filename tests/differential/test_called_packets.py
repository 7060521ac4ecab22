"""Functions whose nests are packets of Hexagon are called in an emulator beside the C that they are made of."""

from __future__ import annotations

import pytest

from planish.build.called_packets import CalledPackets, build_called
from planish.core.span import Source
from planish.options import Options
from planish.vliw.description import load_machine

FUNCTIONS = {
    "dot": """
int dot(int n, const int *restrict x, const int *restrict y)
{
    int s = 0;
    for (int i = 0; i < n; i++) s += x[i] * y[i];
    return s;
}
""",
    "saxpy": """
void saxpy(int n, int a, const int *restrict x, int *restrict y)
{
    for (int i = 0; i < n; i++) y[i] += a * x[i];
}
""",
    "seven": """
void seven(int n, int a, int b, int c, int d, int e, const short *restrict x, short *restrict y)
{
    for (int i = 0; i < n; i++) y[i] = a * x[i] + b + (c ^ d) - e;
}
""",
    "fir": """
void fir(int n, int taps, const int *restrict x, const int *restrict h, int *restrict y)
{
    for (int i = 0; i < n; i++) {
        int s = 0;
        for (int k = 0; k < taps; k++) s += h[k] * x[i + k];
        y[i] = s;
    }
}
""",
    "matmul": """
void matmul(const int a[restrict 8][12], const int b[restrict 12][10], int c[restrict 8][10])
{
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 10; j++) {
            int s = 0;
            for (int k = 0; k < 12; k++) s += a[i][k] * b[k][j];
            c[i][j] = s;
        }
}
""",
    "window": """
void window(int n, const short *restrict w, short *restrict x)
{
    for (int i = 0; i < n; i++) x[i] = (short)(x[i] * w[i]);
}
""",
    "clamp": """
void clamp(int n, int low, const int *restrict x, int *restrict y)
{
    for (int i = 0; i < n; i++) y[i] = x[i] > low ? x[i] : low;
}
""",
    "bytes": """
void bytes(int n, unsigned char low, unsigned char high, const unsigned char *restrict x, unsigned char *restrict y)
{
    for (int i = 0; i < n; i++) {
        unsigned char v = x[i] < low ? low : x[i];
        y[i] = v > high ? high : v;
    }
}
""",
    "smooth": """
void smooth(int h, int w, const unsigned char x[restrict h + 2][w + 2], unsigned char y[restrict h][w])
{
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            y[i][j] = (unsigned char)((x[i][j] + 2 * x[i + 1][j + 1] + x[i + 2][j + 2] + 2) >> 2);
}
""",
    "filter": """
void filter(int n, const short *restrict x, const short h[restrict 4], short *restrict y)
{
    for (int i = 0; i < n; i++) {
        int s = 0;
        for (int k = 0; k < 4; k++) s += h[k] * x[i + k];
        y[i] = (short)(s >> 8);
    }
}
""",
    "distance": """
int distance(int n, const unsigned char *restrict x, const unsigned char *restrict y)
{
    int s = 3;
    for (int i = 0; i < n; i++) s += (x[i] - y[i]) * (x[i] - y[i]);
    return s;
}
""",
    "tallest": """
void tallest(int w, int n, int k, int wide, int step, const short *restrict x, const short *restrict z,
             short *restrict y)
{
    for (int i = 0; i < w; i++)
        for (int c = 0; c < n; c++) {
            short most = -5;
            for (int r = 0; r < k; r++)
                for (int j = 0; j < k; j++)
                    if (x[((r * wide) + i * step + j) * n + c] > most) most = x[((r * wide) + i * step + j) * n + c];
            y[i * n + c] = most + z[i * n + c];
        }
}
""",
    "highest": """
void highest(int n, int m, const unsigned char *restrict x, unsigned char *restrict y)
{
    for (int c = 0; c < n; c++) {
        unsigned char most = 5;
        for (int r = 0; r < m; r++)
            if (x[r * n + c] > most) most = x[r * n + c];
        y[c] = most;
    }
}
""",
    "means": """
void means(int w, int n, int k, unsigned short scale, unsigned char low, unsigned char high,
           const unsigned char *restrict x, unsigned char *restrict y)
{
    for (int i = 0; i < w; i++)
        for (int c = 0; c < n; c++) {
            unsigned short s = 0;
            for (int j = 0; j < k; j++) s += x[(2 * i + j) * n + c];
            int v = (int)(((unsigned)s * scale + 32768) >> 16);
            y[i * n + c] = v < low ? low : v > high ? high : v;
        }
}
""",
    "columns": """
void columns(int n, int m, const unsigned char *restrict x, unsigned short *restrict y)
{
    for (int c = 0; c < n; c++) {
        unsigned short s = 0;
        for (int r = 0; r < m; r++) s += x[r * n + c];
        y[c] = s;
    }
}
""",
}

IN_STRIPS = ("bytes", "smooth", "filter", "distance", "tallest", "highest", "means", "columns")
IN_VECTORS = ("dot", "saxpy", "seven", "fir", "window", "clamp", *IN_STRIPS)


def _build(name: str) -> CalledPackets:
    built = build_called(Source(f"{name}.c", FUNCTIONS[name]), Options(target="hexagon"), load_machine("hexagon"))
    if built.file is None:
        pytest.skip(built.missing)
    return built


SLOW = {"smooth", "tallest", "means", "columns", "distance", "seven", "window"}
"""Many schedules are tried for the first, which takes long; the others show what those that are left show: maxima and
sums over rows, of bytes and halves, and maps."""


@pytest.mark.parametrize("name", [pytest.param(x, marks=[pytest.mark.slow] * (x in SLOW)) for x in FUNCTIONS])
def test_packets_do_what_the_function_does(name: str) -> None:
    built = _build(name)
    (result,) = built.results
    assert result.message == "", result.message
    assert result.planned is not None, [x.message for x in result.remarks]
    assert built.calls > 0
    assert built.file is not None
    assert f"planish_{name}_1_packets:" in built.file.text
    assert "endloop0" in built.assembly
    assert "--target hexagon " in built.file.text
    assert ("vmemu" in built.assembly) == (name in IN_VECTORS)
    assert name not in IN_STRIPS or "instructions selected" in result.planned.described
