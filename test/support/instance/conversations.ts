import type { Person } from '@gwk/network/control/client';
import { pacer } from '../gateway/traffic.js';
import type { InstanceStage } from './stage.js';

/** A chat of the instance: with a contact, or a group. */
export interface Chat {
  /** Recipient in the form of `to`: a phone number or a group id. */
  to: string;
  /** People who read the instance's messages there. */
  readers: Person[];
  group?: string;
}

export function listChats({ contacts, groups }: InstanceStage): Chat[] {
  return [
    ...contacts.map((contact) => ({ to: contact.number, readers: [contact] })),
    ...groups.map(({ jid, members }) => ({ to: jid, readers: members, group: jid })),
  ];
}

/** A message that a person wrote to the instance. */
export interface WrittenText {
  id: string;
  text: string;
}

export interface WritingPlan {
  name: string;
  perChat: number;
  /** Rate over all chats. Unlimited by default. */
  perSecond?: number;
  /** Timestamp of a message. Defaults to now. `count`: number of messages written so far. */
  stampedAt?: (count: number) => Date;
}

/** People write to the instance. Each chat sends one message after the other; group members take turns. */
export async function writeAsPeople(
  stage: InstanceStage,
  talk: WritingPlan,
): Promise<Map<string, WrittenText[]>> {
  const turn = pacer(talk.perSecond);
  const written = new Map<string, WrittenText[]>();
  let count = 0;
  const inChat = async (chat: Chat, index: number): Promise<void> => {
    const here: WrittenText[] = [];
    written.set(chat.to, here);
    for (let number = 0; number < talk.perChat; number++) {
      await turn();
      const writer = chat.readers[number % chat.readers.length]!;
      const text = `${talk.name} in ${index}/${number}`;
      const at = talk.stampedAt?.(count++);
      const options = at && { attributes: { t: String(Math.floor(at.getTime() / 1000)) } };
      const to = chat.group ?? stage.phone.number;
      here.push({ id: await writer.writes(text, { to, ...(options && { options }) }), text });
    }
  };
  await Promise.all(listChats(stage).map(inChat));
  return written;
}
