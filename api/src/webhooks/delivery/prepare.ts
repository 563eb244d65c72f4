import type { KeyObject } from 'node:crypto';
import { fromPublicId, toPublicId } from '@gwk/core/ids/ids';
import { SealError, type Sealer } from '@gwk/core/crypto/encryption';
import { ROLE_RIGHTS } from '../../roles.js';
import { signWebhook } from '../signature.js';
import { mayPair } from '../../accounts/caller.js';
import { openEventText } from '../../events/emit.js';
import type { MediaLinks } from '../../media/links.js';
import type { AddressGuard } from '../../platform/address-guard/guard.js';
import { openHeaders, type SigningKeys } from '../secrets.js';
import type { ClaimedDelivery, PreparedCall, Unsendable } from './types.js';

export interface PrepareDeps {
  sealer: Sealer;
  signingKeys: SigningKeys;
  guard: AddressGuard;
  links: MediaLinks;
}

/** Validity of a media link in a webhook, from the time of its attempt. */
const LINK_SECONDS = 24 * 3_600;
const USER_AGENT = 'gwk-webhooks/1';

/**
 * Builds the request of one attempt (docs/webhooks.md). The body uses the stored text, so every attempt posts the same
 * bytes except for the link to a file. Link, timestamp and signatures are new for each attempt.
 */
export function prepare(claimed: ClaimedDelivery, deps: PrepareDeps, now: Date): PreparedCall | Unsendable {
  const { event, accountId } = claimed;
  if (event === null) return { claimed, error: 'the event was deleted', final: true };
  if (claimed.outOfScope)
    return { claimed, error: 'the endpoint no longer includes this instance', final: true };
  if (event.type === 'instance.qr' && !mayReceiveCodes(claimed.codesAuthor)) {
    const error = 'the endpoint was last changed by a caller who may not pair this instance';
    return { claimed, error, final: true };
  }
  const check = deps.guard.checkUrl(claimed.url);
  if (!check.ok) return { claimed, error: `the URL is not allowed (${check.finding})`, final: false };
  try {
    const link = (id: string) => deps.links.make(id, LINK_SECONDS, now.getTime());
    const data = refreshLink(openEventText(deps.sealer, accountId, event.dataSealed), link);
    const headers = openHeaders(deps.sealer, accountId, claimed.headersSealed);
    const keys = claimed.secretsSealed.map((sealed) => deps.signingKeys.get(accountId, sealed));
    return {
      claimed,
      url: check.url,
      ...buildRequest({ id: claimed.eventId, ...event, data }, headers, keys, now),
    };
  } catch (error) {
    // An operator may still configure the missing key, so the delivery is retried.
    if (error instanceof SealError)
      return { claimed, error: 'cannot be decrypted with the configured keys', final: false };
    throw error;
  }
}

/** A pairing code links a phone, so it goes only where somebody with the right to pair sends it. */
export function mayReceiveCodes(author: ClaimedDelivery['codesAuthor']): boolean {
  if (author === null) return false;
  return mayPair({ scopes: new Set('role' in author ? ROLE_RIGHTS[author.role].scopes : author.scopes) });
}

/**
 * Builds body and headers of an attempt.
 * @param event with its data as JSON
 * @param custom headers of the endpoint
 */
export function buildRequest(
  event: { id: string; type: string; at: Date; data: string },
  custom: Record<string, string>,
  keys: readonly KeyObject[],
  now: Date,
): { headers: Record<string, string>; body: string } {
  const body = `{"type":${JSON.stringify(event.type)},"timestamp":"${event.at.toISOString()}","data":${event.data}}`;
  const id = toPublicId('event', event.id);
  const timestamp = Math.floor(now.getTime() / 1000);
  const headers = {
    ...custom,
    'content-type': 'application/json',
    'user-agent': USER_AGENT,
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signWebhook(keys, id, timestamp, body),
  };
  return { headers, body };
}

/**
 * Returns the JSON data of an event with a new link to the received file. Data without a file, or with a file that could
 * not be downloaded from the network, stays the same byte for byte.
 */
export function refreshLink(data: string, link: (mediaId: string) => string): string {
  if (!data.includes('"media_id":"med_')) return data;
  const event = JSON.parse(data) as { media?: { media_id?: unknown } };
  const { media } = event;
  const id = typeof media?.media_id === 'string' ? fromPublicId('media', media.media_id) : null;
  return id === null ? data : JSON.stringify({ ...event, media: { ...media, url: link(id) } });
}
