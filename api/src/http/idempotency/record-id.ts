import { hash } from 'node:crypto';

/** What a request with an `Idempotency-Key` is known by again. */
export interface RequestName {
  accountId: string;
  /** Method and path pattern, for example `POST /v1/instances`. */
  route: string;
  key: string;
}

/**
 * The id of its row: 128 bits of SHA-256, as 32 hex digits. What consumers call their requests may be long, and the row
 * of every message is found by it: an index of ids is a third of one of names.
 */
export function recordIdOf({ accountId, route, key }: RequestName): string {
  return hash('sha256', `${accountId}\n${route}\n${key}`, 'hex').slice(0, 32);
}
