// The library of the stack tests: ways of calling the runtime that are hard to
// unwind. It is built with -O2 -fomit-frame-pointer.
#include "model.h"

#include <alloca.h>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

extern "C" int cudaLaunchKernel(const void *, unsigned long, unsigned long, unsigned long, unsigned long, void **, unsigned long, void *);

namespace model {

// Leaves work after a call, so that it is not a tail call, and keeps values in registers.
static volatile long sink;

template <class T> struct Tensor {
	std::vector<T> v;
	explicit Tensor(size_t n) : v(n, T(1)) {}
	__attribute__((noinline)) T launch(int depth);
};

template <class T> T Tensor<T>::launch(int depth)
{
	int err = cudaLaunchKernel(this, 1, 1, 1, 1, nullptr, 0, nullptr);
	sink += err + depth;
	return std::accumulate(v.begin(), v.end(), T(0));
}

struct Layer {
	virtual double forward(Tensor<double> &t, int depth) = 0;
	virtual ~Layer() = default;
};

// A frame whose size is not known at compile time.
struct Dynamic : Layer {
	__attribute__((noinline)) double forward(Tensor<double> &t, int depth) override
	{
		char *p = static_cast<char *>(alloca(16 + size_t(depth) * 64));
		p[0] = char(depth);
		double r = t.launch(depth);
		sink += p[0];
		return r;
	}
};

// A frame that is realigned, and addressed through another register.
struct Aligned : Layer {
	Dynamic inner;
	__attribute__((noinline)) double forward(Tensor<double> &t, int depth) override
	{
		alignas(64) volatile double block[16];
		block[depth & 15] = depth;
		double r = inner.forward(t, depth + 1);
		return r + block[depth & 15];
	}
};

__attribute__((noinline)) double direct(int depth)
{
	Tensor<double> t(8);
	Aligned a;
	Layer &l = a;
	double r = l.forward(t, depth);
	sink += long(r);
	return r;
}

__attribute__((noinline)) double recurse(int n)
{
	double r = n ? recurse(n - 1) : direct(1);
	sink += n;
	return r;
}

static int by_call(const void *a, const void *b)
{
	sink += long(direct(2));
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

__attribute__((noinline)) double through_libc()
{
	int v[2] = {2, 1};
	qsort(v, 2, sizeof v[0], by_call);
	return v[0];
}

static void handler(int) { sink += long(direct(3)); }

__attribute__((noinline)) double in_signal()
{
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	return sink;
}

__attribute__((noinline)) double in_thread()
{
	std::thread t([] { sink += long(direct(4)); });
	t.join();
	return sink;
}

__attribute__((noinline)) double behind_exception()
{
	std::function<double(int)> f = [](int n) -> double {
		if (n)
			throw std::string("wrong");
		return 0;
	};
	try {
		return f(1);
	} catch (const std::string &s) {
		return direct(int(s.size()));
	}
}

// Frames with large local arrays, of which most pages are never written.
#define FRAME(kb, callee)                                     \
	__attribute__((noinline)) double frame##kb(int n)     \
	{                                                     \
		volatile char block[kb * 1024];               \
		block[0] = block[sizeof block - 1] = char(n); \
		double r = callee(n + 1);                     \
		return r + block[0] + block[sizeof block - 1]; \
	}
FRAME(20, direct)
FRAME(36, direct)
FRAME(48, frame36)
FRAME(200, frame48)
FRAME(3000, frame36)

__attribute__((noinline)) double frames_in_thread()
{
	std::thread t([] { sink += long(frame200(4)); });
	t.join();
	return sink;
}

double run(const std::string &how, int n)
{
	double r;
	if (how == "direct")
		r = direct(n);
	else if (how == "recurse")
		r = recurse(n);
	else if (how == "libc")
		r = through_libc();
	else if (how == "signal")
		r = in_signal();
	else if (how == "frame20")
		r = frame20(n);
	else if (how == "frame36")
		r = frame36(n);
	else if (how == "frame200")
		r = frame200(n);
	else if (how == "frame3000")
		r = frame3000(n);
	else if (how == "frames_in_thread")
		r = frames_in_thread();
	else if (how == "thread")
		r = in_thread();
	else
		r = behind_exception();
	sink += n;
	return r;
}

} // namespace model

extern "C" __attribute__((visibility("default"))) double model_run(const char *how, int n) { return model::run(how, n) + 1; }
