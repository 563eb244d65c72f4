/** Where a client on whatsmeow finds the network, and what it holds the network's certificates against. */
export interface Whereabouts {
  url: string;
  /** 32 bytes. */
  root: Buffer;
}

/** Both are constants of whatsmeow, so they stand in every program that is built with it. */
const ADDRESS = Buffer.from('wss://web.whatsapp.com/ws/chat');
const ROOT = Buffer.from('142375574d0a587166aae71ebe516437c4a28b73e3695c6ce1f7f9545da8ee6b', 'hex');

/**
 * A copy of a program built with whatsmeow in which address and root are those of another network. Nothing else
 * changes, nothing moves: each is written over the one that was there, in as many bytes.
 *
 * @throws Error where one of them is not there, or the address is too long to take the place of the other
 */
export function pointAt(program: Buffer, { url, root }: Whereabouts): Buffer {
  if (root.length !== ROOT.length) throw new Error('a root has 32 bytes');
  const missing = ADDRESS.length - url.length;
  if (missing < 0) throw new Error(`${url} is longer than ${ADDRESS.toString()}`);
  // A query of the missing length: the network does not look at it.
  const padded = missing === 0 ? url : `${url}?${'x'.repeat(missing - 1)}`;
  const copy = Buffer.from(program);
  if (overwrite(copy, ADDRESS, Buffer.from(padded)) === 0) throw new Error('no address of the network in it');
  if (overwrite(copy, ROOT, root) === 0) throw new Error('no root of the network in it');
  return copy;
}

function overwrite(bytes: Buffer, from: Buffer, to: Buffer): number {
  let count = 0;
  for (let place = bytes.indexOf(from); place >= 0; place = bytes.indexOf(from, place + to.length)) {
    to.copy(bytes, place);
    count += 1;
  }
  return count;
}
