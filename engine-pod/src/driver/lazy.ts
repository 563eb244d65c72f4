import type { OutboundEdit } from '@gwk/core/protocol/edits';
import type { ClaimedMessage, OpenPairing } from '@gwk/core/protocol/engine';
import type { Presence } from '@gwk/core/resources/live';
import type { Logger } from '@gwk/core/log';
import type { EncodedMessage, ConnectionEvent, Driver, ReadMessage, Stanza } from './driver.js';

/** Loads the driver on first use. Calls reach it in order. */
export class LazyDriver implements Driver {
  readonly #log: Logger;
  readonly #load: () => Promise<Driver>;
  #driver: Promise<Driver> | undefined;
  #connection = 0;

  constructor(log: Logger, load: () => Promise<Driver>) {
    this.#log = log;
    this.#load = load;
  }

  connect(listen: (event: ConnectionEvent) => void, pairing: OpenPairing | null): void {
    const connection = ++this.#connection;
    this.#loadOnce().then(
      (driver) => {
        if (connection === this.#connection) driver.connect(listen, pairing);
      },
      (error: unknown) => {
        this.#log.error({ err: error }, 'driver could not be loaded');
        const disconnect = { kind: 'dropped', reason: 'no_driver', reconnect: 'slowly' } as const;
        if (connection === this.#connection) listen({ kind: 'closed', disconnect });
      },
    );
  }

  async close(): Promise<void> {
    this.#connection += 1;
    if (this.#driver) await (await this.#driver).close();
  }

  async logout(): Promise<boolean> {
    return (await this.#loadOnce()).logout();
  }

  async checkContact(phone: string): Promise<string | null> {
    return (await this.#loadOnce()).checkContact(phone);
  }

  async markRead(chat: string, messages: readonly ReadMessage[]): Promise<void> {
    return (await this.#loadOnce()).markRead(chat, messages);
  }

  async sendPresence(chat: string, presence: Presence): Promise<void> {
    return (await this.#loadOnce()).sendPresence(chat, presence);
  }

  async build(message: ClaimedMessage): Promise<EncodedMessage> {
    return (await this.#loadOnce()).build(message);
  }

  async send(stanza: Stanza): Promise<void> {
    return (await this.#loadOnce()).send(stanza);
  }

  async edit(edit: OutboundEdit, options: Pick<Stanza, 'mayWrite' | 'signal'>): Promise<void> {
    return (await this.#loadOnce()).edit(edit, options);
  }

  #loadOnce(): Promise<Driver> {
    return (this.#driver ??= this.#load());
  }
}
