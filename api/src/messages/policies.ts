import { isWarmingUp, resolvePolicy, type Policy, type PolicyOverrides } from '@gwk/core/policy/policy';
import type { Facts } from './send/gather.js';

/** What decides about the policy in force. */
type PolicyFacts = Pick<Facts, 'accountPolicy' | 'instancePolicy' | 'warmUpFrom' | 'at'>;

const MAX_REMEMBERED = 2_000;
const DEFAULT_MASS_MINUTES = 60;

/** Policies are read with every group; only the work of resolving what was resolved before is saved. */
export class PolicyResolver {
  readonly #environment: PolicyOverrides;
  /** By the text of the account's overrides, then by that of the instance's. */
  readonly #resolved = new Map<string, Map<string, Resolved>>();

  constructor(environment: PolicyOverrides) {
    this.#environment = environment;
  }

  /** Minutes of the mass block where neither account nor instance have a say. */
  get massMinutes(): number {
    return this.#environment.mass_block?.window_minutes ?? DEFAULT_MASS_MINUTES;
  }

  of({ accountPolicy, instancePolicy, warmUpFrom, at }: PolicyFacts): Policy {
    const warmingUp = isWarmingUp(warmUpFrom === null ? null : new Date(warmUpFrom), new Date(at));
    const resolved = this.#resolve(accountPolicy ?? '{}', instancePolicy ?? '{}');
    return warmingUp ? resolved.warmingUp : resolved.warm;
  }

  #resolve(account: string, instance: string): Resolved {
    let ofAccount = this.#resolved.get(account);
    if (!ofAccount) {
      if (this.#resolved.size >= MAX_REMEMBERED) this.#resolved.clear();
      this.#resolved.set(account, (ofAccount = new Map<string, Resolved>()));
    }
    let resolved = ofAccount.get(instance);
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
      if (ofAccount.size >= MAX_REMEMBERED) ofAccount.clear();
      ofAccount.set(instance, resolved);
    }
    return resolved;
  }
}

interface Resolved {
  warm: Policy;
  warmingUp: Policy;
}
