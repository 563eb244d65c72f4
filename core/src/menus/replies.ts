import { foldText } from '../text-folding.js';
import type { InteractiveMode } from '../states.js';

/**
 * Recognises typed replies to the menus of one conversation. Pure. Clicks name their menu and option, and do not need
 * recognition.
 */
export interface MenuOption {
  id: string;
  label: string;
  /** Null for options without a number: url, call and copy buttons, and poll options. */
  number: number | null;
}

export interface OpenMenu {
  messageId: string;
  waMessageId: string;
  kind: 'interactive' | 'poll';
  mode: InteractiveMode;
  options: MenuOption[];
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
