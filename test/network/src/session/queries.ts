import type { Companion } from '../people/account.js';
import { hasComeOnline } from '../post/mail.js';
import { greet } from '../history/history.js';
import { groupNode } from '../groups/nodes.js';
import { NETWORK, parseJid } from '../wire/jids.js';
import { bigEndian, child, children, node, ProtocolError, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';
import { answerKeys, rotateSignedPreKey, uploadKeys } from './prekeys.js';
import { answerRestriction } from './restriction.js';
import { streamError } from './stream-errors.js';
import { usync } from './usync.js';

interface Asked {
  world: World;
  companion: Companion;
  query: Node;
}

/** The content of the result, or an error. `later` sends no answer now. */
export type Answer = Node[] | { error: number; text: string };
type Handler = (asked: Asked) => Answer;

const done: Handler = () => [];

/** All queries that the network answers, by namespace, type and first child. */
const HANDLERS: Record<string, Handler> = {
  'w:p/get/ping': done,
  'w:p/get/': done,
  'passive/set/active': ({ world, companion }) => {
    // After the answer to this query.
    setImmediate(() => {
      hasComeOnline(companion);
      greet(world, companion).catch((error: Error) => world.violated(`greeting: ${error.message}`));
    });
    return [];
  },
  'passive/set/passive': done,
  'w:stats/set/add': done,
  'w:stats//add': done,
  'encrypt/get/count': ({ companion }) => [node('count', { value: String(companion.preKeys.length) })],
  'encrypt/get/digest': ({ companion }) => digest(companion),
  'encrypt/set/registration': ({ companion, query }) => {
    uploadKeys(companion, query);
    return [];
  },
  'encrypt/set/identity': ({ companion, query }) => {
    uploadKeys(companion, query);
    return [];
  },
  'encrypt/set/rotate': ({ companion, query }) => {
    rotateSignedPreKey(companion, query);
    return [];
  },
  'encrypt/get/key': ({ world, query }) => [answerKeys(world, query)],
  'usync/get/usync': ({ world, query }) => [usync(world, query)],
  'abt/get/props': () => [node('props', { hash: 'none', refresh: '86400', protocol: '1' }, [])],
  'w/get/props': () => [node('props', { hash: 'none' }, [])],
  'blocklist/get/': () => [node('list', {}, [])],
  'privacy/get/privacy': () => [
    node('privacy', {}, [node('category', { name: 'readreceipts', value: 'all' })]),
  ],
  'privacy/set/tokens': done,
  'status/get/privacy': () => [
    node('privacy', {}, [node('list', { type: 'contacts', default: 'true' }, [])]),
  ],
  'disappearing_mode/get/': () => [node('disappearing_mode', { duration: '0', t: '0' })],
  'w:profile:picture/get/picture': () => ({ error: 404, text: 'item-not-found' }),
  'w:biz/get/verified_name': () => ({ error: 404, text: 'item-not-found' }),
  'urn:xmpp:whatsapp:push/set/config': done,
  'urn:xmpp:whatsapp:dirty/set/clean': done,
  'w:mex/get/query': ({ world, companion, query }) =>
    answerRestriction(world, companion, query) ?? { error: 501, text: 'feature-not-implemented' },
  'w:g2/get/query': groupInfo,
  'w:g2/get/participating': groupsOf,
  'w:m/set/media_conn': mediaHosts,
  'w:sync:app:state/set/sync': appState,
  'md/set/remove-companion-device': leave,
};

/** @returns the name of a query, for the rules of tests */
export function queryName(query: Node): string {
  const first = Array.isArray(query.content) ? query.content[0]?.tag : undefined;
  return `${query.attrs.xmlns ?? ''}/${query.attrs.type ?? ''}/${first ?? ''}`;
}

export function answerQuery(world: World, companion: Companion, query: Node): void {
  const name = queryName(query);
  const due = world.faults.answerTo(name, companion.account.number, query);
  if (due === 'lose') return;
  const reply =
    due === undefined || due === 'silence' ? judge({ world, companion, query }, name) : refusal(due);
  if (due !== 'silence') companion.connection?.send(asResult(query, reply));
}

const refusal = (error: number): Answer => ({ error, text: 'refused' });

function judge(asked: Asked, name: string): Answer {
  const handler = HANDLERS[name];
  if (!handler) {
    asked.world.unhandled.push(name);
    return { error: 501, text: 'feature-not-implemented' };
  }
  try {
    return handler(asked);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    asked.world.violated(`${name} of ${asked.companion.account.number}: ${error.message}`);
    return { error: 406, text: 'not-acceptable' };
  }
}

export function asResult(query: Node, answer: Answer): Node {
  const attributes = { from: query.attrs.to ?? NETWORK, id: query.attrs.id };
  if (Array.isArray(answer)) return node('iq', { ...attributes, type: 'result' }, answer);
  const error = node('error', { code: String(answer.error), text: answer.text });
  return node('iq', { ...attributes, type: 'error' }, [error]);
}

function digest(companion: Companion): Answer {
  if (companion.preKeys.length === 0) return { error: 404, text: 'item-not-found' };
  return [node('digest', {}, [node('registration', {}, bigEndian(companion.registrationId, 4))])];
}

function groupInfo({ world, companion, query }: Asked): Answer {
  const group = world.groups.get(parseJid(query.attrs.to)?.user ?? '');
  if (!group) return { error: 404, text: 'item-not-found' };
  if (!group.members.includes(companion.account.number)) return { error: 403, text: 'forbidden' };
  return [groupNode(world, group, companion.account.number)];
}

function groupsOf({ world, companion }: Asked): Answer {
  const own = [...world.groups.values()].filter(({ members }) => members.includes(companion.account.number));
  return [
    node(
      'groups',
      {},
      own.map((group) => groupNode(world, group, companion.account.number)),
    ),
  ];
}

function mediaHosts({ world }: Asked): Answer {
  if (!world.media) return { error: 503, text: 'no media hosts' };
  const attributes = { auth: world.media.auth, ttl: '300', auth_ttl: '21600', max_buckets: '12' };
  return [node('media_conn', attributes, [node('host', { hostname: world.media.host })])];
}

/** App state shared between the devices of an account: always empty and unchanged. */
function appState({ query }: Asked): Answer {
  const collections = children(child(query, 'sync'), 'collection').map(({ attrs }) =>
    node('collection', { name: attrs.name, version: attrs.version ?? '0', type: 'result' }),
  );
  return [node('sync', {}, collections)];
}

/** The client unlinks itself. */
function leave({ world, companion, query }: Asked): Answer {
  const named = child(query, 'remove-companion-device');
  const device = parseJid(named?.attrs.jid)?.device ?? companion.id;
  const leaving = companion.account.companions.get(device);
  if (!leaving) return { error: 404, text: 'item-not-found' };
  setImmediate(() => unlink(world, leaving));
  return [];
}

/** The device is no longer linked. */
export function unlink(world: World, companion: Companion): void {
  companion.account.companions.delete(companion.id);
  if (companion.connection) streamError(companion.connection, { code: '401', conflict: 'device_removed' });
  world.changed();
}
