#include <string>
namespace model {
double run(const std::string &how, int n);
}
