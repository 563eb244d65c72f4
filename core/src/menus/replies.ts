import { foldText } from '../text-folding.js';
import type { MenuOption, SentMenu } from '../protocol/engine.js';

export interface OpenMenu extends Pick<SentMenu, 'kind' | 'mode' | 'options'> {
  messageId: string;
  waMessageId: string;
  sentAt: Date;
  answeredAt: Date | null;
}

const HOUR = 3_600_000;
/** Tolerance between the network's clock, which has whole seconds, and ours. Text typed before that is not a reply. */
const CLOCK_TOLERANCE_MS = 5_000;

interface TypedReply {
  text: string;
  quotedWaMessageId: string | null;
  at: Date;
}

/**
 * Recognises a typed reply to one of the menus of a conversation. Clicks name their menu and option, and need no
 * recognition.
 *
 * @param menus the menus of the conversation, newest first
 * @returns null for an ordinary message
 */
export function recogniseReply(
  reply: TypedReply,
  menus: readonly OpenMenu[],
  ttlHours: number,
): { menu: OpenMenu; option: MenuOption } | null {
  const quoted = menus.find((menu) => menu.waMessageId === reply.quotedWaMessageId);
  const menu = quoted ?? menus[0];
  if (!menu || menu.answeredAt !== null) return null;
  const age = reply.at.getTime() - menu.sentAt.getTime();
  if (age > ttlHours * HOUR || age < -CLOCK_TOLERANCE_MS) return null;
  const option = findByNumber(reply.text, menu) ?? findByLabel(reply.text, menu);
  return option ? { menu, option } : null;
}

function findByLabel(text: string, menu: OpenMenu): MenuOption | undefined {
  const typed = foldText(text);
  return typed === '' ? undefined : menu.options.find((option) => foldText(option.label) === typed);
}

const TYPED_NUMBER = /^(?:(?:option|opcao) )?([0-9]{1,3})\.?$/;

function findByNumber(text: string, menu: OpenMenu): MenuOption | undefined {
  if (menu.kind === 'poll' || menu.mode === 'native') return undefined;
  const typed = TYPED_NUMBER.exec(foldText(text));
  return typed ? menu.options.find((option) => option.number === Number(typed[1])) : undefined;
}
