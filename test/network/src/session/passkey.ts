import { randomBytes } from 'node:crypto';
import type { Connection } from '../transport/connection.js';
import { NETWORK } from '../wire/jids.js';
import { node, seconds } from '../wire/nodes.js';

const TIMEOUT_MS = 600_000;

/** The account requires a passkey before it links a device. The client receives the request, and nothing is linked. */
export class PasskeyNeeded extends Error {
  override readonly name = 'PasskeyNeeded';
}

export function askForPasskey(connection: Connection): void {
  const options = {
    challenge: randomBytes(32).toString('base64url'),
    rpId: 'whatsapp.com',
    timeout: TIMEOUT_MS,
    userVerification: 'required',
    allowCredentials: [],
  };
  const attributes = {
    from: NETWORK,
    type: 'passkey_prologue_request',
    id: `passkey-${seconds()}`,
    t: seconds(),
  };
  const content = node('passkey_request_options', {}, Buffer.from(JSON.stringify(options)));
  connection.send(node('notification', attributes, [content]));
}
