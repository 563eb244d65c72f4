import { ConnectionError, createApiError } from './errors.js';
import type { StreamEvent } from './server-sent-events.js';
import type { paths } from './generated/api.js';
import { planRetry } from './retry.js';
import type { Transport } from './transport.js';
import type { CallOptions, Schemas } from './types.js';

/** A step of a pairing. Show `code` of `qr` as a QR code, or let the person type `code` of `code` on the phone. */
export type PairingStep =
  | ({ step: 'qr' } & Schemas['PairingQr'])
  | ({ step: 'code' } & Schemas['PairingCode'])
  | ({ step: 'passkey' | 'passkey_code' } & Schemas['PairingPasskey'])
  | ({ step: 'paired' } & Schemas['PairedData'])
  | ({ step: 'connected' } & Schemas['ConnectedData']);

type PairingBody = paths['/v1/instances/{instance_id}/pairing']['post']['requestBody'];
/** How to pair: by QR code or by a code to type. */
export type PairingRequest = NonNullable<PairingBody>['content']['application/json'];

interface Gateway {
  instances: {
    startPairing(id: string, request?: PairingRequest, options?: CallOptions): Promise<unknown>;
    getPairing(id: string, options?: CallOptions): Promise<Schemas['PairingOut']>;
    streamPairing(id: string, options?: CallOptions): AsyncGenerator<StreamEvent>;
  };
  wait: Transport['wait'];
}

export async function* pair(
  { instances, wait }: Gateway,
  id: string,
  request?: PairingRequest,
  options: CallOptions = {},
): AsyncGenerator<PairingStep> {
  await instances.startPairing(id, request, options);
  for (let attempt = 1; ; attempt++) {
    try {
      if (yield* readSteps(instances.streamPairing(id, options))) return;
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
    }
    await wait(planRetry(new ConnectionError(), { repeatable: true, attempt })!, options.signal);
    // A stream says nothing about a session that ended before it began.
    throwEnded(await instances.getPairing(id, options));
  }
}

/**
 * Returns whether the phone is connected. False: the stream ended before.
 * @throws ApiError for an error
 */
async function* readSteps(events: AsyncGenerator<StreamEvent>): AsyncGenerator<PairingStep, boolean> {
  for await (const { event, data } of events) {
    if (event === 'error') {
      const { status = 502 } = data as { status?: number };
      throw createApiError(data, new Response(null, { status }));
    }
    yield { step: event, ...(data as object) } as PairingStep;
    if (event === 'connected') return true;
  }
  return false;
}

function throwEnded({ state, error }: Schemas['PairingOut']): void {
  if (state !== 'pending_pair' && state !== 'logged_out') return;
  const detail = error?.detail ?? 'The pairing ended before the phone was connected';
  throw createApiError({ type: 'pairing-failed', detail }, new Response(null, { status: 502 }));
}
