import {
  extractDeviceJids,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  isPnUser,
  jidDecode,
  jidEncode,
  jidNormalizedUser,
  parseAndInjectE2ESessions,
  USyncQuery,
  USyncUser,
  type BinaryNode,
  type JidWithDevice,
  type WASocket,
} from '@whiskeysockets/baileys';
import { SendFailure } from '../../driver.js';
import { askNetwork } from './ask-network.js';

/** A query for the devices or keys of more people may take longer than the network has for its answer. */
const QUERY_SIZE = 100;
/** Sessions that start together: one write, and about 15 ms of the event loop. */
const START_SIZE = 10;

type Devices = (Omit<JidWithDevice, 'jid'> & { server: Parameters<typeof jidEncode>[1] })[];

/**
 * Finds the devices of all members, and ensures a session with each device that has no sender key of the group. Stock
 * Baileys asks for everybody in one query, starts new sessions with all devices although it has some, and fails for
 * one device without keys. Here such a device gets no message until the device list expires (5 minutes).
 * @throws SendFailure
 */
export async function prepareGroup(
  socket: WASocket,
  group: string,
  members: readonly string[],
): Promise<void> {
  for (const some of chunk(await listUnknown(socket, members), QUERY_SIZE)) await queryDevices(socket, some);
  for (const some of chunk(await listWithoutSession(socket, group, members), QUERY_SIZE))
    await startSessions(socket, some);
}

const readUser = (jid: string): string => jidDecode(jid)?.user ?? jid;

/** Baileys' cache, which the network's notices keep current. */
const readDevices = async (socket: WASocket, member: string): Promise<Devices | undefined> =>
  (await socket.userDevicesCache.get(readUser(member))) as Devices | undefined;

async function listUnknown(socket: WASocket, members: readonly string[]): Promise<string[]> {
  const unknown: string[] = [];
  for (const member of members) if (!(await readDevices(socket, member))) unknown.push(member);
  return unknown;
}

async function queryDevices(socket: WASocket, members: readonly string[]): Promise<void> {
  const query = new USyncQuery().withContext('message').withDeviceProtocol().withLIDProtocol();
  for (const member of members) query.withUser(new USyncUser().withId(jidNormalizedUser(member)));
  const answer = await askNetwork(() => socket.executeUSyncQuery(query));
  if (!answer) throw SendFailure.notWritten();
  await storePairs(socket, answer.list);
  const { id = '', lid } = socket.user ?? {};
  const found = extractDeviceJids(answer.list, id, lid ? readUser(lid) : '', false) as Devices;
  // An entry for members without devices, too: Baileys would ask for them again.
  const lists = new Map<string, Devices>(members.map((member) => [readUser(member), []]));
  for (const device of found) lists.get(device.user)?.push(device);
  for (const [user, devices] of lists) await socket.userDevicesCache.set(user, devices);
}

/** Sessions are stored under the LID, and Baileys looks up each unknown one on its own. */
async function storePairs(
  { signalRepository }: WASocket,
  list: readonly { id: string; [protocol: string]: unknown }[],
): Promise<void> {
  const pairs = list.flatMap(({ id, lid }) =>
    isPnUser(id) && typeof lid === 'string' ? [{ pn: id, lid }] : [],
  );
  await signalRepository.lidMapping.storeLIDPNMappings(pairs);
}

/** The devices of the members that have neither a sender key of the group nor a session. */
async function listWithoutSession(
  socket: WASocket,
  group: string,
  members: readonly string[],
): Promise<string[]> {
  const { [group]: receivers = {} } = await socket.authState.keys.get('sender-key-memory', [group]);
  const lists = await Promise.all(members.map((member) => readDevices(socket, member)));
  const devices = lists.flat().flatMap((one) => (one ? jidEncode(one.user, one.server, one.device) : []));
  const candidates = devices.filter((jid) => !receivers[jid]);
  await loadSessions(socket, candidates);
  const without: string[] = [];
  for (const jid of candidates)
    if (!(await socket.signalRepository.validateSession(jid)).exists) without.push(jid);
  return without;
}

/** Reads them at once into the cache of the session store. */
async function loadSessions(
  { authState, signalRepository }: WASocket,
  devices: readonly string[],
): Promise<void> {
  const lids =
    (await signalRepository.lidMapping.getLIDsForPNs(devices.filter((jid) => isPnUser(jid)))) ?? [];
  const addresses = [...devices, ...lids.map(({ lid }) => lid)].map((jid) =>
    signalRepository.jidToSignalProtocolAddress(jid),
  );
  await authState.keys.get('session', addresses);
}

async function startSessions(socket: WASocket, devices: readonly string[]): Promise<void> {
  const byAddress = new Map(devices.map((jid) => [jid, jid]));
  const phones = devices.filter((jid) => isPnUser(jid));
  for (const { pn, lid } of (await socket.signalRepository.lidMapping.getLIDsForPNs(phones)) ?? []) {
    byAddress.delete(pn);
    byAddress.set(lid, pn);
  }
  const users = [...byAddress.keys()].map((jid) => ({ tag: 'user', attrs: { jid } }));
  const answer = await askNetwork<BinaryNode>(() =>
    socket.query({
      tag: 'iq',
      attrs: { xmlns: 'encrypt', type: 'get', to: '@s.whatsapp.net' },
      content: [{ tag: 'key', attrs: {}, content: users }],
    }),
  );
  const bundles = getBinaryNodeChildren(getBinaryNodeChild(answer, 'list'), 'user');
  const usable = bundles.filter((bundle) => !getBinaryNodeChild(bundle, 'error'));
  for (const some of chunk(usable, START_SIZE))
    await Promise.all(some.map((bundle) => startSession(socket, bundle)));
  for (const { attrs } of usable) byAddress.delete(attrs['jid'] ?? '');
  for (const device of byAddress.values()) await ignoreDevice(socket, device);
}

function startSession({ signalRepository }: WASocket, bundle: BinaryNode): Promise<void> {
  const answer = { tag: 'iq', attrs: {}, content: [{ tag: 'list', attrs: {}, content: [bundle] }] };
  return parseAndInjectE2ESessions(answer, signalRepository);
}

async function ignoreDevice(socket: WASocket, jid: string): Promise<void> {
  const { user, device = 0 } = jidDecode(jid)!;
  const others = ((await readDevices(socket, jid)) ?? []).filter((one) => (one.device ?? 0) !== device);
  await socket.userDevicesCache.set(user, others);
}

const chunk = <T>(items: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
