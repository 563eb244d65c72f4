import type { Account, Companion } from '../people/account.js';
import { node, type Node } from '../wire/nodes.js';
import type { TypingSeen, World } from '../world.js';

/** Presence and typing states. They are sent to clients that subscribe, and never stored. */
export function takePresence(world: World, companion: Companion, stanza: Node): void {
  const { type, to } = stanza.attrs;
  if (type === 'subscribe') {
    const watched = world.people.byJid(to);
    if (watched) companion.connection?.send(presenceOf(watched, to ?? ''));
    return;
  }
  companion.available = type !== 'unavailable';
}

function presenceOf(account: Account, jid: string): Node {
  const available = [...account.companions.values()].some((one) => one.available);
  return node('presence', { from: jid, type: available ? undefined : 'unavailable', last: 'deny' });
}

/** A client types, records, or has stopped. Nobody sees it unless the client is available. */
export function takeChatState(world: World, { account, available }: Companion, stanza: Node): void {
  const to = stanza.attrs.to ?? '';
  const receiver = world.people.byJid(to);
  if (!receiver && !to.endsWith('@g.us')) return world.violated(`typing to ${to}, which nobody has`);
  if (!available) return;
  world.typings.push({ from: account.number, to: receiver?.number ?? to, state: stateOf(stanza) });
  const server = to.endsWith('@lid') ? 'lid' : 'pn';
  const state = node('chatstate', { from: account.jid(server) }, stanza.content);
  for (const other of receiver?.companions.values() ?? []) other.connection?.send(state);
}

function stateOf(stanza: Node): TypingSeen['state'] {
  const [shown] = Array.isArray(stanza.content) ? stanza.content : [];
  if (shown?.tag !== 'composing') return 'paused';
  return shown.attrs.media === 'audio' ? 'recording' : 'composing';
}

/** A person types or records. Online clients receive it. */
export function showState(person: Account, to: Account, state: 'composing' | 'recording' | 'paused'): void {
  const shown = state === 'recording' ? node('composing', { media: 'audio' }) : node(state);
  const stanza = node('chatstate', { from: person.jid(person.shownAs()) }, [shown]);
  for (const companion of to.companions.values()) {
    if (companion.available) companion.connection?.send(stanza);
  }
}
