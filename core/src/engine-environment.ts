/**
 * Environment variables with which the operator must start an engine. glibc uses one heap for all threads and returns
 * free memory, and libuv uses two threads. This saves 4 MB per engine.
 */
export const ENGINE_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '65536',
  UV_THREADPOOL_SIZE: '2',
} as const;
