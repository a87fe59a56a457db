// Kernels whose limiting resource is known by construction, second set (see README.md here).
// build: nvcc -O3 -lineinfo -gencode=arch=compute_90a,code=sm_90a -o zoo_b zoo_b.cu
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(call)                                                                   \
  do {                                                                                \
    cudaError_t status = (call);                                                      \
    if (status != cudaSuccess) {                                                      \
      fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      exit(1);                                                                        \
    }                                                                                 \
  } while (0)

// Every thread adds to one address: the L2 slice that owns it serialises.
__global__ void atomic_one_address(unsigned *counter, const unsigned *in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicExch(counter, in[i] + i);  // exchange: the compiler cannot fold it into one a warp
  }
}

// ex2 only: the special-function pipe (XU) gives 16 results a cycle and SM.
__global__ void sfu_bound(float *out, int rounds) {
  float a = threadIdx.x * 1e-3f, b = a + 0.1f, c = a + 0.2f, d = a + 0.3f;
  for (int i = 0; i < rounds; ++i) {
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(a));
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(b));
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(c));
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(d));
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

// Each lane takes its own branch of a 32-way switch: one lane an instruction.
__global__ void divergent(float *out, int rounds) {
  float x = threadIdx.x * 0.001f + 1.0f;
  int lane = threadIdx.x & 31;
  for (int i = 0; i < rounds; ++i) {
#pragma unroll
    for (int k = 0; k < 32; ++k) {
      if (lane == k) {
#pragma unroll
        for (int j = 0; j < 32; ++j) {  // too long a body for the compiler to predicate
          x = x * (1.0f + k * 1e-4f) + (0.5f + j);
          asm volatile("" : "+f"(x));
        }
      }
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// 24 MB are read over and over: they stay in L2 (60 MB), so L2 bandwidth is the roof.
__global__ void l2_reread(const float4 *in, float *out, int n, int rounds) {
  float sum = 0;
  int stride = gridDim.x * blockDim.x;
  for (int r = 0; r < rounds; ++r) {
    int start = (blockIdx.x * blockDim.x + threadIdx.x + r * 7919 * 32) % n;
#pragma unroll 8
    for (int i = 0; i < n / stride; ++i) {
      int at = start + i * stride;
      at = at >= n ? at - n : at;
      float4 v;
      asm volatile("ld.global.cg.v4.f32 {%0,%1,%2,%3}, [%4];"
                   : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                   : "l"(in + at));
      sum += v.x + v.y + v.z + v.w;
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Conflict-free 128-bit shared-memory loads: the L1 data pipe is full, no wavefront is excess.
__global__ void shared_wavefronts(float *out, int rounds) {
  __shared__ float4 tile[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = make_float4(i, i, i, i);
  __syncthreads();
  float sum = 0;
  int at = threadIdx.x;
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      float4 v = tile[(at + j * 64) & 1023];
      sum += v.x + v.y + v.z + v.w;  // all four: else the compiler narrows the load
    }
    at = (at + 32) & 1023;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// One warp works while 31 wait at the barrier, round after round.
__global__ void barrier_bound(float *out, int rounds) {
  __shared__ float shared;
  if (threadIdx.x == 0) shared = 1.0f;
  __syncthreads();
  float x = 0;
  for (int r = 0; r < rounds; ++r) {
    if (threadIdx.x < 32) {
      float y = shared;
#pragma unroll
      for (int j = 0; j < 24; ++j) y = sqrtf(y + 1.0f);
      if (threadIdx.x == 0) shared = y;
    }
    __syncthreads();
    x += shared;
    __syncthreads();
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

// Independent double FMA chains: the FP64 pipe.
__global__ void fp64_bound(double *out, int rounds) {
  double a = threadIdx.x * 1e-3, b = a + 1, c = a + 2, d = a + 3;
  for (int i = 0; i < rounds; ++i) {
    a = a * 1.0000001 + 0.5;
    b = b * 1.0000001 + 0.5;
    c = c * 1.0000001 + 0.5;
    d = d * 1.0000001 + 0.5;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}

// One CTA an SM by 200 KB of shared memory, loads that depend on each other: too little in flight.
__global__ void few_in_flight(const int *next, int *out, int steps) {
  extern __shared__ int unused[];
  int at = (blockIdx.x * blockDim.x + threadIdx.x) * 1031;
  for (int i = 0; i < steps; ++i) {
    at = next[at & ((1 << 26) - 1)];
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

__global__ void fill_chain(int *next, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) next[i] = (int)((i * 1664525u + 1013904223u) & ((1u << 26) - 1));
}

int main() {
  const int n = 1 << 26;
  unsigned *ints, *counter;
  float *out;
  int *next;
  CHECK(cudaMalloc(&ints, n * sizeof(unsigned)));
  CHECK(cudaMalloc(&counter, 4096));
  CHECK(cudaMalloc(&out, 64 << 20));
  CHECK(cudaMalloc(&next, n * sizeof(int)));
  CHECK(cudaMemset(ints, 1, n * sizeof(unsigned)));
  CHECK(cudaMemset(counter, 0, 4096));
  fill_chain<<<n / 256, 256>>>(next, n);
  atomic_one_address<<<132 * 8, 256>>>(counter, ints, 1 << 20);
  sfu_bound<<<132 * 8, 256>>>(out, 4096);
  divergent<<<132 * 8, 256>>>(out, 64);
  l2_reread<<<132 * 8, 256>>>((const float4 *)ints, out, (24 << 20) / 16, 32);
  shared_wavefronts<<<132 * 8, 256>>>(out, 512);
  barrier_bound<<<132 * 2, 1024>>>(out, 512);
  fp64_bound<<<132 * 8, 256>>>((double *)out, 4096);
  CHECK(cudaFuncSetAttribute(few_in_flight, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  few_in_flight<<<132, 64, 200 << 10>>>(next, (int *)out, 400);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  puts("done");
}
