import type { Account } from '../people/account.js';
import { phoneJid } from '../wire/jids.js';
import { child, children, node, seconds, readText, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';
import { signedDeviceList } from './device-list.js';

/** Answers which phone numbers are on the network, with their LIDs and devices. */
export function usync(world: World, query: Node): Node {
  const asked = child(query, 'usync');
  const protocols = children(child(asked, 'query'));
  const wanted: Wanted = {
    tags: new Set(protocols.map(({ tag }) => tag)),
    byLid: protocols.some(({ tag, attrs }) => tag === 'contact' && attrs.addressing_mode === 'lid'),
  };
  const users = children(child(asked, 'list'), 'user').map((user) => answerFor(world, user, wanted));
  const attributes = {
    sid: asked?.attrs.sid,
    mode: asked?.attrs.mode,
    context: asked?.attrs.context,
    last: 'true',
    index: '0',
  };
  return node('usync', attributes, [node('result'), node('list', {}, users)]);
}

interface Wanted {
  tags: ReadonlySet<string>;
  /** Whether the client asks for LIDs of phone numbers. */
  byLid: boolean;
}

function answerFor(world: World, user: Node, { tags, byLid }: Wanted): Node {
  const typed = readText(child(user, 'contact'));
  const phone = typed.replace(/\D/g, '');
  const jid = user.attrs.jid ?? (phone ? phoneJid(phone) : undefined);
  const account = world.people.byJid(jid) ?? (user.attrs.jid ? undefined : world.people.byOtherForm(phone));
  const known = user.attrs.jid ?? account?.jid('pn') ?? jid;
  // Newer clients ask for the LID of a phone number, and receive both.
  const names =
    byLid && user.attrs.jid === undefined ? { jid: account?.jid('lid'), pn_jid: known } : { jid: known };
  const answers: Record<string, () => Node | '' | undefined> = {
    contact: () => contact(account, typed),
    devices: () => devices(account),
    username: () => account?.username && node('username', {}, Buffer.from(account.username)),
    lid: () => account && node('lid', { val: account.jid('lid') }),
    status: () => node('status', { t: seconds() }, Buffer.alloc(0)),
    business: () => (account?.business === undefined ? undefined : business(account.business)),
    disappearing_mode: () => node('disappearing_mode', { duration: '0', t: seconds() }),
  };
  const found = Object.entries(answers)
    .filter(([what]) => tags.has(what))
    .flatMap(([, answer]) => answer() || []);
  return node('user', names, found);
}

function contact(account: Account | undefined, typed: string): Node {
  return node('contact', { type: account ? 'in' : 'out' }, typed ? Buffer.from(typed) : undefined);
}

function devices(account: Account | undefined): Node {
  if (!account) return node('devices', {}, [node('device-list', {}, [])]);
  const list = account
    .devices()
    .map((id) => node('device', { id: String(id), 'key-index': id === 0 ? undefined : String(id) }));
  const attributes = { ts: seconds() };
  return node('devices', {}, [
    node('device-list', {}, list),
    // Without linked devices there is nothing to sign.
    node('key-index-list', attributes, list.length > 1 ? signedDeviceList(account) : undefined),
  ]);
}

function business(name: string): Node {
  return node('business', {}, [node('verified_name', { v: '1' }, Buffer.from(name))]);
}
