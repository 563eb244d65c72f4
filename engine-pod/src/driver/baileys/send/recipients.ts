import {
  isJidGroup,
  jidDecode,
  jidNormalizedUser,
  type GroupMetadata,
  type WASocket,
} from '@whiskeysockets/baileys';
import type { NetworkConnection } from '../connection/link.js';
import { SendFailure } from '../../driver.js';

/** How long a number that was found is taken to be on the network. */
const KNOWN_MS = 6 * 3_600_000;
const MAX_KNOWN = 10_000;

interface KnownRecipient {
  jid: string;
  at: number;
}

type Device = Awaited<ReturnType<WASocket['getUSyncDevices']>>[number];

/**
 * Who is to get a message, asked of the network before anything is encrypted. Baileys would ask while it holds the
 * lock of the whole account, and where nobody answers it sends to the own phone alone and calls that a success.
 */
export class Recipients {
  readonly #known = new Map<string, KnownRecipient>();
  readonly #deviceQueries = new Map<string, { socket: WASocket; devices: Promise<Device[]> }>();

  /** The id by which the network knows a phone; null where it knows none. @throws SendFailure */
  async findJid(socket: WASocket, phone: string): Promise<string | null> {
    const known = this.#known.get(phone);
    if (known && performance.now() - known.at < KNOWN_MS) return known.jid;
    const found = await askNetwork(() => socket.onWhatsApp(phone));
    // Without an answer nothing is known, either way.
    if (!found) throw SendFailure.notWritten();
    const [first] = found;
    if (!first?.exists) return null;
    this.#remember(phone, first.jid);
    return first.jid;
  }

  /** Where to send for this chat, with a session for each device that is to read it. @throws SendFailure */
  async prepare(
    { socket, groups }: Pick<NetworkConnection, 'socket' | 'groups'>,
    chat: string,
  ): Promise<string> {
    if (isJidGroup(chat)) {
      const metadata = await askNetwork(() => socket.groupMetadata(chat));
      groups.set(chat, metadata);
      await prepareMembers(socket, metadata);
      return chat;
    }
    const { user, server } = jidDecode(chat) ?? {};
    if (!user) throw SendFailure.refused('recipient_not_on_whatsapp', 'no such address');
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
    const jids = [...ours, ...theirs].map((device) => device.jid);
    await askNetwork(() => socket.assertSessions(jids, false));
  }

  /**
   * Asked once for all who want to know it at the same time: with each answer Baileys begins all sessions of that
   * person anew, at a pre-key each, and the own devices take part in every message.
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

  #remember(phone: string, jid: string): void {
    this.#known.delete(phone);
    this.#known.set(phone, { jid, at: performance.now() });
    if (this.#known.size <= MAX_KNOWN) return;
    const [oldest] = this.#known.keys();
    this.#known.delete(oldest!);
  }
}

async function prepareMembers(socket: WASocket, { participants }: GroupMetadata): Promise<void> {
  const members = participants.map(({ id }) => id);
  const devices = await askNetwork(() => socket.getUSyncDevices(members, true, false));
  await askNetwork(() =>
    socket.assertSessions(
      devices.map(({ jid }) => jid),
      false,
    ),
  );
}

/** A question that failed says nothing about the message: it was not written, and may be tried again. */
async function askNetwork<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch {
    throw SendFailure.notWritten();
  }
}
