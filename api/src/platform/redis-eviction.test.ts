import { parseEviction } from './redis-eviction.js';

test.each([
  ['reports noeviction', 'used_memory:1\r\nmaxmemory_policy:noeviction\r\n', 'none'],
  ['evicts the least recently used keys', 'maxmemory_policy:allkeys-lru\r\n', 'evicts'],
  ['evicts keys with an expiry', 'maxmemory_policy:volatile-ttl\r\n', 'evicts'],
  ['reports no policy', 'used_memory:1\r\n', 'unknown'],
])('classifies a Redis that %s', (_label, info, eviction) => {
  expect(parseEviction(info).eviction).toBe(eviction);
});
