import type { Vote } from './commands-chat.js';
import type { CallOptions } from '../calls/calls.js';
import type { MediaFields, MediaKind } from '../media/messages.js';
import type { Manners } from '../people/account.js';
import type { Rule } from '../faults/faults.js';
import type { LoginFilter, LoginLimit } from '../faults/logins.js';
import type { OldestVersionOptions } from './commands-faults.js';
import type { LineFaults } from '../transport/line.js';
import type { StanzaFilter } from '../record/record.js';
import type { WebClientAnswer } from '../web-client.js';
import type { ReceivedView } from './views.js';
import type { ReceiptFilter, ReceivedFilter, Waiting } from './commands-look.js';
import type { GroupChange } from '../groups/changes.js';
import type { GroupOptions } from './commands-groups.js';
import type { AssertionFaults } from '../people/authenticator.js';
import type { AccountOptions, AccountView, PasskeyRequest } from './commands-people.js';
import type { AnswerOf, ArgumentsOf, CommandName } from './commands.js';

/** Content of a message, as JSON of the network's own message type. */
export type Content = Record<string, unknown>;

export interface WritingTo {
  /** A phone number, or the JID of a group. */
  to?: string;
  options?: {
    id?: string;
    name?: string;
    attributes?: Record<string, string>;
    addressing?: 'lid' | 'pn';
    unavailable?: boolean | string;
    garbled?: number;
    hosted?: boolean;
  };
}

/** Drives a simulated network over its control API, in this process or another. */
export class NetworkClient {
  constructor(readonly controlUrl: string) {}

  async call<Name extends CommandName>(name: Name, args: ArgumentsOf<Name>): Promise<AnswerOf<Name>> {
    const response = await fetch(`${this.controlUrl}/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(args ?? {}),
    });
    const body = (await response.json()) as { error?: string; kind?: string };
    if (!response.ok) throw new NetworkError(name, body.error ?? `status ${response.status}`, body.kind);
    return body as AnswerOf<Name>;
  }

  /** Adds a phone number that a client can be linked with. */
  async phone(number: string, options: AccountOptions = {}): Promise<Person> {
    return new Person(this, await this.call('account', { number, ...options }));
  }

  /** Adds a person to write with. Same as `phone`: every phone number on the network has a phone. */
  async contact(number: string, options: AccountOptions = {}): Promise<Person> {
    return this.phone(number, options);
  }

  /** The first member creates the group. */
  async group(subject: string, members: Person[], options: GroupOptions = {}): Promise<string> {
    const numbers = members.map(({ number }) => number);
    const { jid } = await this.call('group', { subject, members: numbers, ...options });
    return jid;
  }

  changeGroup = (jid: string, change: GroupChange) => this.call('changeGroup', { jid, ...change });
  removeGroup = (jid: string) => this.call('removeGroup', { jid });
  /** Number of queries for the metadata of groups. */
  groupQueries = async (number: string): Promise<number> =>
    (await this.call('groupQueries', { number })).count;

  calls = () => this.call('calls', undefined);
  endCall = (id: string, reason?: string) =>
    this.call('endCall', { id, ...(reason !== undefined && { reason }) });

  status = () => this.call('status', undefined);
  received = (filter: ReceivedFilter = {}) => this.call('received', filter);
  waitReceived = (filter: ReceivedFilter & Waiting) => this.call('waitReceived', filter);
  receipts = (filter: ReceiptFilter = {}) => this.call('receipts', filter);
  confirmTogether = (numbers: string[], id: string, read = false) =>
    this.call('confirmTogether', { numbers, id, read });
  waitReceipt = (filter: ReceiptFilter & Waiting) => this.call('waitReceipt', filter);
  typings = () => this.call('typings', undefined);
  stanzas = (filter: StanzaFilter = {}) => this.call('stanzas', filter);
  waitStanza = (filter: StanzaFilter & Waiting) => this.call('waitStanza', filter);

  /** `{minutes}`: a temporary ban; without arguments: permanent; `{reason}`: any other refusal at login. */
  ban = (number: string, how: { minutes?: number; reason?: number; code?: number } = {}) =>
    this.call('ban', { number, ...how });
  /** Resets the counters of logins and bans phone numbers that exceed the limit. No limit by default. */
  limitLogins = (limit?: LoginLimit) => this.call('limitLogins', limit === undefined ? {} : { limit });
  /** Refuses older clients at linking, at login or both; without a version none. Open connections stay open. */
  oldestVersion = (options: OldestVersionOptions = {}) => this.call('oldestVersion', options);
  /** Sets the answer to requests for the web client's service worker script. */
  serveWebClient = (answer: WebClientAnswer) => this.call('serveWebClient', answer);
  webClientRequests = () => this.call('webClientRequests', undefined);
  logins = (filter: LoginFilter = {}) => this.call('logins', filter);
  waitLogin = (filter: LoginFilter & Waiting) => this.call('waitLogin', filter);
  lift = (number: string) => this.call('lift', { number });
  restrict = (number: string, how: { minutes: number }) => this.call('restrict', { number, ...how });
  line = (number: string, faults: Partial<LineFaults> = {}) => this.call('line', { number, ...faults });
  holdMail = (number: string) => this.call('mail', { number, held: true });
  releaseMail = (number: string) => this.call('mail', { number, held: false });
  rule = (rule: Rule) => this.call('rule', rule);
  clearRules = () => this.call('clearRules', undefined);
  /** Cuts the connections of a phone number, or of all ('*'). */
  cut = (number: string) => this.call('cut', { number });
  streamError = (number: string, code: number) => this.call('streamError', { number, code });
  outage = (on: boolean, how: { cut?: boolean } = {}) => this.call('outage', { on, ...how });
}

/** A simulated person with a phone number, a phone, and the messages written on it. */
export class Person {
  readonly number: string;
  readonly lid: string;
  readonly jid: string;
  readonly lidJid: string;

  constructor(
    private readonly network: NetworkClient,
    account: AccountView,
  ) {
    this.number = account.number;
    this.lid = account.lid;
    this.jid = account.jid;
    this.lidJid = account.lidJid;
  }

  // For the owner of a linked phone number.

  scans = (code: string) => this.network.call('scan', { number: this.number, code });
  scan = this.scans;
  types = (code: string) => this.network.call('typeCode', { number: this.number, code });
  /** The request and the code of a linking that needs the passkey. */
  passkey = () => this.network.call('passkeyView', { number: this.number });
  /** Answers a request with the passkey, as a browser on the network's page does. */
  asserts = (options: PasskeyRequest, faults: AssertionFaults = {}) =>
    this.network.call('assertPasskey', { number: this.number, options, faults });
  unlinks = (device?: number) =>
    this.network.call('unlink', { number: this.number, ...(device !== undefined && { device }) });

  /** Replaces the phone: new identity, no sessions. */
  reinstalls = () => this.network.call('reinstall', { number: this.number });

  /** Writes on the phone itself. Its linked devices receive a copy. */
  writesOnPhone = async (
    to: string,
    content: string | Content,
    options: WritingTo['options'] = {},
  ): Promise<string> => {
    const { id } = await this.network.call('writeFromPhone', {
      from: this.number,
      to,
      message: asMessage(content),
      options,
    });
    return id;
  };

  /** Writes to a broadcast list, by its JID and the phone numbers of its members. */
  writesToList = async (list: string, to: string[], content: string | Content): Promise<string> =>
    (await this.network.call('writeToList', { from: this.number, list, to, message: asMessage(content) })).id;

  isConnected = (waiting: Waiting = {}) =>
    this.network.call('waitActive', { number: this.number, ...waiting });
  hasTakenAll = (waiting: Waiting = {}) =>
    this.network.call('waitTaken', { number: this.number, ...waiting });

  // For the contacts of a linked phone number.

  /** @returns the id of the message */
  writes = async (content: string | Content, writing: WritingTo = {}): Promise<string> => {
    const { id } = await this.network.call('write', {
      from: this.number,
      message: asMessage(content),
      ...writing,
    });
    return id;
  };

  /** @returns the id of the call */
  callsNumber = async (to: string, options: CallOptions = {}): Promise<string> =>
    (await this.network.call('offerCall', { from: this.number, to, ...options })).id;

  /** Taps an option of a received menu, selected by its id or its label. */
  taps = async (menu: Pick<ReceivedView, 'id'>, option: string): Promise<string> =>
    (await this.network.call('tap', { number: this.number, id: menu.id, option })).id;

  votes = async (
    poll: Pick<ReceivedView, 'id'>,
    options: string[],
    more: Omit<Vote, 'options'> = {},
  ): Promise<string> =>
    (await this.network.call('vote', { number: this.number, id: poll.id, options, ...more })).id;

  replies = async (quoted: Pick<ReceivedView, 'id'>, text: string): Promise<string> =>
    (await this.network.call('reply', { number: this.number, id: quoted.id, text })).id;

  edits = async (id: string, text: string, writing: WritingTo = {}): Promise<string> =>
    (await this.network.call('edit', { from: this.number, id, text, ...writing })).id;

  /** Edits a message with a secret (`messageContextInfo.messageSecret`), as apps do: encrypted with that secret. */
  editsSealed = async (id: string, text: string, writing: WritingTo = {}): Promise<string> =>
    (await this.network.call('sealedEdit', { from: this.number, id, text, ...writing })).id;

  revokes = async (id: string, writing: WritingTo = {}): Promise<string> =>
    (await this.network.call('revoke', { from: this.number, id, ...writing })).id;

  reacts = async (id: string, emoji: string, writing: WritingTo = {}): Promise<string> =>
    (await this.network.call('react', { from: this.number, id, emoji, ...writing })).id;

  /** Sends a file: encrypts it, uploads it, and sends a message that refers to it. */
  writesFile = async (
    kind: MediaKind,
    bytes: Buffer,
    how: WritingTo & { fields?: MediaFields; expired?: boolean } = {},
  ): Promise<string> => {
    const { id } = await this.network.call('writeFile', {
      from: this.number,
      kind,
      base64: bytes.toString('base64'),
      ...how,
    });
    return id;
  };

  /** Sends a picture or film in its standard version, then in HD. */
  writesPair = (kind: 'image' | 'video', standard: Buffer, hd: Buffer, writing: WritingTo = {}) =>
    this.network.call('writePair', {
      from: this.number,
      kind,
      standard: standard.toString('base64'),
      hd: hd.toString('base64'),
      ...writing,
    });

  /** Downloads and decrypts the file of a received message. */
  opens = async (message: Pick<ReceivedView, 'id'>): Promise<Buffer> => {
    const { base64 } = await this.network.call('openFile', { number: this.number, id: message.id });
    return Buffer.from(base64, 'base64');
  };

  /** One receipt confirms all of them. */
  reads = ({ id }: Pick<ReceivedView, 'id'>, ...others: string[]) =>
    this.network.call('read', { number: this.number, id, others });
  plays = (message: Pick<ReceivedView, 'id'>) =>
    this.network.call('read', { number: this.number, id: message.id, played: true });
  confirms = (message: Pick<ReceivedView, 'id'>) =>
    this.network.call('confirm', { number: this.number, id: message.id });

  /** @returns the number of the new simulated device */
  linksDevice = async (by: 'lid' | 'pn' = 'pn'): Promise<number> =>
    (await this.network.call('linkDevice', { number: this.number, by })).device;

  /** Takes another username, or none. */
  renames = (username: string | null) => this.network.call('rename', { number: this.number, username });
  /** Shows the phone number to clients from now on, or hides it. */
  showsPhone = (shown = true) => this.network.call('account', { number: this.number, phoneHidden: !shown });

  shows = (state: 'composing' | 'recording' | 'paused', to: string) =>
    this.network.call('state', { from: this.number, to, state });

  behaves = (manners: Partial<Manners>) => this.network.call('manners', { number: this.number, ...manners });

  /** Messages that this person has seen, each once. */
  inbox = (filter: ReceivedFilter = {}) =>
    this.network.received({ to: this.number, device: 0, fate: 'shown', ...filter });

  /** Waits for the first message that matches. */
  receives = (filter: (ReceivedFilter & Waiting) | string = {}) =>
    this.network.waitReceived({
      to: this.number,
      device: 0,
      fate: 'shown',
      ...(typeof filter === 'string' ? { text: filter } : filter),
    });
}

export class NetworkError extends Error {
  override readonly name = 'NetworkError';

  constructor(
    readonly command: string,
    message: string,
    readonly kind?: string,
  ) {
    super(`${command}: ${message}`);
  }
}

const asMessage = (content: string | Content): Content =>
  typeof content === 'string' ? { conversation: content } : content;
