// The program of the stack tests: it makes calls through the library, one for each
// line of its input, "HOW N" or "plugin FILE HOW N".
#include "model.h"

#include <cstdio>
#include <dlfcn.h>
#include <iostream>
#include <sstream>

namespace {

[[gnu::noinline]] double plugin(const std::string &file, const std::string &how, int n)
{
	void *lib = dlopen(file.c_str(), RTLD_NOW);
	auto *f = lib ? reinterpret_cast<double (*)(const char *, int)>(dlsym(lib, "model_run")) : nullptr;
	return f ? f(how.c_str(), n) + 1 : -1;
}

[[gnu::noinline]] double step(std::istringstream &words)
{
	std::string how, file;
	int n = 0;
	words >> how;
	if (how != "plugin") {
		words >> n;
		return model::run(how, n) + 1;
	}
	words >> file >> how >> n;
	return plugin(file, how, n);
}

} // namespace

int main()
{
	std::string line;
	while (std::getline(std::cin, line)) {
		std::istringstream words(line);
		double r = step(words);
		std::printf("%g\n", r);
		std::fflush(stdout);
	}
	return 0;
}
