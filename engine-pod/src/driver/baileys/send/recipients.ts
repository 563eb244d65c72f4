import { isJidGroup, jidDecode, jidNormalizedUser, type WASocket } from '@whiskeysockets/baileys';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { NetworkConnection } from '../connection/network-connection.js';
import { SendFailure } from '../../driver.js';

/** A phone number that was found is not looked up again for this time. */
const KNOWN = { max: 10_000, ttlMs: 6 * 3_600_000 };

type Device = Awaited<ReturnType<WASocket['getUSyncDevices']>>[number];

/**
 * Looks up recipients before anything is encrypted. Stock Baileys asks while it holds the lock of the whole
 * account. When nobody answers, it sends to the own phone alone and reports success.
 */
export class Recipients {
  /** JIDs by phone number. */
  readonly #known = new ExpiringMap<string>(KNOWN);
  readonly #deviceQueries = new Map<string, { socket: WASocket; devices: Promise<Device[]> }>();

  /**
   * The network's id of a phone number; null when it is not on the network.
   * @throws SendFailure
   */
  async findJid(socket: WASocket, phone: string): Promise<string | null> {
    const known = this.#known.get(phone);
    if (known !== undefined) return known;
    const found = await askNetwork(() => socket.onWhatsApp(phone));
    // Without an answer nothing is known.
    if (!found) throw SendFailure.notWritten();
    const [first] = found;
    if (!first?.exists) return null;
    this.#known.set(phone, first.jid);
    return first.jid;
  }

  /**
   * Resolves the JID of a chat and ensures a session with each of its devices.
   * @throws SendFailure
   */
  async prepare(
    { socket, groups }: Pick<NetworkConnection, 'socket' | 'groups'>,
    chat: string,
  ): Promise<string> {
    if (isJidGroup(chat)) {
      const metadata = await askNetwork(() => socket.groupMetadata(chat));
      groups.set(chat, metadata);
      const members = metadata.participants.map(({ id }) => id);
      await ensureSessions(socket, await askNetwork(() => socket.getUSyncDevices(members, true, false)));
      return chat;
    }
    const { user, server } = jidDecode(chat) ?? {};
    if (!user) throw SendFailure.refused('recipient_not_on_whatsapp', 'not a valid address');
    const jid = server === 's.whatsapp.net' ? await this.findJid(socket, user) : jidNormalizedUser(chat);
    if (jid === null) throw SendFailure.refused('recipient_not_on_whatsapp');
    await this.#prepareDevices(socket, jid);
    return jid;
  }

  async #prepareDevices(socket: WASocket, jid: string): Promise<void> {
    const { id, lid } = socket.user ?? {};
    const own = jidDecode(jid)?.server === 'lid' && lid ? lid : id;
    const [ours, theirs] = await Promise.all([
      this.#findDevices(socket, jidNormalizedUser(own)),
      this.#findDevices(socket, jid),
    ]);
    const { user } = jidDecode(jid)!;
    if (!theirs.some((device) => device.user === user)) throw SendFailure.notWritten();
    await ensureSessions(socket, [...ours, ...theirs]);
  }

  /**
   * Concurrent callers share one query. After each answer Baileys starts new sessions with all devices of that person,
   * and each one uses up a pre-key. The own devices are queried for every message.
   */
  #findDevices(socket: WASocket, jid: string): Promise<Device[]> {
    const underWay = this.#deviceQueries.get(jid);
    if (underWay?.socket === socket) return underWay.devices;
    const devices = askNetwork(() => socket.getUSyncDevices([jid], true, false)).finally(() => {
      if (this.#deviceQueries.get(jid)?.devices === devices) this.#deviceQueries.delete(jid);
    });
    this.#deviceQueries.set(jid, { socket, devices });
    return devices;
  }
}

async function ensureSessions(socket: WASocket, devices: Device[]): Promise<void> {
  const jids = devices.map(({ jid }) => jid);
  await askNetwork(() => socket.assertSessions(jids, false));
}

/** A failed query means that the message was not written and may be retried. */
export async function askNetwork<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch {
    throw SendFailure.notWritten();
  }
}
