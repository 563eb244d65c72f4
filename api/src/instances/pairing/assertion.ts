import { createHash } from 'node:crypto';
import { PASSKEY_RP_ID, type PasskeyAnswer, type PasskeyOptions } from '@gwk/core/resources/pairing';

/** One fault of a field, as problems list them. */
export interface AssertionFault {
  path: string;
  code: string;
  message: string;
}

interface ClientData {
  type?: unknown;
  challenge?: unknown;
  origin?: unknown;
  crossOrigin?: unknown;
}

const HASH_LENGTH = 32;
/** Hash of the relying party, flags and counter. */
const MIN_LENGTH = HASH_LENGTH + 5;
const USER_VERIFIED = 0x04;

const CLIENT_DATA = 'credential.response.clientDataJSON';
const AUTHENTICATOR_DATA = 'credential.response.authenticatorData';

/**
 * Whether the assertion answers this request on a page of the network. The network verifies the signature: nobody else knows
 * the public key.
 */
export function checkAssertion({ credential }: PasskeyAnswer, options: PasskeyOptions): AssertionFault[] {
  const { id, rawId, response } = credential;
  const { allowCredentials = [] } = options;
  const faults: (AssertionFault | false)[] = [
    id !== rawId && fault('credential.rawId', 'other_id', 'must be equal to id'),
    allowCredentials.length > 0 &&
      !allowCredentials.some((allowed) => allowed.id === id) &&
      fault('credential.id', 'other_passkey', 'is none of the passkeys of the request'),
    ...checkClientData(response.clientDataJSON, options.challenge),
    ...checkAuthenticatorData(Buffer.from(response.authenticatorData, 'base64url'), options),
  ];
  return faults.filter((one) => one !== false);
}

function checkClientData(bytes: string, challenge: string): (AssertionFault | false)[] {
  const data = parseClientData(bytes);
  if (data === null) return [fault(CLIENT_DATA, 'invalid', 'is no client data')];
  return [
    data.type !== 'webauthn.get' && fault(CLIENT_DATA, 'other_type', 'is no assertion'),
    data.challenge !== challenge && fault(CLIENT_DATA, 'other_challenge', 'answers another request'),
    !isNetworkPage(data.origin) && fault(CLIENT_DATA, 'other_origin', 'was made on a page of another site'),
    data.crossOrigin === true && fault(CLIENT_DATA, 'framed', 'was made in a frame of another site'),
  ];
}

function checkAuthenticatorData(data: Buffer, options: PasskeyOptions): (AssertionFault | false)[] {
  if (data.length < MIN_LENGTH) return [fault(AUTHENTICATOR_DATA, 'invalid', 'is too short')];
  const party = createHash('sha256').update(PASSKEY_RP_ID).digest();
  const isVerified = (data[HASH_LENGTH]! & USER_VERIFIED) !== 0;
  return [
    !data.subarray(0, HASH_LENGTH).equals(party) &&
      fault(AUTHENTICATOR_DATA, 'other_site', `is of another relying party than ${PASSKEY_RP_ID}`),
    options['userVerification'] === 'required' &&
      !isVerified &&
      fault(AUTHENTICATOR_DATA, 'not_verified', 'the person was not verified'),
  ];
}

function parseClientData(bytes: string): ClientData | null {
  try {
    const data: unknown = JSON.parse(Buffer.from(bytes, 'base64url').toString('utf8'));
    return typeof data === 'object' ? data : null;
  } catch {
    return null;
  }
}

/** An origin of the network: HTTPS on its standard port, at the relying party or a host below it. */
function isNetworkPage(origin: unknown): boolean {
  if (typeof origin !== 'string') return false;
  const [scheme, host = ''] = origin.split('://');
  return (
    scheme === 'https' && (host === PASSKEY_RP_ID || /^[a-z0-9-]+(\.[a-z0-9-]+)*\.whatsapp\.com$/.test(host))
  );
}

const fault = (path: string, code: string, message: string): AssertionFault => ({ path, code, message });
