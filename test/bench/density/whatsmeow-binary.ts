/** Address of a network, and the root of its certificates. */
export interface Whereabouts {
  url: string;
  /** 32 bytes. */
  root: Buffer;
}

/** Constants of whatsmeow, which every program built with it contains. */
const ADDRESS = Buffer.from('wss://web.whatsapp.com/ws/chat');
const ROOT = Buffer.from('142375574d0a587166aae71ebe516437c4a28b73e3695c6ce1f7f9545da8ee6b', 'hex');

/**
 * Copies a whatsmeow program with the address and root of another network. Both are overwritten in place with the same
 * length, so nothing moves.
 *
 * @throws Error if the program lacks one of them, or the address is too long
 */
export function pointAt(program: Buffer, { url, root }: Whereabouts): Buffer {
  if (root.length !== ROOT.length) throw new Error('a root must have 32 bytes');
  const missing = ADDRESS.length - url.length;
  if (missing < 0) throw new Error(`${url} is longer than ${ADDRESS.toString()}`);
  // Pads with a query, which the network ignores.
  const padded = missing === 0 ? url : `${url}?${'x'.repeat(missing - 1)}`;
  const copy = Buffer.from(program);
  if (overwrite(copy, ADDRESS, Buffer.from(padded)) === 0)
    throw new Error('the program contains no address of the network');
  if (overwrite(copy, ROOT, root) === 0) throw new Error('the program contains no root of the network');
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
