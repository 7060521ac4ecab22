/* The way from Python to a compiled function for arguments that are like those of a call before: what was found of these
 * is looked up by integers, shapes and strides. All other calls, and all errors, go the way that is written in Python.
 *
 *     call = FastCall(entry, parameters, orders, pairs, defaults, result, ndarray, resolve, slow)
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32, DIMENSIONS = 8, KEY = 160, SLOTS = 64, WAYS = 4 };

typedef void entry_function(void **, void *);

/* A parameter of the C function. kind: 'i' an integer, 'f' a float, '?' a bool, 'a' an array of elements of `format`. */
struct parameter {
  char kind, format[4], written;
  int size;
};

/* What was found of calls with a key: the values of all integers. */
struct known {
  int length;
  int64_t *key, *integers;
};

typedef struct {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  entry_function *entry;
  int count, pairs, result_size;
  char result_kind;
  struct parameter parameters[MOST];
  double defaults[MOST];
  signed char pair[MOST * MOST][2];  /* Arrays that must not share memory. */
  signed char order[MOST + 1][MOST]; /* Which parameter each argument is, by the number of arguments; -1: none. */
  char taken[MOST + 1];
  PyObject *result, *ndarray, *resolve, *slow;
  struct known table[SLOTS][WAYS];
  unsigned next;
} FastCall;

union value {
  int64_t i64;
  int32_t i32;
  int16_t i16;
  int8_t i8;
  double f64;
  float f32;
  _Bool truth;
};

static void store_integer(union value *to, int size, int64_t value)
{
  switch (size) {
  case 1: to->i8 = (int8_t)value; break;
  case 2: to->i16 = (int16_t)value; break;
  case 4: to->i32 = (int32_t)value; break;
  default: to->i64 = value;
  }
}

/* The first and one past the last byte of an array. */
static void find_bytes(const Py_buffer *view, uintptr_t *first, uintptr_t *last)
{
  *first = (uintptr_t)view->buf;
  *last = *first + (uintptr_t)view->itemsize;
  for (int d = 0; d < view->ndim; d++) {
    if (view->shape[d] == 0) {
      *last = *first;
      return;
    }
    const Py_ssize_t far = (view->shape[d] - 1) * view->strides[d];
    if (far < 0)
      *first += (uintptr_t)far;
    else
      *last += (uintptr_t)far;
  }
}

static struct known *look_up(FastCall *self, const int64_t *key, int length)
{
  uint64_t hash = (uint64_t)length;
  for (int i = 0; i < length; i++)
    hash = (hash ^ (uint64_t)key[i]) * 0x9e3779b97f4a7c15u;
  struct known *slot = self->table[hash >> 58];
  for (int w = 0; w < WAYS; w++)
    if (slot[w].length == length && memcmp(slot[w].key, key, (size_t)length * sizeof *key) == 0)
      return &slot[w];
  struct known *worst = &slot[self->next++ % WAYS];
  for (int w = 0; w < WAYS; w++)
    if (slot[w].length == 0)
      worst = &slot[w];
  free(worst->key);
  worst->key = NULL;
  worst->length = 0;
  return worst;
}

/* Asks Python for the integers of a call, and keeps them; 0, or -1 with an error. */
static int resolve(FastCall *self, PyObject *const *arguments, Py_ssize_t given, const int64_t *key, int length,
                   int64_t *integers)
{
  PyObject *tuple = PyTuple_New(given);
  if (tuple == NULL)
    return -1;
  for (Py_ssize_t i = 0; i < given; i++)
    PyTuple_SET_ITEM(tuple, i, Py_NewRef(arguments[i]));
  PyObject *found = PyObject_CallOneArg(self->resolve, tuple);
  Py_DECREF(tuple);
  if (found == NULL)
    return -1;
  for (int p = 0; p < self->count; p++) {
    integers[p] = (int64_t)PyLong_AsUnsignedLongLongMask(PyTuple_GET_ITEM(found, p));
  }
  Py_DECREF(found);
  if (PyErr_Occurred())
    return -1;
  /* Only now: Python code has run, which may have called this function. */
  struct known *slot = look_up(self, key, length);
  if (slot->length == 0) {
    int64_t *memory = malloc((size_t)(length + self->count) * sizeof *memory);
    if (memory != NULL) {
      memcpy(memory, key, (size_t)length * sizeof *key);
      memcpy(memory + length, integers, (size_t)self->count * sizeof *integers);
      *slot = (struct known){length, memory, memory + length};
    }
  }
  return 0;
}

static PyObject *make_result(FastCall *self, const union value *value)
{
  PyObject *plain;
  switch (self->result_kind) {
  case 0: Py_RETURN_NONE;
  case 'f': plain = PyFloat_FromDouble(self->result_size == 4 ? (double)value->f32 : value->f64); break;
  case '?': plain = PyBool_FromLong(value->truth); break;
  case 'u':
    plain = PyLong_FromUnsignedLongLong(
      self->result_size == 1 ? (uint8_t)value->i8 : self->result_size == 2 ? (uint16_t)value->i16
      : self->result_size == 4 ? (uint32_t)value->i32 : (uint64_t)value->i64);
    break;
  default:
    plain = PyLong_FromLongLong(
      self->result_size == 1 ? value->i8 : self->result_size == 2 ? value->i16
      : self->result_size == 4 ? value->i32 : value->i64);
  }
  if (plain == NULL)
    return NULL;
  PyObject *out = PyObject_CallOneArg(self->result, plain);
  Py_DECREF(plain);
  return out;
}

static PyObject *call(PyObject *object, PyObject *const *arguments, size_t flagged, PyObject *names)
{
  FastCall *const self = (FastCall *)object;
  const Py_ssize_t given = PyVectorcall_NARGS(flagged);
  Py_buffer views[MOST];
  int view_of[MOST], held = 0, length = 0, slowly = 0;
  int64_t key[KEY], integers[MOST];
  union value values[MOST], result = {0};
  void *vector[MOST];
  PyObject *out = NULL;

  if ((names != NULL && PyTuple_GET_SIZE(names)) || given > MOST || !self->taken[given])
    return PyObject_Vectorcall(self->slow, arguments, flagged, names);
  for (int p = 0; p < self->count; p++) {
    vector[p] = &values[p];
    if (self->parameters[p].kind == 'f' && self->parameters[p].size == 4)
      values[p].f32 = (float)self->defaults[p];
    else if (self->parameters[p].kind == 'f')
      values[p].f64 = self->defaults[p];
    else if (self->parameters[p].kind == '?')
      values[p].truth = self->defaults[p] != 0;
  }
  key[length++] = given;
  for (Py_ssize_t i = 0; i < given; i++) {
    PyObject *const argument = arguments[i];
    const int p = self->order[given][i];
    const struct parameter *const like = &self->parameters[p];
    if (like->kind == 'a') {
      Py_buffer *const view = &views[held];
      const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (like->written ? PyBUF_WRITABLE : 0);
      if ((PyObject *)Py_TYPE(argument) != self->ndarray)
        goto slow;
      if (PyObject_GetBuffer(argument, view, flags) != 0) {
        PyErr_Clear();
        goto slow;
      }
      view_of[p] = held++;
      if (view->itemsize != like->size || strcmp(view->format, like->format) != 0 || view->ndim > DIMENSIONS ||
          (uintptr_t)view->buf % (uintptr_t)like->size != 0 || length + 2 * view->ndim + 1 > KEY)
        goto slow;
      key[length++] = view->ndim;
      for (int d = 0; d < view->ndim; d++) {
        key[length++] = view->shape[d];
        key[length++] = view->strides[d];
      }
      vector[p] = view->buf;
    } else if (like->kind == 'i') {
      int overflow = 0;
      if (!PyLong_CheckExact(argument) || length == KEY)
        goto slow;
      key[length++] = PyLong_AsLongLongAndOverflow(argument, &overflow);
      if (overflow)
        goto slow;
    } else if (like->kind == '?') {
      if (argument != Py_True && argument != Py_False)
        goto slow;
      values[p].truth = argument == Py_True;
    } else {
      if (!PyFloat_CheckExact(argument) && !PyLong_CheckExact(argument))
        goto slow;
      const double value = PyFloat_AsDouble(argument);
      if (value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        goto slow;
      }
      if (like->size == 4 && fabs(value) > FLT_MAX && !isinf(value))
        goto slow;
      if (like->size == 4)
        values[p].f32 = (float)value;
      else
        values[p].f64 = value;
    }
  }
  const struct known *const known = look_up(self, key, length);
  if (known->length)
    memcpy(integers, known->integers, (size_t)self->count * sizeof *integers);
  else if (resolve(self, arguments, given, key, length, integers) != 0)
    goto end;
  for (int p = 0; p < self->count; p++)
    if (self->parameters[p].kind == 'i')
      store_integer(&values[p], self->parameters[p].size, integers[p]);
  for (int i = 0; i < self->pairs; i++) {
    uintptr_t a, a_end, b, b_end;
    find_bytes(&views[view_of[self->pair[i][0]]], &a, &a_end);
    find_bytes(&views[view_of[self->pair[i][1]]], &b, &b_end);
    if (a < b_end && b < a_end)
      goto slow; /* They may have elements in turn, which are not shared: that takes longer to tell. */
  }
  Py_BEGIN_ALLOW_THREADS
  self->entry(vector, &result);
  Py_END_ALLOW_THREADS
  out = make_result(self, &result);
  goto end;

slow:
  slowly = 1;
end:
  while (held > 0)
    PyBuffer_Release(&views[--held]);
  return slowly ? PyObject_Vectorcall(self->slow, arguments, flagged, names) : out;
}

static void clear_table(FastCall *self)
{
  for (int s = 0; s < SLOTS; s++)
    for (int w = 0; w < WAYS; w++)
      free(self->table[s][w].key);
}

static int visit(PyObject *object, visitproc visit, void *arg)
{
  FastCall *const self = (FastCall *)object;
  Py_VISIT(self->result);
  Py_VISIT(self->ndarray);
  Py_VISIT(self->resolve);
  Py_VISIT(self->slow);
  Py_VISIT(Py_TYPE(object));
  return 0;
}

static int clear(PyObject *object)
{
  FastCall *const self = (FastCall *)object;
  Py_CLEAR(self->result);
  Py_CLEAR(self->ndarray);
  Py_CLEAR(self->resolve);
  Py_CLEAR(self->slow);
  return 0;
}

static void dealloc(PyObject *object)
{
  PyTypeObject *const type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  clear_table((FastCall *)object);
  clear(object);
  type->tp_free(object);
  Py_DECREF(type);
}

/* (entry, ((kind, size, format, written, default), ...), ((parameter of each argument) or None, ...), ((a, b), ...),
 *  result kind, result size, result type, ndarray, resolve, slow) */
static PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *names)
{
  PyObject *parameters, *orders, *pairs, *result, *ndarray, *resolve_, *slow;
  unsigned long long entry;
  int result_kind, result_size;
  (void)names;
  if (!PyArg_ParseTuple(arguments, "KO!O!O!CiOOOO", &entry, &PyTuple_Type, &parameters, &PyTuple_Type, &orders,
                        &PyTuple_Type, &pairs, &result_kind, &result_size, &result, &ndarray, &resolve_, &slow))
    return NULL;
  if (PyTuple_GET_SIZE(parameters) > MOST || PyTuple_GET_SIZE(orders) > MOST + 1) {
    PyErr_SetString(PyExc_ValueError, "too many parameters");
    return NULL;
  }
  FastCall *const self = (FastCall *)type->tp_alloc(type, 0);
  if (self == NULL)
    return NULL;
  self->vectorcall = call;
  self->entry = (entry_function *)(uintptr_t)entry;
  self->result_kind = result_kind == '-' ? 0 : (char)result_kind;
  self->result_size = result_size;
  self->result = Py_NewRef(result);
  self->ndarray = Py_NewRef(ndarray);
  self->resolve = Py_NewRef(resolve_);
  self->slow = Py_NewRef(slow);
  self->count = (int)PyTuple_GET_SIZE(parameters);
  for (int p = 0; p < self->count; p++) {
    int kind, written;
    const char *format;
    struct parameter *const at = &self->parameters[p];
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(parameters, p), "Cispd", &kind, &at->size, &format, &written,
                          &self->defaults[p]))
      goto failed;
    at->kind = (char)kind;
    at->written = (char)written;
    strncpy(at->format, format, sizeof at->format - 1);
  }
  for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(orders); n++) {
    PyObject *const order = PyTuple_GET_ITEM(orders, n);
    self->taken[n] = order != Py_None;
    for (Py_ssize_t i = 0; order != Py_None && i < PyTuple_GET_SIZE(order); i++)
      self->order[n][i] = (signed char)PyLong_AsLong(PyTuple_GET_ITEM(order, i));
  }
  self->pairs = (int)PyTuple_GET_SIZE(pairs);
  for (int i = 0; i < self->pairs; i++) {
    int a, b;
    if (!PyArg_ParseTuple(PyTuple_GET_ITEM(pairs, i), "ii", &a, &b))
      goto failed;
    self->pair[i][0] = (signed char)a;
    self->pair[i][1] = (signed char)b;
  }
  if (PyErr_Occurred())
    goto failed;
  return (PyObject *)self;

failed:
  Py_DECREF(self);
  return NULL;
}

static PyMemberDef members[] = {
  {"__vectorcalloffset__", T_PYSSIZET, offsetof(FastCall, vectorcall), READONLY, NULL},
  {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
  {Py_tp_new, make}, {Py_tp_dealloc, dealloc}, {Py_tp_traverse, visit}, {Py_tp_clear, clear},
  {Py_tp_call, PyVectorcall_Call}, {Py_tp_members, members}, {0, NULL},
};

static PyType_Spec spec = {
  "planish_fast_call.FastCall", sizeof(FastCall), 0,
  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots,
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "planish_fast_call", NULL, -1, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_planish_fast_call(void)
{
  PyObject *const made = PyModule_Create(&module);
  PyObject *const type = PyType_FromSpec(&spec);
  if (made == NULL || type == NULL || PyModule_AddObject(made, "FastCall", type) != 0) {
    Py_XDECREF(made);
    Py_XDECREF(type);
    return NULL;
  }
  return made;
}
