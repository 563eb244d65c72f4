import { isProxyFailure } from '@gwk/core/proxy/proxy-error';
import type { ConnectionEvent, Disconnect } from '../../driver.js';

/** The parts of Baileys' error at the end of a connection. */
export interface DisconnectError {
  /** An HTTP-like status, as the network and Baileys use it. */
  code: number | undefined;
  text: string;
  /** Attributes of the network's error. Only those that are known to be codes. */
  attrs: Record<string, string>;
}

/**
 * | code               | meaning                                             | becomes                                   |
 * | ------------------ | --------------------------------------------------- | ----------------------------------------- |
 * | 515                | restart required, for example after a pairing       | reconnect at once                         |
 * | 401                | the device was removed on the phone                 | logged out                                |
 * | 411                | the device was linked in an outdated way            | logged out                                |
 * | 402                | banned for some seconds                             | banned, until then                        |
 * | 403, 406           | the account is locked; banned                       | banned                                    |
 * | 440                | another connection uses these credentials           | replaced: never reconnect                 |
 * | 405, 409           | this client version is rejected                     | dropped, reconnect slowly                 |
 * | 400                | handshake: the certificate is not the network's     | dropped, reconnect slowly                 |
 * | a ProxyError       | the proxy opened no connection to the network       | dropped, with the proxy's fault           |
 * | 408, 428, 500, 503 | lost, closed, unavailable, and every unknown code   | dropped: credentials are never discarded  |
 */
export function classifyDisconnect(error: DisconnectError, now: number): Disconnect {
  const { code = '' } = error.attrs;
  return isProxyFailure(code) ? { kind: 'dropped', reason: code } : classifyCode(error, now);
}

function classifyCode(error: DisconnectError, now: number): Disconnect {
  switch (error.code) {
    case 515:
      return { kind: 'dropped', reason: 'restart_required', reconnect: 'at-once' };
    case 401:
      return { kind: 'logged-out', reason: 'device_removed' };
    case 411:
      return { kind: 'logged-out', reason: 'linked_in_an_old_way' };
    case 402:
      return { kind: 'banned', code: banCode(error), expiresAt: banEnd(error, now) };
    case 403:
    case 406:
      return { kind: 'banned', code: banCode(error), expiresAt: null };
    case 440:
      return { kind: 'replaced' };
    case 405:
    case 409:
      return { kind: 'dropped', reason: `${VERSION_REJECTED}${error.code}`, reconnect: 'slowly' };
    case 400:
      if (/certificat/i.test(error.text))
        return { kind: 'dropped', reason: 'certificate_rejected', reconnect: 'slowly' };
      return { kind: 'dropped', reason: toReason(400) };
    default:
      return { kind: 'dropped', reason: toReason(error.code) };
  }
}

const VERSION_REJECTED = 'version_rejected_';

/** A connection that was not tried, because a client version that may succeed is expected soon. */
export const VERSION_EXPECTED: Disconnect = {
  kind: 'dropped',
  reason: 'version_expected',
  reconnect: 'slowly',
};

export const isVersionRefusal = (event: ConnectionEvent): boolean =>
  event.kind === 'closed' &&
  event.disconnect.kind === 'dropped' &&
  event.disconnect.reason.startsWith(VERSION_REJECTED);

/** Classifies the end of a connection while a device is being linked. There is nothing yet that could be logged out. */
export function classifyPairingDisconnect(error: DisconnectError, now: number): Disconnect {
  const disconnect = classifyDisconnect(error, now);
  if (/account signature|pair success node|device-identity/i.test(error.text))
    return pairingFailed('signature_refused');
  return disconnect.kind === 'logged-out' ? pairingFailed('refused_by_the_network') : disconnect;
}

/** The reason of a refused pairing code. The network allows few codes per phone number. */
export const classifyCodeRefusal = (code: string | undefined): string =>
  code === '429' ? 'too_many_codes' : 'code_refused';

const pairingFailed = (reason: string): Disconnect => ({ kind: 'pairing-failed', reason });

const REASONS: Record<number, string> = {
  408: 'timed_out',
  428: 'connection_closed',
  500: 'stream_error',
  503: 'unavailable',
};

function toReason(code: number | undefined): string {
  if (code === undefined) return 'connection_lost';
  // The reason is a metric label and the network may send any number, so unknown numbers share one value.
  const known = Number.isInteger(code) && code >= 100 && code < 600;
  return REASONS[code] ?? `stream_error_${known ? code : 'other'}`;
}

/** The kind of ban if the network names one, else the code of the refusal. */
const banCode = ({ code, attrs }: DisconnectError): string => attrs['code'] ?? String(code);

const DEFAULT_BAN_SECONDS = 60;

/** End of a temporary ban. Without a given end, the engine tries again after a minute. */
function banEnd({ attrs }: DisconnectError, now: number): Date {
  const seconds = Number(attrs['expire']);
  return new Date(now + (Number.isFinite(seconds) && seconds > 0 ? seconds : DEFAULT_BAN_SECONDS) * 1_000);
}

/** Parses Baileys' error: a Boom, whose data is attributes or a node. */
export function parseDisconnectError(error: unknown): DisconnectError {
  const { output, data, message } = (error ?? {}) as {
    output?: { statusCode?: number };
    data?: { attrs?: Record<string, unknown> } & Record<string, unknown>;
    message?: string;
  };
  return { code: output?.statusCode, text: message ?? '', attrs: pickCodes(data?.attrs ?? data ?? {}) };
}

const CODES = ['reason', 'code', 'type', 'expire', 'location'];

/** Picks known codes for the log. An error may carry stanzas and phone numbers in place of attributes. */
function pickCodes(attrs: Record<string, unknown>): Record<string, string> {
  const isCode = (entry: [string, unknown]): entry is [string, string] =>
    CODES.includes(entry[0]) && typeof entry[1] === 'string';
  return Object.fromEntries(Object.entries(attrs).filter(isCode));
}
