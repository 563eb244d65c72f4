import { proto } from '@whiskeysockets/baileys';
import type { Account } from '../people/account.js';
import { sign } from '../signal/keys.js';
import { seconds } from '../wire/nodes.js';

/** Prefix of the signed device list. */
const LIST_PREFIX = Buffer.from([6, 2]);

/** The device list of an account, signed by its phone, so that the network cannot add a device. */
export function signedDeviceList(account: Account): Buffer {
  const indexes = account.devices();
  const details = Buffer.from(
    proto.ADVKeyIndexList.encode({
      rawId: 1,
      timestamp: Number(seconds()),
      currentIndex: Math.max(...indexes),
      validIndexes: indexes,
    }).finish(),
  );
  const accountSignature = sign(account.phone.signal.identity, Buffer.concat([LIST_PREFIX, details]));
  return Buffer.from(proto.ADVSignedKeyIndexList.encode({ details, accountSignature }).finish());
}
