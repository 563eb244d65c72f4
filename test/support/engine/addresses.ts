import type { RedisAddress } from '@gwk/engine-pod/redis/connection';

/** A URL with credentials, as an engine is told it. */
export function addressOf(url: string): RedisAddress {
  const { host, username, password } = new URL(url);
  return {
    url: `redis://${host}`,
    username: username === '' ? null : decodeURIComponent(username),
    password: password === '' ? null : decodeURIComponent(password),
  };
}
