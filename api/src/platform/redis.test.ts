import { findEvictionPolicy } from './redis.js';

test.each([
  ['no policy for noeviction', 'used_memory:1\r\nmaxmemory_policy:noeviction\r\n', undefined],
  ['a policy that evicts the least recently used keys', 'maxmemory_policy:allkeys-lru\r\n', 'allkeys-lru'],
  ['a policy that evicts keys with an expiry', 'maxmemory_policy:volatile-ttl\r\n', 'volatile-ttl'],
  ['no policy where Redis reports none', 'used_memory:1\r\n', undefined],
])('finds %s', (_label, info, policy) => {
  expect(findEvictionPolicy(info)).toBe(policy);
});
