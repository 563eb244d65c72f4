import type { Person } from '@gwk/network/control/client';
import { pacer } from '../gateway/traffic.js';
import type { InstanceStage } from './stage.js';

/** Where the number and others write to each other: a chat with a contact, or a group. */
export interface Chat {
  /** As consumers name it in `to`: a phone, or the id of a group. */
  to: string;
  /** Whoever reads what the number writes there. */
  readers: Person[];
  group?: string;
}

export function listChats({ contacts, groups }: InstanceStage): Chat[] {
  return [
    ...contacts.map((contact) => ({ to: contact.number, readers: [contact] })),
    ...groups.map(({ jid, members }) => ({ to: jid, readers: members, group: jid })),
  ];
}

/** What somebody has written to the number. */
export interface WrittenText {
  id: string;
  text: string;
}

export interface WritingPlan {
  name: string;
  perChat: number;
  /** Over all chats; as fast as it goes where not given. */
  perSecond?: number;
  /** Of the messages' stamps; now where not given. `count`: how many have been written before. */
  stampedAt?: (count: number) => Date;
}

/** People write to the number, in every room one message after the other; in groups the members take turns. */
export async function writeAsPeople(
  stage: InstanceStage,
  talk: WritingPlan,
): Promise<Map<string, WrittenText[]>> {
  const turn = pacer(talk.perSecond);
  const written = new Map<string, WrittenText[]>();
  let count = 0;
  const inRoom = async (room: Chat, index: number): Promise<void> => {
    const here: WrittenText[] = [];
    written.set(room.to, here);
    for (let number = 0; number < talk.perChat; number++) {
      await turn();
      const writer = room.readers[number % room.readers.length]!;
      const text = `${talk.name} in ${index}/${number}`;
      const at = talk.stampedAt?.(count++);
      const options = at && { attributes: { t: String(Math.floor(at.getTime() / 1000)) } };
      const to = room.group ?? stage.phone.number;
      here.push({ id: await writer.writes(text, { to, ...(options && { options }) }), text });
    }
  };
  await Promise.all(listChats(stage).map(inRoom));
  return written;
}
