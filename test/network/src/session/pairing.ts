import { createHmac, randomBytes } from 'node:crypto';
import { proto, WA_ADV_ACCOUNT_SIG_PREFIX, WA_ADV_DEVICE_SIG_PREFIX } from '@whiskeysockets/baileys';
import type { Account, Companion } from '../people/account.js';
import { readVersion, type ClientVersion } from '../faults/versions.js';
import { readSignedPreKey, sign, typed, verified, type SignedPreKey } from '../signal/keys.js';
import type { Connection } from '../transport/connection.js';
import { NETWORK } from '../wire/jids.js';
import { readBytes, child, node, ProtocolError, seconds } from '../wire/nodes.js';
import type { World } from '../world.js';
import { PasskeyNeeded, PasskeyPairing } from './passkey.js';
import { streamError } from './stream-errors.js';

/** Data that an unlinked client has sent about itself. */
export interface Candidate {
  connection: Connection;
  identity: Buffer;
  registrationId: number;
  signedPreKey: SignedPreKey;
  platform: string;
  version: ClientVersion;
}

/** The phone has no free slot. Only the phone shows that; the client receives nothing. */
export class SlotsTaken extends Error {
  override readonly name = 'SlotsTaken';
}

const REF_LENGTH = 32;

/** Clients that show a QR code or wait for a code to be typed. */
export class Pairing {
  readonly #refs = new Map<string, Candidate>();
  readonly #candidates = new Map<Connection, Candidate>();

  readonly passkeys: PasskeyPairing;

  constructor(private readonly world: World) {
    this.passkeys = new PasskeyPairing(world, (...linking) => this.#admit(...linking));
  }

  candidate(connection: Connection): Candidate | undefined {
    return this.#candidates.get(connection);
  }

  /** Sends references for QR codes to a new client, one after the other. */
  async begin(connection: Connection, payload: proto.ClientPayload): Promise<void> {
    const candidate = readCandidate(connection, payload);
    const refused = this.#refused(candidate, null);
    if (refused !== undefined) return refuse(connection, refused);
    this.#candidates.set(connection, candidate);
    const refs = Array.from({ length: this.world.settings.refs }, () => makeRef());
    for (const ref of refs) this.#refs.set(ref, candidate);
    const nodes = refs.map((ref) => node('ref', {}, Buffer.from(ref)));
    await connection.request(
      node('iq', { from: NETWORK, type: 'set', xmlns: 'md' }, [node('pair-device', {}, nodes)]),
    );
  }

  end(connection: Connection): void {
    this.#candidates.delete(connection);
    this.passkeys.end(connection);
    for (const [ref, candidate] of this.#refs) {
      if (candidate.connection === connection) this.#refs.delete(ref);
    }
  }

  /** The phone scans a QR code and links the client that shows it. */
  async scan(account: Account, code: string): Promise<Companion> {
    const { ref, clientKey, identity, secret } = readQr(code);
    const candidate = this.#refs.get(ref);
    if (!candidate) throw new Error('this QR code is not shown by any client, or no longer');
    if (!candidate.identity.equals(identity) || !candidate.connection.clientKey.equals(clientKey)) {
      throw new Error('the keys in the QR code are not those of the client that shows it');
    }
    return this.link(account, candidate, secret);
  }

  /** Links the client, or refuses it, or requires a passkey of it first. */
  async link(account: Account, candidate: Candidate, secret: Buffer): Promise<Companion> {
    refuseUnlessWanted(account, candidate.connection);
    if (account.manners.needsPasskey) {
      this.passkeys.begin(account, candidate, secret);
      throw new PasskeyNeeded(`${account.number} links no device without a passkey`);
    }
    return this.#admit(account, candidate, secret);
  }

  /** Phone and client sign for each other. The client must then log in as a device of the account. */
  async #admit(account: Account, candidate: Candidate, secret: Buffer): Promise<Companion> {
    const { connection, identity } = candidate;
    const refused = this.#refused(candidate, account.number);
    if (refused !== undefined) {
      refuse(connection, refused);
      throw new Error(`the network links no device of this version with ${account.number}`);
    }
    const id = account.nextDevice++;
    const phoneKey = account.phone.signal.identity;
    const details = Buffer.from(
      proto.ADVDeviceIdentity.encode({ rawId: 1, timestamp: Number(seconds()), keyIndex: id }).finish(),
    );
    const accountSignature = sign(phoneKey, Buffer.concat([WA_ADV_ACCOUNT_SIG_PREFIX, details, identity]));
    const signed = Buffer.from(
      proto.ADVSignedDeviceIdentity.encode({
        details,
        accountSignatureKey: phoneKey.public,
        accountSignature,
      }).finish(),
    );
    const hmac = createHmac('sha256', secret).update(signed).digest();
    const answer = await connection.request(this.#success(account, id, { signed, hmac }));
    const deviceSignature = checkAnswer(answer, {
      details,
      identity,
      phoneKey: phoneKey.public,
      keyIndex: id,
    });
    const companion = makeCompanion(account, id, {
      candidate,
      signedIdentity: { details, accountSignature, deviceSignature },
    });
    account.companions.set(id, companion);
    this.end(connection);
    streamError(connection, { code: '515' });
    this.world.changed();
    return companion;
  }

  /** Checks the version at the registration, and again for the phone number that scans the code. */
  #refused({ version }: Candidate, number: string | null): number | undefined {
    const reason = this.world.faults.versions.refusal('linking', version, number ?? undefined);
    this.world.logins.tried({ kind: 'linking', number, version, refused: reason ?? null });
    return reason;
  }

  #success(account: Account, id: number, { signed, hmac }: { signed: Buffer; hmac: Buffer }) {
    const container = proto.ADVSignedDeviceIdentityHMAC.encode({ details: signed, hmac }).finish();
    const success = node('pair-success', {}, [
      node('device-identity', {}, container),
      ...(account.business === undefined ? [] : [node('biz', { name: account.business })]),
      node('platform', { name: account.business === undefined ? 'android' : 'smba' }),
      node('device', { jid: account.jid('pn', id), lid: account.jid('lid', id) }),
    ]);
    return node('iq', { from: NETWORK, type: 'set', xmlns: 'md', t: seconds() }, [success]);
  }
}

/** Refuses to link a device if the network or the phone does so. */
function refuseUnlessWanted({ number, companions, manners }: Account, connection: Connection): void {
  const { slots, linksRefused } = manners;
  if (companions.size >= slots) throw new SlotsTaken(`${number} has ${slots} linked devices`);
  if (linksRefused !== null) {
    refuse(connection, linksRefused);
    throw new Error(`the network links no device with ${number}`);
  }
}

function refuse(connection: Connection, reason: number): void {
  connection.dismiss(node('failure', { reason: String(reason), location: 'atn' }));
}

function makeRef(): string {
  return `2@${randomBytes(REF_LENGTH).toString('base64')}`;
}

function readCandidate(connection: Connection, payload: proto.ClientPayload): Candidate {
  const data = payload.devicePairingData;
  if (!data?.eIdent || !data.eRegid || !data.eSkeyId || !data.eSkeyVal || !data.eSkeySig) {
    throw new ProtocolError('a client to be linked without its keys');
  }
  const identity = Buffer.from(data.eIdent);
  const key = node('skey', {}, [
    node('id', {}, Buffer.from(data.eSkeyId)),
    node('value', {}, Buffer.from(data.eSkeyVal)),
    node('signature', {}, Buffer.from(data.eSkeySig)),
  ]);
  const properties = data.deviceProps ? proto.DeviceProps.decode(data.deviceProps) : undefined;
  return {
    connection,
    identity,
    registrationId: Buffer.from(data.eRegid).readUIntBE(0, data.eRegid.length),
    signedPreKey: readSignedPreKey(key, identity),
    platform: properties?.os ?? 'unknown',
    version: readVersion(payload),
  };
}

/** Parses a QR code, with or without the URL prefix that opens the app. */
function readQr(code: string) {
  const [ref, clientKey, identity, secret] = (code.split('#').at(-1) ?? '').split(',');
  if (!ref || !clientKey || !identity || !secret) throw new Error('this is not a QR code of the network');
  return {
    ref,
    clientKey: Buffer.from(clientKey, 'base64'),
    identity: Buffer.from(identity, 'base64'),
    secret: Buffer.from(secret, 'base64'),
  };
}

interface Expected {
  details: Buffer;
  identity: Buffer;
  phoneKey: Uint8Array;
  keyIndex: number;
}

function checkAnswer(answer: ReturnType<typeof node>, expected: Expected): Buffer {
  const signed = child(child(answer, 'pair-device-sign'), 'device-identity');
  if (!signed) throw new ProtocolError('the client did not sign');
  if (signed.attrs['key-index'] !== String(expected.keyIndex))
    throw new ProtocolError('signed for another index');
  const { details, deviceSignature } = proto.ADVSignedDeviceIdentity.decode(
    readBytes(signed, 'device-identity'),
  );
  if (!expected.details.equals(details ?? Buffer.alloc(0))) throw new ProtocolError('signed other details');
  const message = Buffer.concat([
    WA_ADV_DEVICE_SIG_PREFIX,
    expected.details,
    expected.identity,
    typed(expected.phoneKey).subarray(1),
  ]);
  if (!deviceSignature || !verified(expected.identity, message, deviceSignature)) {
    throw new ProtocolError('the signature of the client is not of its identity');
  }
  return Buffer.from(deviceSignature);
}

function makeCompanion(
  account: Account,
  id: number,
  from: { candidate: Candidate; signedIdentity: Companion['signedIdentity'] },
): Companion {
  const { candidate, signedIdentity } = from;
  return {
    id,
    account,
    clientKey: candidate.connection.clientKey,
    identity: candidate.identity,
    registrationId: candidate.registrationId,
    signedIdentity,
    signedPreKey: candidate.signedPreKey,
    preKeys: [],
    mail: [],
    active: false,
    greeted: false,
    available: false,
  };
}
