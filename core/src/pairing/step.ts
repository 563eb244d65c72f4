import type { Condition, InstanceResource } from '../resources/manifest.js';
import type { PairingView } from '../resources/pairing-request.js';

/** Next step of `gwk pair`. */
export type Step =
  | { do: 'finish'; say: string }
  | { do: 'give-up'; say: string }
  | { do: 'show'; code: string; seconds: number }
  | { do: 'wait'; say: string };

export interface PairingState {
  now: number;
  /** Null: it does not exist. */
  instance: InstanceResource | null;
  view: PairingView | null;
  /** Id of this command's pairing request; null before it is written. */
  request: string | null;
}

/** Pure. Messages say what the user can do. */
export function decideStep({ now, instance, view, request }: PairingState): Step {
  if (!instance || instance.metadata.deletionTimestamp !== undefined)
    return {
      do: 'give-up',
      say: 'No such Instance. List them with: kubectl get gwi (on one machine: gwk instances list)',
    };
  const { name } = instance.metadata;
  const [accepted, paired, running] = (['Accepted', 'Paired', 'EngineRunning'] as const).map((type) =>
    instance.status?.conditions.find((condition) => condition.type === type),
  );
  if (paired?.status === 'True')
    return { do: 'finish', say: describePaired(instance, paired, request !== null) };
  if (accepted?.status === 'False') return { do: 'give-up', say: `${accepted.reason}: ${accepted.message}` };
  if (instance.spec.suspended)
    return { do: 'give-up', say: `${name} is suspended: set spec.suspended to false` };
  if (!view || view.request !== request) return { do: 'wait', say: describeWait(running) };
  return decideFromView(view, now);
}

function decideFromView(view: PairingView, now: number): Step {
  if (view.error !== null) return { do: 'give-up', say: `The pairing ended: ${view.error}` };
  if (view.passkey) return { do: 'wait', say: describePasskey(view.passkey.page) };
  if (view.code === null) return { do: 'wait', say: 'Waiting for a code from the network' };
  const seconds = view.expiresAt === null ? 0 : Math.round((Date.parse(view.expiresAt) - now) / 1000);
  return { do: 'show', code: view.code, seconds: Math.max(0, seconds) };
}

function describePasskey(page: string | null): string {
  if (page === null)
    return 'The phone asks for its passkey. Answer through the HTTP interface (docs/pairing.md)';
  return `The phone asks for its passkey. Open ${page} in a browser and follow it`;
}

function describePaired({ metadata }: InstanceResource, { message }: Condition, byUs: boolean): string {
  const what = message.toLowerCase();
  return byUs ? `${metadata.name} is ${what}` : `${metadata.name} is already ${what}`;
}

function describeWait(running: Condition | undefined): string {
  if (running?.status === 'True') return 'Waiting for the engine to show a code';
  return running ? `Waiting for the engine (${running.message})` : 'Waiting for the operator';
}
