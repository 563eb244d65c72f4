import type { Scope } from '@gwk/core/scopes';

/** The caller of a request, from its API key. */
export interface Caller {
  /** UUID of the key. */
  keyId: string;
  accountId: string;
  accountName: string;
  scopes: ReadonlySet<Scope>;
  /** Instances (UUIDs) that the key may access; null: all of the account. */
  instances: ReadonlySet<string> | null;
  /** Limit of the account's plan; null: the configured limit. */
  requestsPerMinute: number | null;
  suspended: boolean;
}

/** Whether the key may access an instance. */
export function maySee(caller: Caller, instanceId: string): boolean {
  return caller.instances === null || caller.instances.has(instanceId);
}

/** Instances of a restricted key as an SQL parameter; null: not restricted. */
export function listRestriction(caller: Caller): string[] | null {
  return caller.instances === null ? null : [...caller.instances];
}
