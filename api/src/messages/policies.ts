import { isWarmingUp, resolvePolicy, type Policy, type PolicyOverrides } from '../policy/policy.js';
import type { Facts } from './send/gather.js';

/** The facts that select the policy in force. */
type PolicyFacts = Pick<Facts, 'accountPolicy' | 'instancePolicy' | 'warmUpFrom' | 'at'>;

/** Limit on all entries, since a consumer can change the policy of an instance with each request. */
const MAX_CACHED = 2_000;
const DEFAULT_MASS_WINDOW_MINUTES = 60;

/** Resolves the policy in force from its levels. Caches by the JSON of the overrides, so entries never become stale. */
export class PolicyResolver {
  readonly #environment: PolicyOverrides;
  /** By the JSON of the account's overrides, then of the instance's. */
  readonly #resolved = new Map<string, Map<string, ResolvedPolicies>>();
  #cached = 0;

  constructor(environment: PolicyOverrides) {
    this.#environment = environment;
  }

  /** Window of the mass-send block, in minutes, if neither account nor instance sets it. */
  get massWindowMinutes(): number {
    return this.#environment.mass_block?.window_minutes ?? DEFAULT_MASS_WINDOW_MINUTES;
  }

  resolve({ accountPolicy, instancePolicy, warmUpFrom, at }: PolicyFacts): Policy {
    const warmingUp = isWarmingUp(warmUpFrom === null ? null : new Date(warmUpFrom), new Date(at));
    const resolved = this.#resolveLevels(accountPolicy ?? '{}', instancePolicy ?? '{}');
    return warmingUp ? resolved.warmingUp : resolved.warm;
  }

  #resolveLevels(account: string, instance: string): ResolvedPolicies {
    let resolved = this.#resolved.get(account)?.get(instance);
    if (!resolved) {
      const levels = {
        environment: this.#environment,
        account: JSON.parse(account) as PolicyOverrides,
        instance: JSON.parse(instance) as PolicyOverrides,
      };
      resolved = {
        warm: resolvePolicy(levels, { warmingUp: false }),
        warmingUp: resolvePolicy(levels, { warmingUp: true }),
      };
      this.#cache(account, instance, resolved);
    }
    return resolved;
  }

  #cache(account: string, instance: string, resolved: ResolvedPolicies): void {
    if (this.#cached >= MAX_CACHED) {
      this.#resolved.clear();
      this.#cached = 0;
    }
    const byInstance = this.#resolved.get(account) ?? new Map<string, ResolvedPolicies>();
    this.#resolved.set(account, byInstance.set(instance, resolved));
    this.#cached++;
  }
}

interface ResolvedPolicies {
  warm: Policy;
  warmingUp: Policy;
}
