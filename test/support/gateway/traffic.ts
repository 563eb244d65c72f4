import { canonicalPhone, toNetworkId } from '@gwk/core/ids/recipients';
import type { MessageOut } from '@gwk/core/resources/message';
import { UnexpectedAnswer, type Answer, type GatewayClient } from './client.js';
import { pause } from '../wait.js';

/** A message that the gateway accepted with a 202. */
export interface Accepted {
  id: string;
  chat: string;
  text: string;
}

export interface TrafficPlan {
  clients: GatewayClient[];
  instanceId: string;
  /** Prefix of every text. It separates the traffic of different tests. */
  name: string;
  conversations: number;
  /** Recipient of each conversation, in the form of `to`. Defaults to phone numbers of the sandbox network. */
  recipients?: string[];
  perConversation: number;
  /** Posts per second over all conversations. Unlimited by default. */
  perSecond?: number;
  /** Called after each acceptance. */
  onAccepted?: (count: number) => void;
}

export interface Traffic {
  startedAt: Date;
  /** Accepted messages by chat, in order of acceptance. */
  byChat: Map<string, Accepted[]>;
  count: number;
  /** Posts repeated with their key, because the first response failed. */
  repeatedPosts: number;
  /** Posts whose 202 was replayed from an idempotency record. */
  replays: number;
}

const GIVE_UP_MS = 120_000;
const RETRY_MS = 100;

/** A phone number of the sandbox network that exists and accepts messages. */
export function testPhone(conversation: number): string {
  return `4477009${String(11_000 + conversation)}`;
}

export const toChatId = (to: string): string => toNetworkId(canonicalPhone(to));

/**
 * Each conversation posts its messages one after the other and repeats a post with its Idempotency-Key until it is
 * accepted. So the test knows the order of acceptance in each conversation without asking the gateway.
 */
export async function sendTraffic(plan: TrafficPlan): Promise<Traffic> {
  const traffic: Traffic = {
    startedAt: new Date(),
    byChat: new Map(),
    count: 0,
    repeatedPosts: 0,
    replays: 0,
  };
  const turn = pacer(plan.perSecond);
  const conversation = async (index: number): Promise<void> => {
    const phone = plan.recipients?.[index] ?? testPhone(index);
    const accepted: Accepted[] = [];
    traffic.byChat.set(toChatId(phone), accepted);
    for (let number = 0; number < plan.perConversation; number++) {
      await turn();
      const text = `${plan.name} ${index}/${number}`;
      const message = await postUntilAccepted(plan, traffic, { phone, text });
      accepted.push({ id: message.id, chat: toChatId(phone), text });
      traffic.count += 1;
      plan.onAccepted?.(traffic.count);
    }
  };
  await Promise.all(Array.from({ length: plan.conversations }, (_, index) => conversation(index)));
  return traffic;
}

async function postUntilAccepted(
  plan: TrafficPlan,
  traffic: Traffic,
  { phone, text }: { phone: string; text: string },
): Promise<MessageOut> {
  const end = Date.now() + GIVE_UP_MS;
  for (let attempt = 0; ; attempt++) {
    const client = plan.clients[attempt % plan.clients.length]!;
    const answer = await client.sendText(plan.instanceId, phone, text, text).catch(() => null);
    if (answer?.status === 202) {
      if (answer.headers['idempotent-replayed'] === 'true') traffic.replays += 1;
      return answer.body;
    }
    if (answer && !isWorthRepeating(answer)) throw new UnexpectedAnswer('POST /v1/messages', answer);
    if (Date.now() > end) {
      const last = answer ? `${answer.status} ${answer.text}` : 'no answer';
      throw new Error(`"${text}" was not accepted within ${GIVE_UP_MS / 1000} s; last response: ${last}`);
    }
    traffic.repeatedPosts += 1;
    await pause(RETRY_MS);
  }
}

/** Whether a consumer should repeat the request, as the docs say. */
const isWorthRepeating = ({ status }: Answer): boolean => status >= 500 || status === 409;

/** Returns a function that resolves at an even rate. */
export function pacer(perSecond: number | undefined): () => Promise<void> {
  if (perSecond === undefined) return () => Promise.resolve();
  const interval = 1000 / perSecond;
  let next = Date.now();
  return async () => {
    const mine = Math.max(next, Date.now());
    next = mine + interval;
    await pause(Math.max(0, mine - Date.now()));
  };
}
