import { showPerson } from '../ui/person';
import type { Conversation } from './obstacles';

/** The name of the contact or group. */
export const showConversation = ({ contact, group }: Conversation): string =>
  contact ? showPerson(contact) : (group?.subject ?? group!.id);

/** The page of a conversation. A number narrows its list. */
export function conversationPath(conversation: string | null, number: string | null = null): string {
  const given = Object.entries({ number, conversation }).filter(([, value]) => value !== null);
  return `conversations?${new URLSearchParams(given as [string, string][]).toString()}`;
}
