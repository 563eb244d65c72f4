import { isWarmingUp, resolvePolicy, type Policy, type PolicyOverrides } from '@gwk/core/policy/policy';
import type { Facts } from './send/gather.js';

/** The facts that select the policy in force. */
type PolicyFacts = Pick<Facts, 'accountPolicy' | 'instancePolicy' | 'warmUpFrom' | 'at'>;

const MAX_CACHED = 2_000;
const DEFAULT_MASS_WINDOW_MINUTES = 60;

/** Resolves the policy in force from its levels. Caches by the JSON of the overrides, so entries never become stale. */
export class PolicyResolver {
  readonly #environment: PolicyOverrides;
  /** By the JSON of the account's overrides, then of the instance's. */
  readonly #resolved = new Map<string, Map<string, ResolvedPolicies>>();

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
    let byInstance = this.#resolved.get(account);
    if (!byInstance) {
      if (this.#resolved.size >= MAX_CACHED) this.#resolved.clear();
      this.#resolved.set(account, (byInstance = new Map<string, ResolvedPolicies>()));
    }
    let resolved = byInstance.get(instance);
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
      if (byInstance.size >= MAX_CACHED) byInstance.clear();
      byInstance.set(instance, resolved);
    }
    return resolved;
  }
}

interface ResolvedPolicies {
  warm: Policy;
  warmingUp: Policy;
}
