import type { Pod } from '@gwk/operator/cluster/cluster';
import { decide, type Action } from '@gwk/operator/controller/decide';
import type { Observed } from '@gwk/operator/controller/observed';
import { at, NOW, observed, resource } from './build.js';

/** One decision case: these overrides lead to this reason and these actions. */
export type Case = [
  sentence: string,
  special: Partial<Observed>,
  reason: string,
  actions: string[],
  recheckMs?: number | null,
];

/** The actual decision, in the shape of the case. */
export function decided([, special, , , recheckMs]: Case): {
  reason: string;
  actions: string[];
  recheckMs?: number | null;
} {
  const decision = decide(observed(special));
  const actions = decision.actions.map(describeAction);
  return {
    reason: decision.reason,
    actions,
    ...(recheckMs !== undefined && { recheckMs: decision.recheckMs }),
  };
}

export function wanted([, , reason, actions, recheckMs]: Case): ReturnType<typeof decided> {
  return { reason, actions, ...(recheckMs !== undefined && { recheckMs }) };
}

function describeAction(action: Action): string {
  return 'name' in action ? `${action.do} ${action.name}` : action.do;
}

export const absent: Pod = { phase: 'absent' };
export const unpaired = { state: 'pending_pair', first_paired_at: null } as const;
export const deleting = (special: Partial<Observed> = {}): Partial<Observed> => ({
  resource: resource({}, { deletionTimestamp: at(NOW) }),
  ...special,
});
