/* A Python extension that calls CUDA's runtime, holding the interpreter's lock. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern int cudaFree(void *);

static PyObject *direct_free(PyObject *self, PyObject *n)
{
	return PyLong_FromLong(cudaFree(PyLong_AsVoidPtr(n)));
}

/* Calls a Python function from C. */
static PyObject *direct_call(PyObject *self, PyObject *f) { return PyObject_CallFunction(f, "i", 7); }

static PyMethodDef methods[] = {
	{"free", direct_free, METH_O, ""},
	{"call", direct_call, METH_O, ""},
	{0},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "direct", "", -1, methods};

PyMODINIT_FUNC PyInit_direct(void) { return PyModule_Create(&module); }
