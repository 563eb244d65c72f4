import type { Account, Companion } from '../people/account.js';
import { deliver } from '../post/mail.js';
import { bundleNodes, readPreKey, readSignedPreKey, type Bundle } from '../signal/keys.js';
import { NETWORK, parseJid } from '../wire/jids.js';
import {
  readBytes,
  child,
  children,
  node,
  readNumber,
  ProtocolError,
  seconds,
  type Node,
} from '../wire/nodes.js';
import type { World } from '../world.js';

/** Below this number of pre-keys the network requests more. */
const FEW = 10;

/** Stores the keys that others need to write to a client: its signed pre-key and one-time pre-keys. */
export function uploadKeys(companion: Companion, query: Node): void {
  const identity = readBytes(child(query, 'identity'), 'identity');
  if (!identity.equals(companion.identity))
    throw new ProtocolError('keys of another identity than was paired');
  const registrationId = readNumber(child(query, 'registration'), 'registration');
  const signedPreKey = readSignedPreKey(child(query, 'skey'), identity);
  const fresh = children(child(query, 'list'), 'key').map((one) => readPreKey(one, 'pre-key'));
  companion.registrationId = registrationId;
  companion.signedPreKey = signedPreKey;
  // An upload with a lost answer comes again. The same keys count once.
  const ids = new Set(fresh.map(({ id }) => id));
  companion.preKeys = [...companion.preKeys.filter(({ id }) => !ids.has(id)), ...fresh];
}

export function rotateSignedPreKey(companion: Companion, query: Node): void {
  companion.signedPreKey = readSignedPreKey(child(child(query, 'rotate'), 'skey'), companion.identity);
}

/**
 * Returns a key bundle of a companion. Each pre-key is given out once, and the client is notified when few are left.
 */
export function takePreKey(companion: Companion): Bundle {
  const preKey = companion.preKeys.shift();
  if (companion.preKeys.length < FEW && preKey) {
    const count = node('count', { value: String(companion.preKeys.length) });
    const id = `low-${preKey.id}`;
    deliver(companion, node('notification', { from: NETWORK, type: 'encrypt', id, t: seconds() }, [count]));
  }
  return {
    registrationId: companion.registrationId,
    identity: companion.identity,
    signedPreKey: companion.signedPreKey,
    ...(preKey && { preKey }),
  };
}

/** Answers a client that wants to write to the named devices. */
export function answerKeys(world: World, query: Node): Node {
  const users = children(child(query, 'key'), 'user').map(({ attrs }) => userKeys(world, attrs.jid));
  return node('list', {}, users);
}

function userKeys(world: World, jid: string | undefined): Node {
  const account = world.people.byJid(jid);
  const bundle = account && bundleOf(account, parseJid(jid)?.device ?? 0);
  if (!bundle) {
    return node('user', { jid }, [node('error', { code: '404', text: 'item-not-found' })]);
  }
  return node('user', { jid, t: seconds() }, bundleNodes(bundle));
}

function bundleOf(account: Account, device: number): Bundle | undefined {
  const handset = account.handsets.get(device);
  if (handset) return handset.signal.bundle();
  const companion = account.companions.get(device);
  return companion && takePreKey(companion);
}
