import { hash } from 'node:crypto';

/** Identity of a request with an `Idempotency-Key`. */
export interface RequestName {
  accountId: string;
  /** Method and path pattern, for example `POST /v1/instances`. */
  route: string;
  key: string;
}

/**
 * Id of the record: 128 bits of SHA-256, as 32 hex digits. Keys of consumers may be long; an index of these ids has a third
 * of the size of an index of keys (docs/decisions/0025-look-up-external-keys-by-16-byte-digests.md).
 */
export function makeRecordId({ accountId, route, key }: RequestName): string {
  return hash('sha256', `${accountId}\n${route}\n${key}`, 'hex').slice(0, 32);
}
