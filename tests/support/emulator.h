// A device on the CPU: blocks one after the other, the threads of a block in turns.
// Threads run in random order between barriers, so that what depends on an order shows.
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
#define U64(number) UINT64_C(number)
#define FUNCTION static inline
#define KERNEL static void
#define GLOBAL
#define APART __restrict__
#define UNROLLED
#define LOCAL
#define SHARED static __attribute__((section("block_memory")))
#define BLOCK device::block
#define BLOCKS device::blocks
#define THREAD device::current
#define BARRIER device::wait(device::at_barrier)
#define fma_f32 std::fma
#define fma_f64 std::fma
#define sqrt_f32 std::sqrt
#define sqrt_f64 std::sqrt
#define floor_f32 std::floor
#define floor_f64 std::floor
#define truncate_f32 std::trunc
#define truncate_f64 std::trunc

extern "C" __attribute__((weak)) char __start_block_memory[], __stop_block_memory[];

namespace device {

enum State { ready, at_barrier, in_warp, finished };
enum Fault { divergent = 1, absent = 2 };
const size_t STACK = 32 << 10;

static ucontext_t scheduler, contexts[THREADS];
static char *stacks;
static State states[THREADS];
static u64 sent[THREADS], seen[THREADS];
static bool asked[THREADS];
static i64 block, blocks;
static int current, faults;
static u32 drawn = 1;
static void (*body)();
static void **words;
static i64 last, grain;

static void wait(State state) {
  const int me = current;
  states[me] = state;
  swapcontext(&contexts[me], &scheduler);
}

static u64 exchanged(u64 word, int step) {
  const int me = current, other = me ^ step;
  sent[me] = word;
  wait(in_warp);
  if (other >= THREADS || other / WARP != me / WARP || !asked[other]) {
    faults |= absent;
    return word;
  }
  return seen[other];
}

static void run() {
  body();
  states[current] = finished;
}

static void start(int i) {
  getcontext(&contexts[i]);
  contexts[i].uc_stack.ss_sp = stacks + i * STACK;
  contexts[i].uc_stack.ss_size = STACK;
  contexts[i].uc_link = &scheduler;
  makecontext(&contexts[i], run, 0);
  states[i] = ready;
}

static void run_all_that_are_ready() {
  int order[THREADS];
  for (int i = 0; i < THREADS; ++i) order[i] = i;
  for (int i = THREADS - 1; i > 0; --i) {
    drawn = drawn * 1664525u + 1013904223u;
    std::swap(order[i], order[(drawn >> 8) % (i + 1)]);
  }
  for (int i : order) {
    if (states[i] != ready) continue;
    current = i;
    swapcontext(&scheduler, &contexts[i]);
  }
}

// Whether threads from `low` on all wait for the same, and so go on.
static bool released(int low, int count, State state) {
  for (int i = low; i < low + count; ++i)
    if (states[i] != state) return false;
  for (int i = low; i < low + count; ++i) {
    seen[i] = sent[i];
    asked[i] = true;
    states[i] = ready;
  }
  return true;
}

static void run_block() {
  if (__start_block_memory)
    memset(__start_block_memory, 0xCD, __stop_block_memory - __start_block_memory);
  for (int i = 0; i < THREADS; ++i) start(i);
  for (;;) {
    run_all_that_are_ready();
    bool moved = false, left = false;
    for (int low = 0; low < THREADS; low += WARP) moved |= released(low, WARP, in_warp);
    moved = moved || released(0, THREADS, at_barrier);
    for (State state : states) left |= state != finished;
    if (!left) return;
    if (!moved) {
      faults |= divergent;
      return;
    }
  }
}

static int launch(i64 count, void (*function)()) {
  if (!stacks) stacks = (char *)aligned_alloc(64, THREADS * STACK);
  body = function;
  blocks = count;
  faults = 0;
  for (block = 0; block < blocks; ++block) run_block();
  return faults;
}

}  // namespace device

template <class T> static inline T shuffled(T x, int step) {
  u64 word = 0;
  memcpy(&word, &x, sizeof x);
  word = device::exchanged(word, step);
  memcpy(&x, &word, sizeof x);
  return x;
}
