import type { Scope } from '@gwk/core/scopes';

/** Who makes a request, as its API key says. */
export interface Caller {
  /** UUID of the key. */
  keyId: string;
  accountId: string;
  accountName: string;
  scopes: ReadonlySet<Scope>;
  /** The instances (UUIDs) that the key may see; null: all of the account. */
  instances: ReadonlySet<string> | null;
  /** Of the account's plan; null: the configured one. */
  requestsPerMinute: number | null;
  suspended: boolean;
}

/** Whether the key may see what belongs to this instance. */
export function maySee(caller: Caller, instanceId: string): boolean {
  return caller.instances === null || caller.instances.has(instanceId);
}

/** The instances of a restricted key as an SQL parameter; null where there is no restriction. */
export function restrictionOf(caller: Caller): string[] | null {
  return caller.instances === null ? null : [...caller.instances];
}
