/**
 * Environment of an engine's process, which only whoever starts it can set. One heap of the C library in place of one
 * for each thread, given back when it is free, and two threads for files and names: 4 MB less for each engine.
 */
export const ENGINE_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '65536',
  UV_THREADPOOL_SIZE: '2',
} as const;
