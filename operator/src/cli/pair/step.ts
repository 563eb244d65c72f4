import type { Condition, InstanceResource } from '@gwk/core/resources/manifest';
import type { PairingView } from '@gwk/core/resources/pairing-request';

/** What to do next about a pairing, by what is seen of it. */
export type Step =
  | { do: 'finish'; say: string }
  | { do: 'give-up'; say: string }
  | { do: 'show'; code: string; seconds: number }
  | { do: 'wait'; say: string };

export interface PairingState {
  now: number;
  /** Null: it is not there (any more). */
  instance: InstanceResource | null;
  view: PairingView | null;
  /** The wish that this command made; null: not yet. */
  wish: string | null;
}

/** Pure. What is to be read by people names what they can do. */
export function decideStep({ now, instance, view, wish }: PairingState): Step {
  if (!instance || instance.metadata.deletionTimestamp !== undefined)
    return { do: 'give-up', say: 'There is no such Instance. See: kubectl get gwi' };
  const { name } = instance.metadata;
  const [accepted, paired, running] = (['Accepted', 'Paired', 'EngineRunning'] as const).map((type) =>
    instance.status?.conditions.find((condition) => condition.type === type),
  );
  if (paired?.status === 'True') return { do: 'finish', say: pairedAs(instance, paired, wish !== null) };
  if (accepted?.status === 'False') return { do: 'give-up', say: `${accepted.reason}: ${accepted.message}` };
  if (instance.spec.suspended)
    return { do: 'give-up', say: `${name} is suspended: set spec.suspended to false` };
  if (!view || view.request !== wish) return { do: 'wait', say: waiting(running) };
  return shownBy(view, now);
}

function shownBy(view: PairingView, now: number): Step {
  if (view.error !== null) return { do: 'give-up', say: `The pairing ended: ${view.error}` };
  if (view.code === null) return { do: 'wait', say: 'Waiting for the network to give a code' };
  const seconds = view.expiresAt === null ? 0 : Math.round((Date.parse(view.expiresAt) - now) / 1000);
  return { do: 'show', code: view.code, seconds: Math.max(0, seconds) };
}

function pairedAs({ metadata, status }: InstanceResource, { message }: Condition, byUs: boolean): string {
  const phone = status?.phone;
  const what = phone ? `paired as ${phone}` : message.toLowerCase();
  return byUs ? `${metadata.name} is ${what}` : `${metadata.name} is ${what} already`;
}

function waiting(running: Condition | undefined): string {
  if (running?.status === 'True') return 'Waiting for the engine to show a code';
  return running ? `Waiting for the engine (${running.message})` : 'Waiting for the operator';
}
