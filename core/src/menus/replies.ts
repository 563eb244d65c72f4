import { foldText } from '../text-folding.js';
import type { InteractiveMode } from '../states.js';

/**
 * Typed answers to menus (spec: Interactive reply recognition rules). A pure decision over the menus of one
 * conversation; clicks name their menu and option and need no recognition.
 */
export interface MenuOption {
  id: string;
  label: string;
  /** Null for options that are not numbered: url, call and copy buttons, poll options. */
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
/** Of the network, which tells whole seconds, and ours. What was typed longer before a menu left is no answer to it. */
const CLOCKS_DIFFER = 5_000;

interface TypedReply {
  text: string;
  quotedWaMessageId: string | null;
  at: Date;
}

interface RecognisedReply {
  menu: OpenMenu;
  option: MenuOption;
}

/**
 * @param menus those of the conversation, newest first
 * @returns null where the message is an ordinary one
 */
export function recogniseReply(
  reply: TypedReply,
  menus: readonly OpenMenu[],
  ttlHours: number,
): RecognisedReply | null {
  const quoted = menus.find((menu) => menu.waMessageId === reply.quotedWaMessageId);
  const menu = quoted ?? menus[0];
  if (!menu || menu.answeredAt !== null) return null;
  const age = reply.at.getTime() - menu.sentAt.getTime();
  if (age > ttlHours * HOUR || age < -CLOCKS_DIFFER) return null;
  const option = optionByNumber(reply.text, menu) ?? optionByName(reply.text, menu);
  return option ? { menu, option } : null;
}

function optionByName(text: string, menu: OpenMenu): MenuOption | undefined {
  const typed = foldText(text);
  return typed === '' ? undefined : menu.options.find((option) => foldText(option.label) === typed);
}

const TYPED_NUMBER = /^(?:(?:option|opcao) )?([0-9]{1,3})\.?$/;

function optionByNumber(text: string, menu: OpenMenu): MenuOption | undefined {
  if (menu.kind === 'poll' || menu.mode === 'native') return undefined;
  const typed = TYPED_NUMBER.exec(foldText(text));
  return typed ? menu.options.find((option) => option.number === Number(typed[1])) : undefined;
}
