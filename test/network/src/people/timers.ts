import { proto } from '@whiskeysockets/baileys';
import { parseJid } from '../wire/jids.js';
import type { World } from '../world.js';
import type { Account } from './account.js';
import { unwrap } from './contents.js';
import type { Received } from './inbox.js';

const SETTING = proto.Message.ProtocolMessage.Type.EPHEMERAL_SETTING;
/** Messages that change another one, or that no person sees. Apps state no timer in them. */
const WITHOUT_TIMER = ['protocolMessage', 'reactionMessage', 'senderKeyDistributionMessage'] as const;

/** Timers of disappearing messages by chat. */
export class Timers {
  readonly #seconds = new Map<string, number>();

  get(one: string, other: string): number {
    return this.#seconds.get(nameChat(one, other)) ?? 0;
  }

  /** A notice sets the timer for both sides. */
  take({ protocolMessage }: proto.IMessage, one: Account, other: Account): void {
    if (protocolMessage?.type !== SETTING) return;
    this.#seconds.set(nameChat(one.number, other.number), protocolMessage.ephemeralExpiration ?? 0);
  }
}

const nameChat = (one: string, other: string): string => [one, other].sort().join(' ');

const groupTimer = ({ groups }: World, jid: string): number =>
  groups.get(parseJid(jid)?.user ?? '')?.expiration ?? 0;

/** Apps warn about a message that does not disappear with its chat. */
export function checkTimer(world: World, { id, from, to, group, message }: Received): void {
  const content = unwrap(message);
  if (!content || WITHOUT_TIMER.some((field) => content[field])) return;
  const seconds = group === undefined ? world.timers.get(from, to) : groupTimer(world, group);
  const holders = Object.values(content) as ({ contextInfo?: proto.IContextInfo | null } | null)[];
  const stated = holders.find((one) => one?.contextInfo)?.contextInfo?.expiration ?? 0;
  if (stated !== seconds)
    world.violated(`message ${id} has a timer of ${stated} s in a chat with ${seconds} s`);
}
