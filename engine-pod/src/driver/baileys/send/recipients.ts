import {
  isJidGroup,
  jidDecode,
  jidNormalizedUser,
  USyncQuery,
  USyncUser,
  type WASocket,
} from '@whiskeysockets/baileys';
import { ExpiringMap } from '@gwk/core/async/expiring-map';
import type { NetworkConnection } from '../connection/network-connection.js';
import { phoneForms } from '@gwk/core/ids/recipients';
import { SendFailure, type FoundContact } from '../../driver.js';
import { askNetwork } from './ask-network.js';
import { prepareGroup } from './group-devices.js';

/** A phone number that was found is not looked up again for this time. */
const KNOWN = { max: 10_000, ttlMs: 6 * 3_600_000 };
/** A phone number without an account is not looked up again for a card in this time. A send asks: it may have one now. */
const UNKNOWN = { max: 10_000, ttlMs: 3_600_000 };

type Device = Awaited<ReturnType<WASocket['getUSyncDevices']>>[number];

/**
 * Looks up recipients before anything is encrypted. Stock Baileys asks while it holds the lock of the whole
 * account. When nobody answers, it sends to the own phone alone and reports success.
 */
export class Recipients {
  readonly #known = new ExpiringMap<FoundContact>(KNOWN);
  readonly #unknown = new ExpiringMap<true>(UNKNOWN);
  readonly #lookups = new Map<string, { socket: WASocket; found: Promise<FoundContact | null> }>();
  readonly #deviceQueries = new Map<string, { socket: WASocket; devices: Promise<Device[]> }>();

  /**
   * Finds the network's ids of a phone number: of the form as written, else of the other form of the same number. Null
   * when neither is on the network.
   * @throws SendFailure
   */
  async find(socket: WASocket, phone: string): Promise<FoundContact | null> {
    const known = this.#known.get(phone);
    if (known !== undefined) return known;
    const underWay = this.#lookups.get(phone);
    if (underWay?.socket === socket) return underWay.found;
    const found = this.#lookUpForms(socket, phone).finally(() => {
      if (this.#lookups.get(phone)?.found === found) this.#lookups.delete(phone);
    });
    this.#lookups.set(phone, { socket, found });
    return found;
  }

  /**
   * Finds the network's ids of a phone number or a LID; null when the network knows no such account.
   * @throws SendFailure
   */
  async check(socket: WASocket, name: string): Promise<FoundContact | null> {
    if (!name.includes('@')) return this.find(socket, name);
    const isKnown = await hasDevices(socket, name);
    if (isKnown === undefined) throw SendFailure.notWritten();
    if (!isKnown) return null;
    const jid = await socket.signalRepository.lidMapping.getPNForLID(name);
    return { jid: jid ? jidNormalizedUser(jid) : name, lid: name };
  }

  async #lookUpForms(socket: WASocket, phone: string): Promise<FoundContact | null> {
    for (const form of phoneForms(phone)) {
      const [found] = await lookUp(socket, [form]);
      if (!found) continue;
      this.#known.set(phone, found);
      this.#unknown.delete(phone);
      return found;
    }
    this.#unknown.set(phone, true);
    return null;
  }

  /**
   * The LIDs of phone numbers that the network knows, found with one query.
   * @throws SendFailure
   */
  async findLids(socket: WASocket, phones: readonly string[]): Promise<Map<string, string>> {
    const unknown = phones.filter((phone) => !this.#known.get(phone));
    const contacts = unknown.length > 0 ? await lookUp(socket, unknown.flatMap(phoneForms)) : [];
    const byPhone = new Map(contacts.map((contact) => [readPhone(contact.jid), contact]));
    const lids = new Map<string, string>();
    for (const phone of phones) {
      const known = this.#known.get(phone);
      const contact = known ?? byPhone.get(phoneForms(phone).find((form) => byPhone.has(form)) ?? null);
      if (contact && !known) this.#known.set(phone, contact);
      if (contact?.lid) lids.set(phone, contact.lid);
    }
    return lids;
  }

  /**
   * The registered phone numbers of a contact card, by the number as written. A number without an account is missing.
   * @throws SendFailure
   */
  async findRegistered(socket: WASocket, phones: readonly string[]): Promise<Map<string, string>> {
    const found = await Promise.all(
      phones.map(async (phone): Promise<[string, string][]> => {
        const contact = this.#unknown.get(phone) ? null : await this.find(socket, phone);
        const registered = contact && readPhone(contact.jid);
        return registered ? [[phone, registered]] : [];
      }),
    );
    return new Map(found.flat());
  }

  /**
   * The address of a chat: for a phone number the registered one if the network knows it.
   * @throws SendFailure
   */
  async address(socket: WASocket, chat: string): Promise<string> {
    const phone = readPhone(chat);
    const found = phone === null ? null : await this.find(socket, phone);
    return found?.jid ?? chat;
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
      const { participants } = await groups.find(chat);
      await prepareGroup(
        socket,
        chat,
        participants.map(({ id }) => id),
      );
      return chat;
    }
    if (!jidDecode(chat)?.user) throw SendFailure.refused('recipient_not_on_whatsapp', 'not a valid address');
    const phone = readPhone(chat);
    const found = phone === null ? null : await this.find(socket, phone);
    if (phone !== null && found === null) throw SendFailure.refused('recipient_not_on_whatsapp');
    const jid = found?.jid ?? jidNormalizedUser(chat);
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
    if (!theirs.some((device) => device.user === user)) throw await explainNoDevices(socket, jid);
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

/** The phone number of a contact's address; null for other addresses. */
export function readPhone(chat: string): string | null {
  const { user, server } = jidDecode(chat) ?? {};
  return user && server === 's.whatsapp.net' ? user : null;
}

/** The phone numbers that the network knows. */
async function lookUp(socket: WASocket, phones: readonly string[]): Promise<FoundContact[]> {
  const query = new USyncQuery().withContactProtocol().withLIDProtocol();
  for (const phone of phones) query.withUser(new USyncUser().withPhone(`+${phone}`));
  const answer = await askNetwork(() => socket.executeUSyncQuery(query));
  // Without an answer nothing is known.
  if (!answer) throw SendFailure.notWritten();
  const registered = answer.list.filter(({ contact }) => contact);
  return registered.map(({ id, lid }) => ({
    jid: jidNormalizedUser(id),
    lid: typeof lid === 'string' ? jidNormalizedUser(lid) : null,
  }));
}

/** Baileys answers alike when the network knows no such account and when it does not answer. */
async function explainNoDevices(socket: WASocket, jid: string): Promise<SendFailure> {
  return (await hasDevices(socket, jid)) === false
    ? SendFailure.refused('recipient_not_on_whatsapp', 'the network knows no account with this id')
    : SendFailure.notWritten();
}

/** Whether the network knows devices of an account; undefined: no answer. */
async function hasDevices(socket: WASocket, jid: string): Promise<boolean | undefined> {
  const query = new USyncQuery().withDeviceProtocol().withUser(new USyncUser().withId(jid));
  const answer = await askNetwork(() => socket.executeUSyncQuery(query));
  const user = answer?.list.find(({ id }) => jidNormalizedUser(id) === jid);
  const devices = user?.['devices'] as { deviceList?: unknown[] } | undefined;
  return answer && (devices?.deviceList?.length ?? 0) > 0;
}

async function ensureSessions(socket: WASocket, devices: Device[]): Promise<void> {
  const jids = devices.map(({ jid }) => jid);
  await askNetwork(() => socket.assertSessions(jids, false));
}
