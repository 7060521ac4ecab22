"""Loops over what memory is made of: rows through pointers, arrays that are not there, members of structures, views by
casts, complex numbers, assignments and commas inside expressions, gathers, extrema by the library's functions.

A text `BEFORE \\f BODY` has helpers in front of the function; `@` is its name.

>>> random_rows(random.Random(1), "int").count("\\f")
1
"""

from __future__ import annotations

import random

from tests.property.listings.selections import loop
from tests.property.listings.types import is_float


def random_rows(rng: random.Random, t: str) -> str:
    """Rows through pointers: evenly spaced, upside down, all the same one, in any order."""
    third = "0.5f" if is_float(t) else "3"
    inner = rng.choice((
        f"a[i][j] = a[i][j] * {third} + b[j % n][i % m];", "a[i][j] += b[i % n][j];", "s += a[i][j];",
        f"a[i][j] = i > 0 ? a[i - 1][j] + {third} : a[i][j];", "y[j] += a[i][j] * x[i];", "a[i][j] = b[n - 1 - i][j];",
        "if (a[i][j] > b[i][j]) a[i][j] = b[i][j];", "y[i] += a[i][j];", "a[i][j] = x[j];", "x[j] = a[i][j];",
        "s += a[i][j] * b[i][m - 1 - j];", "a[i][0] += b[i][j];", "a[j % n][j] = 1;",
    ))  # fmt: skip
    body = f"for (int i = 0; i < n; i++)\nfor (int j = 0; j < m; j++)\n{inner}"
    if rng.random() < 0.3:
        body = f"for (int j = 0; j < m; j++)\nfor (int i = 0; i < n; i++)\n{inner}"
    if rng.random() < 0.3:
        body = f"for (int i = 0; i < n; i++) {{\n{t} *row = a[i], *other = b[i];\n"
        body += f"for (int j = 0; j < m; j++) {rng.choice(('row[j] += other[j];', 's += row[j];', 'row[j] = 0;'))}\n}}"
    before = f"{t} @_rows(int n, int m, {t} **a, {t} **b, {t} *x, {t} *y)\n{{\n{t} s = 0;\n{body}\nreturn s;\n}}\n"
    spaced = rng.choice(("i * m", "i * m", "i * (m + 1)", "(n - 1 - i) * m", "0", "(i * 7 % n) * m", "i"))
    other = rng.choice(("z + i * m", "z + i * m", "y + i * m", "y + i", "z + (i * 3 % n) * m"))
    return (
        f"{before}\f{t} *rows[80], *others[80];\n"
        f"for (int i = 0; i < n; i++) {{\nrows[i] = y + {spaced};\nothers[i] = {other};\n}}\n"
        "x[0] = @_rows(n, m, rows, others, x, x + 70);"
    )


def random_absent(rng: random.Random, t: str) -> str:
    """Arrays that are there only where a condition holds, which it never does."""
    condition = rng.choice(("has", "use[i]", "use[i] && has", "use[i] > 200", "has && x[i] > 0"))
    other = rng.choice(("x[i]", "0", "x[i] + y[i]"))
    taken = rng.choice(("w[i]", "w[i] * x[i]", "x[i] + w[0]", "w[n - 1 - i] - w[i]", "w[2 * i]"))
    inner = rng.choice((
        f"s += {condition} ? {taken} : {other};", f"y[i] = {condition} ? {taken} : {other};",
        f"if ({condition}) y[i] = {taken};\nelse s += x[i];", f"if ({condition}) s += {taken};",
        f"{t} v = {other};\nif ({condition}) v = {taken};\ny[i] = v;", f"if ({condition}) continue;\ny[i] += x[i];",
        f"{t} v = {condition} ? {taken} : {other};\nif (v > s) s = v;",
        f"s = s + ({condition} ? {taken} : {other});\ny[i] = s;",
        f"if ({condition} && w[i] == x[i]) break;\ns += x[i];",
        f"for (int j = 0; j < 3; j++) y[3 * i + j] += {condition} ? w[j] : x[i];",
    ))  # fmt: skip
    given = f"int n, {t} *y, const {t} *x, const {t} *w, const unsigned char *use, int has"
    before = f"{t} @_absent({given})\n{{\n{t} s = 0;\nfor (int i = 0; i < n; i++) {{\n{inner}\n}}\nreturn s;\n}}\n"
    return f"{before}\fstatic const unsigned char use[80];\nz[0] = @_absent(n, y, x, NULL, use, 0);"


def random_members(rng: random.Random, t: str) -> str:
    """Structures: members that nests read and set, arrays in them, arrays of them."""
    whole = "int" if is_float(t) else t
    declared = f"struct @_s {{ {whole} count; {t} sum; {t} *data; {t} own[80]; struct {{ {t} low, high; }} range; }};\n"
    given = rng.choice((f"struct @_s *s, int n, {t} *y", f"struct @_s *restrict s, const int n, {t} *restrict y"))
    body = rng.choice((
        "for (int i = 0; i < n; i++) s->sum += s->data[i];",
        "s->sum = 0;\nfor (int i = 0; i < n; i++) s->sum += s->data[i] * y[i];",
        "for (int i = 0; i < n; i++) s->own[i] = s->data[i] + y[i];",
        "for (int i = 0; i < n; i++) {\nif (s->data[i] < s->range.low) s->range.low = s->data[i];\n"
        "if (s->data[i] > s->range.high) s->range.high = s->data[i];\n}",
        "for (int i = 0; i < n; i++) if (s->data[i] > y[i]) s->count++;",
        "for (int i = 0; i < n; i++) s->data[i] = s->sum;",
        "for (int i = 0; i < n; i++) {\ns->data[i] = y[i];\ns->sum = s->data[i] + s->own[i];\n}",
        "for (int i = 0; i < n; i++) s->own[s->count & 63] += y[i];",
        "for (s->count = 0; s->count < n; s->count++) s->sum += y[s->count];",
        "s->count = n;\nfor (int i = 0; i < s->count; i++) y[i] += s->sum;",
        "for (int i = 0; i < n; i++) {\ns->sum += y[i];\ny[i] = s->sum;\n}",
        "for (int i = 0; i < n; i++) {\nif (y[i] == s->sum) break;\ns->count += 1;\n}",
        "for (int i = 0; i < n; i++) {\nif (s->data[i] == s->range.high) {\ns->count = i;\nreturn;\n}\n}",
        "for (int i = 0; i < n; i++) s->range.high = y[i] > s->range.high ? y[i] : s->range.high;",
    ))  # fmt: skip
    data = rng.choice(("x", "x", "y", "y + 1", "s.own"))
    return (
        f"{declared}void @_set({given})\n{{\n{body}\n}}\n\fstruct @_s s = {{ 0 }};\ns.data = {data};\n"
        "s.sum = alpha;\ns.range.low = x[0];\ns.range.high = y[0];\n"
        "for (int i = 0; i < 80; i++) s.own[i] = x[i];\n@_set(&s, n, y);\n"
        "z[0] = s.sum;\nz[1] = s.count;\nz[2] = s.range.low;\nz[3] = s.range.high;\n"
        "for (int i = 0; i < 80; i++) z[4 + i] = s.own[i];"
    )


def random_records(rng: random.Random, t: str) -> str:
    """Arrays of structures with members of several types."""
    declared = f"struct @_r {{ {t} a; {rng.choice(('char', 'int', t))} b; {t} c[3]; }};\n"
    body = rng.choice((
        "y[i] = r[i].a + r[i].c[1];", "r[i].a = x[i];\nr[i].c[0] = r[i].a;", "r[i].c[i % 3] += x[i];",
        "if (r[i].a > x[i]) r[i].b = 1;\nelse r[i].c[2] = x[i];", "s += r[i].a * r[i].c[0];", "r[i] = r[n - 1 - i];",
        "for (int c = 0; c < 3; c++) r[i].c[c] = x[i] + r[i].a;", "struct @_r *q = &r[i];\nq->a += q->c[0] + q->c[1];",
        "if (r[i].b == 7 || r[i].a == x[i]) break;\ns += 1;", "r[i].b++;\nr[i].a = r[i].b;",
        "struct @_r q = r[i];\nq.a = x[i];\nr[i] = q;", "s = r[i].a > s ? r[i].a : s;",
    ))  # fmt: skip
    head = f"for ({rng.choice(('int', 'long'))} i = 0; i < n; i++)"
    given = f"int n, struct @_r *r, {t} *x, {t} *y"
    function = f"{t} @_each({given})\n{{\n{t} s = 0;\n{head} {{\n{body}\n}}\nreturn s;\n}}\n"
    fill = "for (int i = 0; i < 80; i++) {\nr[i].a = x[i];\nr[i].b = i & 15;\n" + "".join(
        f"r[i].c[{c}] = y[i + {c}];\n" for c in range(3)
    )
    show = "for (int i = 0; i < 80; i++) z[i] = r[i].a + r[i].b * 3 + r[i].c[0] * 5 + r[i].c[1] * 7 + r[i].c[2];"
    return f"{declared}{function}\fstatic struct @_r r[80];\n{fill}}}\nz[80] = @_each(n, r, x, y);\n{show}"


def random_view(rng: random.Random, t: str) -> str:
    """Bytes as wider integers and back, by casts of pointers and memcpy."""
    wide = rng.choice(("uint32_t", "uint16_t", "int32_t", "uint64_t", "int16_t", "float"))
    narrow = "unsigned char"
    value = "w[i] * 3 + 1" if wide == "float" else rng.choice(("w[i] ^ 0x5a", "w[i] * 3 + 1", "~w[i]", "w[i] >> 3"))
    few = f"n / (int)sizeof({wide})"
    return rng.choice((
        f"{wide} *w = ({wide} *)y;\nfor (int i = 0; i < {few}; i++) w[i] = {value};",
        f"const {wide} *w = (const {wide} *)x;\n"
        f"for (int i = 0; i < n; i++) y[i] = ({narrow})((const {narrow} *)w)[i] + 1;",
        "for (int i = 0; i < n; i++) {\nuint32_t v;\nmemcpy(&v, x + 4 * i, 4);\n"
        f"z[i] = v >> {rng.choice((0, 8, 13))};\n}}",
        "for (int i = 0; i < n; i++) {\nuint16_t v = x[2 * i] | x[2 * i + 1] << 8;\nmemcpy(y + 2 * i, &v, 2);\n}",
        f"for (int i = 0; i < {few}; i++) (({wide} *)y)[i] += ((const {wide} *)x)[i];",
        "uint64_t s = 0;\nfor (int i = 0; i + 8 <= n; i += 8) s ^= *(const uint64_t *)(x + i);\nz[0] = s ^ (s >> 32);",
        "for (int i = 0; i < n; i++)\n"
        "z[i] = (x[4 * i] << 24) | (x[4 * i + 1] << 16) | (x[4 * i + 2] << 8) | x[4 * i + 3];",
        f"const {wide} *w = (const {wide} *)x;\n{narrow} *o = y;\n"
        f"for (int i = 0; i < {few}; i++) {{\n{wide} v = w[i];\n*o++ = v > 3;\n*o++ = v < 9;\n}}",
        f"memmove(y + {rng.choice((0, 1, 3))}, y, n);\nfor (int i = 0; i < n; i++) y[i] += x[i];",
        f"memset(y, x[0], n);\nfor (int i = 0; i < n; i++) y[i] = y[i] + x[i];\nmemcpy(z, y, {few});",
    ))  # fmt: skip


def random_inner(rng: random.Random, t: str) -> str:
    """Assignments, steps and commas inside of expressions; conditions that do not evaluate all they have."""
    mark = "0.5f" if is_float(t) else "7"
    start = f"{t} u = 0, v = alpha;\nint k = 0;\n"
    end = "\nz[0] = u;\nz[1] = v;\nz[2] = k;"
    body = rng.choice((
        f"for (int i = 0; i < n; i++) y[i] = u = x[i] + {mark};", "for (int i = 0; i < n; i++) y[k++] = x[i];",
        "for (int i = 0; i < n; i++) if ((u = x[i]) > v) v = u;", "for (int i = 0; i < n; i++) u += (v = x[i], v * v);",
        "for (int i = 0, j = n - 1; i < j; i++, j--) u += x[i] * x[j], y[i] = u;",
        f"for (int i = 0; i < n; i++) if (x[i] > {mark} && ++k > 3) y[i] = k;",
        f"for (int i = 0; i < n; i++) if (x[i] > {mark} || (u += x[i]) > 100) v = x[i];",
        f"for (int i = 0; i < n; i++) y[i] = x[i] > {mark} ? (k++, x[i]) : (v = x[i]);",
        "int i = 0;\nwhile (i < n) y[i] = x[i], i++;", "int i = n;\nwhile (i--) y[i] = x[i] * 2;",
        f"{t} *p = y;\nconst {t} *q = x, *end = x + n;\nwhile (q < end) *p++ = *q++ + {mark};",
        f"{t} *p = y;\nconst {t} *q = x;\nfor (int c = n; c > 0; --c) *p++ += *q++;",
        f"{t} *p = y + n;\nconst {t} *q = x;\nwhile (p != y) *--p = *q++;",
        "for (int i = 0; i < n; i++) {\nconst int j = n - 1 - i;\ny[i] = (j & 1) ? x[j] : -x[j];\n}",
        f"for (int i = 0; i < n; i++) u = v, v = x[i], y[i] = u {rng.choice('+-')} v;",
        f"for (int i = 0; i < n; i++) y[i] = choose_@(x[i], {mark});", "for (int i = 0; i < n; i++) bump_@(&u, x[i]);",
        "for (int i = 0; i < n; i++) if (x[i] > v) bump_@(&y[i], x[i]);",
        "for (int i = 0; i < n; i++) y[i] = choose_@(k++, x[i]);", "do {\ny[k] = x[k];\n} while (++k < n);",
        "for (int i = 0; i < n; i++) y[i] = !!x[i] + (x[i] && y[i]) * 2 + (x[i] || y[i]) * 4;",
        "int i = 0;\ndo u += x[i]; while (i++ < n);", "for (int i = n; i --> 0;) y[i] = x[i] + i;",
    ))  # fmt: skip
    before = f"static {t} choose_@({t} a, {t} b) {{ if (a > b) return b; return a < 0 ? -a : a; }}\n"
    before += f"static void bump_@({t} *p, {t} by) {{ if (by > 2) *p += by; else *p = *p - 1; }}\n"
    return f"{before}\f{start}{body}{end}"


def random_complex_type(rng: random.Random, t: str) -> str:
    """The complex types of C."""
    kind = f"{t} _Complex"
    value = rng.choice(("a[i] * b[i]", "a[i] + b[i] * 2", "a[i] * conj(b[i])", "creal(a[i]) + b[i]", "-a[i]",
    "a[i] - alpha"))
    body = rng.choice((
        f"for (int i = 0; i < n; i++) c[i] = {value};", f"for (int i = 0; i < n; i++) c[i] += {value};",
        f"{kind} s = 0;\nfor (int i = 0; i < n; i++) s += {value};\nc[0] = s;",
        "for (int i = 0; i < n; i++) if (creal(a[i]) > cimag(b[i])) c[i] = a[i];",
        f"{t} s = 0;\nfor (int i = 0; i < n; i++) s += creal(a[i]) * cimag(a[i]);\nc[0] = s;",
        f"for (int i = 0; i < n; i++) {{\n{kind} u = a[i], v = b[i];\nc[i] = u * v;\nc[n - 1 - i] = u - v;\n}}",
        "for (int i = 0; i < n / 2; i++) {\n" f"{kind} u = c[2 * i], v = c[2 * i + 1];\n"
        "c[2 * i] = u + v;\nc[2 * i + 1] = (u - v) * I;\n}",
        "for (int i = 0; i < n; i++) if (a[i] == b[i]) c[i] = 1;\nelse c[i] = conj(c[i]);",
    ))  # fmt: skip
    cast = rng.choice(("(void *)", f"({kind} *)"))
    return f"const {kind} *a = {cast}x, *b = {cast}z;\n{kind} *c = {cast}y;\n{body}"


def random_gather(rng: random.Random, t: str) -> str:
    """Elements that data choose, in rows and in the array that is stored to."""
    place = rng.choice(("(b[i] & 63)", "((unsigned)b[i] % 50)", "(unsigned char)(b[i] & 31)", "((b[i] + i) & 63)"))
    body = rng.choice((
        f"y[i] = x[{place}];", f"y[i] += x[{place}] * x[i];", f"s += x[{place}];", f"y[{place}] = x[i];",
        f"y[{place}] += x[i];", f"if (x[i] > x[{place}]) y[i] = 1;", f"y[i] = y[{place}] + x[i];",
        f"s += x[{place}] > x[i];",
        f"y[i] = x[{place} + 1] - x[{place}];", f"const int j = {place};\ny[i] = x[j] * x[j + 1];",
        f"for (int j = 0; j < 4; j++) y[4 * i + j] = x[4 * {place} + j];", f"y[i] = x[i] > 2 ? x[{place}] : 0;",
        f"if (x[{place}] == 77) break;\ny[i] = x[{place}];", f"s = s > x[{place}] ? s : x[{place}];",
        f"y[i] = x[(int)b[{place}] & 63];",
    ))  # fmt: skip
    return f"{t} s = 0;\n{loop(rng, 'i', 'n', body)}\ny[0] += s;"


def random_extreme(rng: random.Random, t: str) -> str:
    """Least and greatest values by the library's functions and by comparisons; where they are."""
    f = "f" if t == "float" else ""
    low, high = f"fmin{f}", f"fmax{f}"
    body = rng.choice((
        f"s = {high}(s, x[i]);", f"s = {low}(x[i], s);", f"s = {high}(s, fabs{f}(x[i]));",
        f"s = {high}(s, x[i] * y[i]);",
        f"s = {high}(s, x[i]);\nu = {low}(u, x[i]);", f"y[i] = {high}(x[i], y[i]);",
        f"y[i] = {low}({high}(x[i], -0.5f), 0.5f);",
        "if (x[i] > s) {\ns = x[i];\nu = i;\n}", "s = x[i] > s ? x[i] : s;", "s = s < x[i] ? x[i] : s;",
        "if (!(x[i] <= s)) s = x[i];",
        f"s = {high}(s, x[i] - u);", f"s += {high}(x[i], 0);", f"y[i] = copysign{f}(x[i], y[i]);",
    ))  # fmt: skip
    first = rng.choice(("x[0]", "-INFINITY", "0", "alpha", "NAN"))
    return f"{t} s = {first}, u = 0;\n{loop(rng, 'i', 'n', body)}\nreturn s + u;"


def random_affine(rng: random.Random, t: str) -> str:
    """Recurrences s = a s + b of integers and floats, hashes and polynomials."""
    factor = rng.choice(("0.5f", "alpha") if is_float(t) else ("31", "alpha", "33u", "-3", "16777619u", "2",
    "(1 << 5)", "1"))
    step = rng.choice((
        f"s = s * {factor} + x[i];", f"s = {factor} * s - x[i];", f"s = (s + x[i]) * {factor};",
        f"s = x[i] - {factor} * s;",
        f"s = s * {factor} + x[i] * y[i];", f"s = {factor} * s + x[i];\nz[i] = s;",
        f"s = s * {factor} + u;\nu = u * 3 + x[i];",
        f"if (x[i] > 3) s = s * {factor} + x[i];", f"s = s * {factor} + (x[i] > y[i]);", f"s *= {factor};",
    ))  # fmt: skip
    if not is_float(t) and rng.random() < 0.3:
        step = rng.choice(("s = (s ^ x[i]) * 16777619u;", "s = ((s << 5) + s) + x[i];", "s = (s << 5) ^ x[i];",
                           "s += x[i];\nu += s;"))  # fmt: skip
    kind = t if is_float(t) else rng.choice((t, "unsigned", "unsigned long", "long", "int"))
    start = f"{kind} s = {rng.choice(('0', '1', 'alpha', '5381'))}, u = 1;"
    return f"{start}\n{loop(rng, 'i', 'n', step)}\nreturn ({t})(s + u);"
