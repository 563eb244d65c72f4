import type { RedisAddress } from '@gwk/engine-pod/redis/connection';

/** Splits a URL with credentials into the address form of an engine. */
export function toRedisAddress(url: string): RedisAddress {
  const { host, username, password } = new URL(url);
  return {
    url: `redis://${host}`,
    username: username === '' ? null : decodeURIComponent(username),
    password: password === '' ? null : decodeURIComponent(password),
  };
}
