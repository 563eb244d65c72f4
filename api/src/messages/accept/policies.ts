import { isWarmingUp, resolvePolicy, type Policy, type PolicyOverrides } from '@gwk/core/policy/policy';
import type { Facts } from './gather.js';

const MAX_REMEMBERED = 10_000;
const DEFAULT_MASS_MINUTES = 60;

/** Policies are read with every group; only the work of resolving what was resolved before is saved. */
export class Policies {
  readonly #environment: PolicyOverrides;
  readonly #resolved = new Map<string, Policy>();

  constructor(environment: PolicyOverrides) {
    this.#environment = environment;
  }

  /** Minutes of the mass block where neither account nor instance have a say. */
  get massMinutes(): number {
    return this.#environment.mass_block?.window_minutes ?? DEFAULT_MASS_MINUTES;
  }

  of({ accountPolicy, instancePolicy, warmUpFrom, at }: Facts): Policy {
    const warmingUp = isWarmingUp(warmUpFrom === null ? null : new Date(warmUpFrom), new Date(at));
    const key = `${warmingUp} ${accountPolicy} ${instancePolicy}`;
    let policy = this.#resolved.get(key);
    if (!policy) {
      const levels = {
        environment: this.#environment,
        account: JSON.parse(accountPolicy ?? '{}') as PolicyOverrides,
        instance: JSON.parse(instancePolicy ?? '{}') as PolicyOverrides,
      };
      policy = resolvePolicy(levels, { warmingUp });
      if (this.#resolved.size >= MAX_REMEMBERED) this.#resolved.clear();
      this.#resolved.set(key, policy);
    }
    return policy;
  }
}
