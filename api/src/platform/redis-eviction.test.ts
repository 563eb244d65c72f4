import { evictionOf } from './redis-eviction.js';

test.each([
  ['says that it evicts nothing', 'used_memory:1\r\nmaxmemory_policy:noeviction\r\n', 'none'],
  ['evicts the least used', 'maxmemory_policy:allkeys-lru\r\n', 'evicts'],
  ['evicts what has an end', 'maxmemory_policy:volatile-ttl\r\n', 'evicts'],
  ['does not say', 'used_memory:1\r\n', 'unknown'],
])('a Redis that %s', (_label, info, eviction) => {
  expect(evictionOf(info).eviction).toBe(eviction);
});
