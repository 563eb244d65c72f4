import { createApiError, GwkError } from './errors.js';
import type { StreamEvent } from './server-sent-events.js';
import type { paths } from './generated/api.js';
import type { CallOptions } from './types.js';

/** A step of a pairing. Show `code` of `qr` as a QR code, or let the person type `code` of `code` on the phone. */
export type PairingStep =
  | { step: 'qr'; code: string; expires_in_s: number; image: string }
  | { step: 'code'; code: string; expires_in_s: number }
  | { step: 'passkey'; options: unknown; expires_at: string }
  | { step: 'passkey_code'; code: string }
  | { step: 'paired'; jid: string }
  | { step: 'connected'; jid: string };

type PairingBody = paths['/v1/instances/{instance_id}/pairing']['post']['requestBody'];
/** How to pair: by QR code or by a code to type. */
export type PairingRequest = NonNullable<PairingBody>['content']['application/json'];

interface Instances {
  startPairing(id: string, request?: PairingRequest, options?: CallOptions): Promise<unknown>;
  streamPairing(id: string, options?: CallOptions): AsyncGenerator<StreamEvent>;
}

export async function* pair(
  client: { instances: Instances },
  id: string,
  request?: PairingRequest,
  options: CallOptions = {},
): AsyncGenerator<PairingStep> {
  await client.instances.startPairing(id, request, options);
  for await (const { event, data } of client.instances.streamPairing(id, options)) {
    if (event === 'error') {
      const { status = 502 } = data as { status?: number };
      throw createApiError(data, new Response(null, { status }));
    }
    yield { step: event, ...(data as object) } as PairingStep;
    if (event === 'connected') return;
  }
  throw new GwkError('The stream of the pairing ended before the phone was connected');
}
