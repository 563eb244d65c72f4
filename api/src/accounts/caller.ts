import type { Scope } from '@gwk/core/scopes';

/** Proof of a caller: an API key, or a session of the console with its person (UUIDs). */
export type Credential = { kind: 'key'; id: string } | { kind: 'session'; id: string; userId: string };

/** The caller of a request, from its API key or session. */
export interface Caller {
  credential: Credential;
  accountId: string;
  accountName: string;
  scopes: ReadonlySet<Scope>;
  /** Instances (UUIDs) that the caller may access; null: all of the account. */
  instances: ReadonlySet<string> | null;
  /** Limit of the account's plan; null: the configured limit. */
  requestsPerMinute: number | null;
  suspended: boolean;
}

/** Returns the name of the caller for the audit log and the rate limiter. */
export function nameActor(credential: Credential): string {
  return credential.kind === 'key' ? `key:${credential.id}` : `user:${credential.userId}`;
}

/** Whether the caller may access an instance. */
export function maySee(caller: Caller, instanceId: string): boolean {
  return caller.instances === null || caller.instances.has(instanceId);
}

/**
 * Whether the caller may pair the instances that it may access, and so read their pairing codes: a code links any phone to
 * the instance.
 */
export const mayPair = ({ scopes }: Pick<Caller, 'scopes'>): boolean => scopes.has('instances:write');

/** Instances of a restricted caller as an SQL parameter; null: not restricted. */
export function listRestriction(caller: Caller): string[] | null {
  return caller.instances === null ? null : [...caller.instances];
}
