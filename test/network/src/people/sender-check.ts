import { proto, WA_ADV_ACCOUNT_SIG_PREFIX, WA_ADV_DEVICE_SIG_PREFIX } from '@whiskeysockets/baileys';
import protobufs from 'libsignal/src/protobufs.js';
import { UnreadableMessage } from '../signal/errors.js';
import { verified } from '../signal/keys.js';
import { readBytes, child } from '../wire/nodes.js';
import type { Companion } from './account.js';
import type { Arrival } from './arriving.js';

/** Verified device identities by companion. A companion sends the same one with every message of a new session. */
const proved = new WeakMap<Companion, Buffer>();

/**
 * A message that opens a session names its device. As apps do, accept it only with an identity that the account's phone
 * signed for the device and the device signed itself, and only if it is the key of the session.
 */
export function checkSender(arrival: Arrival, sealed: Buffer): void {
  const companion = arrival.from.companions.get(arrival.fromDevice);
  if (!companion) return;
  const opening = protobufs.PreKeyWhisperMessage.decode(sealed.subarray(1));
  const identity = Buffer.from(opening.identityKey).subarray(1);
  if (!identity.equals(companion.identity)) throw new UnreadableMessage('a session of another identity');
  const node = child(arrival.stanza, 'device-identity');
  if (!node) throw new UnreadableMessage('a session is opened without the identity of the device');
  const bytes = readBytes(node, 'device-identity');
  if (proved.get(companion)?.equals(bytes)) return;
  checkIdentity(arrival, identity, bytes);
  proved.set(companion, bytes);
}

function checkIdentity(arrival: Arrival, identity: Buffer, bytes: Buffer): void {
  const { details, accountSignatureKey, accountSignature, deviceSignature } =
    proto.ADVSignedDeviceIdentity.decode(bytes);
  const account = Buffer.from(arrival.from.phone.signal.identity.public);
  if (!details || !accountSignature || !deviceSignature || !account.equals(accountSignatureKey ?? account)) {
    throw new UnreadableMessage('the identity of the device is not one of this account');
  }
  const byAccount = Buffer.concat([WA_ADV_ACCOUNT_SIG_PREFIX, details, identity]);
  const byDevice = Buffer.concat([WA_ADV_DEVICE_SIG_PREFIX, details, identity, account]);
  if (!verified(account, byAccount, accountSignature) || !verified(identity, byDevice, deviceSignature)) {
    throw new UnreadableMessage('the identity of the device is not signed');
  }
}
