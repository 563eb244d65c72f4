import type { Gwk } from '@gwk/client';
import { explainFailure, type FailureKind } from '../errors.js';
import { listInstances, findInstance, type Instance } from './instances.js';

/** Why the gateway is not ready. Waiting cures the temporary kinds only. */
export interface Unready {
  kind: FailureKind;
  isTemporary: boolean;
  reason: string;
}

/** Null: address, key and instances are ready. */
export async function findUnready(gateway: Gwk, names: readonly string[]): Promise<Unready | null> {
  try {
    if (names.length === 0) return judgeInstances(await listInstances(gateway));
    const found: Instance[] = [];
    for (const name of names) found.push(await findInstance(gateway, name));
    return judgeInstances(found);
  } catch (error) {
    const failure = explainFailure(error);
    if (!failure) throw error;
    return { kind: failure.kind, isTemporary: failure.kind === 'network', reason: failure.message };
  }
}

const CURES: Readonly<Record<string, (name: string) => string>> = {
  pending_pair: (name) => `Link a phone: gwk pair "${name}"`,
  connecting: () => 'Wait some seconds. If it stays, look at the engine: kubectl gwk status',
  disconnected: (name) => `The engine reconnects by itself. If it stays: gwk instances restart "${name}"`,
  logged_out: (name) => `The phone has removed the device. Link it again: gwk pair "${name}"`,
  banned: () => 'The network has banned the number. Appeal in the app on the phone',
};
/** States that end without a person. */
const TEMPORARY: ReadonlySet<string> = new Set(['connecting', 'disconnected', 'pending_pair']);

/** The next step of the user. Null: there is nothing to do. */
export function findRemedy({ state, name }: Pick<Instance, 'state' | 'name'>): string | null {
  if (state === 'connected') return null;
  return CURES[state]?.(name) ?? `Unknown state ${state}: update gwk`;
}

export function judgeInstances(instances: readonly Pick<Instance, 'state' | 'name'>[]): Unready | null {
  const unready = instances.filter(({ state }) => state !== 'connected');
  if (unready.length === 0) return null;
  const isTemporary = unready.every(({ state }) => TEMPORARY.has(state));
  const lines = unready.map((instance) => `${instance.name} is ${instance.state}. ${findRemedy(instance)}`);
  return { kind: 'refused', isTemporary, reason: lines.join('\n') };
}
