// Serves a package from several threads, without Python: server PACKAGE THREADS
//
// Each line of stdin is a request: the numbers of a row of float32. Threads answer
// requests as they come, all with one package. An answer is the number of the request
// and the index of the largest score, or an error.
#include <girih_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct FreePackage {
    void operator()(girih_package *package) const { girih_free(package); }
};
struct FreeTensor {
    void operator()(DLManagedTensor *tensor) const { tensor->deleter(tensor); }
};
using Package = std::unique_ptr<girih_package, FreePackage>;
using Tensor = std::unique_ptr<DLManagedTensor, FreeTensor>;

void check(int code, const girih_error &error) {
    if (code != GIRIH_OK) throw std::runtime_error(girih_error_text(&error));
}

Package load(const std::string &path) {
    girih_package *package = nullptr;
    girih_error error;
    check(girih_load(path.c_str(), nullptr, &package, &error), error);
    return Package(package);
}

// Scores of a row. The row is given twice, because symbolic sizes begin at 2.
Tensor scores_of(const girih_entry *entry, const std::vector<float> &row) {
    std::vector<float> rows(row);
    rows.insert(rows.end(), row.begin(), row.end());
    std::int64_t sizes[] = {2, static_cast<std::int64_t>(row.size())};
    DLManagedTensor input{};
    input.dl_tensor.data = rows.data();
    input.dl_tensor.device.device_type = decltype(input.dl_tensor.device.device_type)(kDLCPU);
    input.dl_tensor.ndim = 2;
    input.dl_tensor.dtype = {kDLFloat, 32, 1};
    input.dl_tensor.shape = sizes;
    DLManagedTensor *in[] = {&input}, *out[1];
    girih_error error;
    check(girih_call(entry, in, 1, out, 1, &error), error);
    return Tensor(out[0]);
}

std::string answer(const girih_entry *entry, const std::string &line) {
    std::istringstream words(line);
    std::vector<float> row;
    for (float number; words >> number;) row.push_back(number);
    try {
        Tensor scores = scores_of(entry, row);
        auto *numbers = static_cast<const float *>(scores->dl_tensor.data);
        auto *end = numbers + scores->dl_tensor.shape[1];
        return std::to_string(std::max_element(numbers, end) - numbers);
    } catch (const std::runtime_error &error) {
        return std::string("error: ") + error.what();
    }
}

void serve(const girih_entry *entry, int threads) {
    std::mutex in, out;
    long count = 0;
    auto loop = [&] {
        for (;;) {
            std::string line;
            long number;
            {
                std::lock_guard<std::mutex> lock(in);
                if (!std::getline(std::cin, line)) return;
                number = count++;
            }
            std::string text = answer(entry, line);
            std::lock_guard<std::mutex> lock(out);
            std::cout << number << ": " << text << std::endl;
        }
    };
    std::vector<std::thread> running;
    for (int i = 0; i < threads; i++) running.emplace_back(loop);
    for (std::thread &each : running) each.join();
}

}  // namespace

int main(int count, char **arguments) {
    if (count != 3) {
        std::cerr << "usage: " << arguments[0] << " PACKAGE THREADS < requests\n";
        return 2;
    }
    try {
        Package package = load(arguments[1]);
        const girih_entry *entry = nullptr;
        girih_error error;
        check(girih_entry_point(package.get(), nullptr, &entry, &error), error);
        serve(entry, std::max(1, std::atoi(arguments[2])));
    } catch (const std::runtime_error &error) {
        std::cerr << "error: " << error.what() << "\n";
        return 1;
    }
    return 0;
}
