// SPDX-License-Identifier: Apache-2.0
// A queue of events behind std::condition_variable: wait() of the C++ library, wait_for() inline.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

extern "C" {
#include "inject.h"
}

static std::mutex mutex;
static std::condition_variable changed;
static std::deque<int> events;

static void post()
{
    for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(INJECT_TICK_MS));
        std::lock_guard<std::mutex> lock(mutex);
        events.push_back(1);
        changed.notify_one();
    }
}

int main(int argc, char **argv)
{
    inject_start(argc, argv);
    std::thread(post).detach();
    do {
        std::unique_lock<std::mutex> lock(mutex);
        if (events.size() % 2 == 0) {
            changed.wait(lock, [] { return !events.empty(); });
        } else {
            changed.wait_for(lock, std::chrono::seconds(1), [] { return !events.empty(); });
        }
        events.clear();
    } while (inject_tick());
    return 0;
}
