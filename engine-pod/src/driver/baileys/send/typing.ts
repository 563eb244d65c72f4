import type { WASocket } from '@whiskeysockets/baileys';
import type { Cancel, Clock } from '@gwk/core/clock';
import type { Presence } from '@gwk/core/resources/live';

/** Apps stop to show a typing state that is not repeated by then. */
const TYPING_MS = 10_000;
const CHAT_STATES = {
  typing: 'composing',
  recording: 'recording',
  paused: 'paused',
} as const satisfies Record<Presence, string>;

type Socket = Pick<WASocket, 'authState' | 'sendNode' | 'sendPresenceUpdate'>;

/**
 * Typing states of one connection. The network shows them only while the device is available, and while it is, the
 * owner's phone shows no notifications. So the device is available exactly while it types in some chat.
 */
export class Typing {
  readonly #socket: Socket;
  readonly #clock: Clock;
  /** Chats with a typing state, by address. */
  readonly #chats = new Map<string, Cancel>();

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
  }

  get chats(): string[] {
    return [...this.#chats.keys()];
  }

  /** Nothing is awaited between the stanzas, so no other call can change the availability in between. */
  async show(chat: string, presence: Presence): Promise<void> {
    const started = presence !== 'paused' && this.#start(chat);
    const shown = this.#socket.sendPresenceUpdate(CHAT_STATES[presence], chat);
    if (presence === 'paused') this.end(chat);
    await Promise.all([started, shown]);
  }

  #start(chat: string): Promise<void> | undefined {
    const isFirst = this.#chats.size === 0;
    this.#chats.get(chat)?.();
    this.#chats.set(
      chat,
      this.#clock.after(TYPING_MS, () => this.end(chat)),
    );
    return isFirst ? this.#announce('available') : undefined;
  }

  end(chat: string): void {
    this.#chats.get(chat)?.();
    // If the stanza is not written, the connection has ended, and the network counts the device as unavailable.
    if (this.#chats.delete(chat) && this.#chats.size === 0)
      this.#announce('unavailable').catch(() => undefined);
  }

  /** Sends the new name of the owner to the network without changing the availability. */
  announceName(): void {
    this.#announce(this.#chats.size > 0 ? 'available' : 'unavailable').catch(() => undefined);
  }

  /** The connection has ended. */
  close(): void {
    for (const cancel of this.#chats.values()) cancel();
    this.#chats.clear();
  }

  async #announce(type: 'available' | 'unavailable'): Promise<void> {
    // Baileys sends none without a name, which a device may learn only from the first message of the owner.
    if (this.#socket.authState.creds.me?.name) await this.#socket.sendPresenceUpdate(type);
    else await this.#socket.sendNode({ tag: 'presence', attrs: { type } });
  }
}
