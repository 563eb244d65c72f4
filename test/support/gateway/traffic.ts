import { canonicalPhone, toNetworkId } from '@gwk/core/recipients';
import type { MessageOut } from '@gwk/core/resources/message';
import { UnexpectedAnswer, type Answer, type GatewayClient } from './client.js';
import { pause } from '../wait.js';

/** One message that a consumer was told `202` about. */
export interface Accepted {
  id: string;
  chat: string;
  text: string;
}

export interface TrafficPlan {
  clients: GatewayClient[];
  instanceId: string;
  /** Begins every text, and tells the traffic of one test from that of another. */
  name: string;
  conversations: number;
  /** Whom each conversation is with, as `to` says it; numbers of the sandbox's network where not given. */
  recipients?: string[];
  perConversation: number;
  /** Posts a second over all conversations; as fast as answers come where not given. */
  perSecond?: number;
  /** Told after each acceptance. */
  onAccepted?: (count: number) => void;
}

export interface Traffic {
  startedAt: Date;
  /** In each conversation the order of acceptance. */
  byChat: Map<string, Accepted[]>;
  count: number;
  /** Posts that were repeated with their key because no good answer came. */
  repeatedPosts: number;
  /** Posts whose 202 came from the record of an earlier one. */
  replays: number;
}

const GIVE_UP_MS = 120_000;
const RETRY_MS = 100;

/** A number on the sandbox's network that is neither absent nor failing (see design: sandbox). */
export function testPhone(conversation: number): string {
  return `4477009${String(11_000 + conversation)}`;
}

export const toChatId = (to: string): string => toNetworkId(canonicalPhone(to));

/**
 * Each conversation posts its messages one after the other, and repeats a post with its Idempotency-Key until it
 * is accepted: so the order of acceptance inside a conversation is known without asking the gateway.
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
      throw new Error(`"${text}" was not accepted within ${GIVE_UP_MS / 1000} s, at last: ${last}`);
    }
    traffic.repeatedPosts += 1;
    await pause(RETRY_MS);
  }
}

/** As consumers are told to: what did not succeed for a reason that passes. */
const isWorthRepeating = ({ status }: Answer): boolean => status >= 500 || status === 409;

/** Gives turns at an even rate. */
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
