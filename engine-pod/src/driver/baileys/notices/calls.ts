import {
  areJidsSameUser,
  getBinaryNodeChild,
  jidNormalizedUser,
  type BinaryNode,
  type WASocket,
} from '@whiskeysockets/baileys';
import type { CallNotice, NoticePerson } from '@gwk/core/protocol/notices';
import { parseRecipient } from '@gwk/core/ids/recipients';
import { interceptEvent } from '../patches/socket-internals.js';
import { RateLimiter } from '../rate-limiter.js';
import { namePerson, type NoticeReporter, type NoticeServices } from './reporter.js';
import { readTime } from '../stanza-attrs.js';

type CallSocket = Pick<WASocket, 'ws' | 'sendMessageAck' | 'sendNode' | 'generateMessageTag' | 'user'>;

const WINDOW_MS = 60_000;
const ONLINE = { perKey: 20, total: 200, windowMs: WINDOW_MS };
/** The network hands over all calls of the time offline at once. */
const MISSED = { perKey: 20, total: 1_000, windowMs: WINDOW_MS };
const MAX_ID = 200;
const RINGING = 'offer';
const OFFERS = [RINGING, 'offer_notice'];

/** A call as its stanza states it. */
export interface ReceivedCall {
  notice: Omit<CallNotice, 'rejected'>;
  /** Whether it rings on this device now. */
  rings: boolean;
  /** Address of the caller's device, as the network named it. */
  creator: string;
}

/** Null for all other stanzas about calls, and for calls of the own account. */
export function parseCall(
  { attrs, content }: BinaryNode,
  isOwn: (jid: string) => boolean,
): ReceivedCall | null {
  const [offer] = Array.isArray(content) ? content : [];
  if (!offer || !OFFERS.includes(offer.tag)) return null;
  const { 'call-id': id, 'call-creator': creator = attrs['from'] } = offer.attrs;
  const from = nameCaller(attrs, creator, offer.attrs['caller_pn'] ?? offer.attrs['caller_lid']);
  if (!from || isOwn(from.id) || !id || id.length > MAX_ID) return null;
  const missed = 'offline' in attrs;
  const notice = { kind: 'call' as const, id, at: readTime(attrs['t']), from, ...readKind(offer), missed };
  return { notice, rings: offer.tag === RINGING && !missed, creator: creator! };
}

/**
 * The network states who calls. The client of the caller writes the offer, which names the creator, and so it counts only
 * for calls that come from no person: those of groups.
 */
function nameCaller(
  { from, notify: name, username }: BinaryNode['attrs'],
  creator?: string,
  alt?: string,
): NoticePerson | null {
  const stated = namePerson(from, areJidsSameUser(from, creator) ? alt : undefined, { name, username });
  return stated ?? namePerson(creator, alt, { name });
}

function readKind(offer: BinaryNode): Pick<CallNotice, 'video' | 'group' | 'chat'> {
  const { media, type, 'group-jid': chat } = offer.attrs;
  return {
    video: media === 'video' || getBinaryNodeChild(offer, 'video') !== undefined,
    group: type === 'group' || chat !== undefined,
    chat: chat !== undefined && parseRecipient(chat)?.kind === 'group' ? chat : null,
  };
}

/**
 * Reports calls, and rejects those that ring if the policy says so. In stock Baileys each call is kept for five minutes
 * and becomes a message.
 *
 * An engine that ends between the rejection and the report leaves the call to the next one, which reports it as missed.
 */
export function handleCalls(socket: CallSocket, reporter: NoticeReporter, services: NoticeServices): void {
  const [online, missed] = [new RateLimiter(ONLINE), new RateLimiter(MISSED)];
  const lines = new RateLimiter({ perKey: 1, windowMs: WINDOW_MS });
  const { isOwn, rejectsCalls, findOtherId, countIgnored, log } = services;
  const handle = async (stanza: BinaryNode): Promise<void> => {
    const rejects = rejectsCalls();
    const call = rejects === undefined ? null : parseCall(stanza, isOwn);
    if (!call) return;
    const rejected = rejects === true && call.rings && (await reject(socket, call));
    const { notice } = call;
    if (!(notice.missed ? missed : online).take(notice.from.id)) {
      countIgnored('too_many_calls');
      if (lines.take('')) log.warn('too many calls; the others of this minute are counted, not reported');
      return;
    }
    const alt = notice.from.alt ?? (await findOtherId(notice.from.id).catch(() => null));
    await reporter.store({ ...notice, from: { ...notice.from, alt }, rejected });
  };
  interceptEvent(socket, 'CB:call', (stanza: BinaryNode) => {
    handle(stanza)
      .then(() => socket.sendMessageAck(stanza))
      // The call comes again with a new connection.
      .catch(() => undefined);
  });
}

/** Resolves to whether it was written. The network's answer says nothing more. */
function reject(socket: CallSocket, { notice, creator }: ReceivedCall): Promise<boolean> {
  const attrs = { 'call-id': notice.id, 'call-creator': creator, count: '0' };
  return socket
    .sendNode({
      tag: 'call',
      attrs: { id: socket.generateMessageTag(), from: socket.user!.id, to: jidNormalizedUser(creator) },
      content: [{ tag: 'reject', attrs }],
    })
    .then(
      () => true,
      () => false,
    );
}
