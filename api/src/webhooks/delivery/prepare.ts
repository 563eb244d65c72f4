import type { KeyObject } from 'node:crypto';
import { toPublicId } from '@gwk/core/ids';
import { SealError, type Sealer } from '@gwk/core/encryption';
import { signWebhook } from '@gwk/core/webhook-signature';
import { openEventText } from '../../events/emit.js';
import type { MediaLinks } from '../../media/links.js';
import type { AddressGuard } from '../../platform/address-guard/guard.js';
import type { SigningKeys } from '../signing-keys.js';
import { LINK_SECONDS, withFreshLink } from './fresh-links.js';
import type { Claimed, Prepared, Unpreparable } from './types.js';

export interface PrepareDeps {
  sealer: Sealer;
  signingKeys: SigningKeys;
  guard: AddressGuard;
  links: MediaLinks;
}

const USER_AGENT = 'gwk-webhooks/1';

/**
 * The request of one attempt (spec: Webhook signature). The body is made of the stored text, so every attempt posts
 * the same bytes, but for the link to a file; that, timestamp and signatures are of this attempt.
 */
export function prepare(claimed: Claimed, deps: PrepareDeps, now: Date): Prepared | Unpreparable {
  const { event, accountId } = claimed;
  if (event === null) return { claimed, error: 'the event is gone', final: true };
  if (claimed.outOfScope)
    return { claimed, error: 'the destination is not for this instance any more', final: true };
  const verdict = deps.guard.checkUrl(claimed.url);
  if (!verdict.ok) return { claimed, error: `the URL is not allowed (${verdict.finding})`, final: false };
  try {
    const stored = openEventText(deps.sealer, accountId, event.dataSealed);
    const data = withFreshLink(stored, (id) => deps.links.make(id, LINK_SECONDS, now.getTime()));
    const keys = claimed.secretsSealed.map((sealed) => deps.signingKeys.of(accountId, sealed));
    const body = `{"type":${JSON.stringify(event.type)},"timestamp":"${event.at.toISOString()}","data":${data}}`;
    return { claimed, url: verdict.url, body, headers: headersOf(claimed, keys, body, now) };
  } catch (error) {
    // A key that is missing today may be configured tomorrow: the delivery waits for it.
    if (error instanceof SealError) return { claimed, error: 'cannot be unsealed here', final: false };
    throw error;
  }
}

function headersOf(claimed: Claimed, keys: KeyObject[], body: string, now: Date): Record<string, string> {
  const id = toPublicId('event', claimed.eventId);
  const timestamp = Math.floor(now.getTime() / 1000);
  return {
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signWebhook(keys, id, timestamp, body),
  };
}
