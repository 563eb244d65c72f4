import { foldText, foldWord, removeFormat } from '@gwk/core/text/text-folding';
import type { MenuOption, SentMenu } from '@gwk/core/protocol/engine';

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
  const options = new Set([...findByNumber(reply.text, menu), ...findByLabel(reply.text, menu)]);
  const [option] = options;
  return option && options.size === 1 ? { menu, option } : null;
}

/** Returns the options with the typed label. Emoji and outer punctuation count only if two options differ by nothing else. */
function findByLabel(text: string, menu: OpenMenu): MenuOption[] {
  for (const fold of [foldText, foldLabel]) {
    const typed = fold(text);
    const options = menu.options.filter((option) => typed !== '' && fold(option.label) === typed);
    if (options.length > 0) return options;
  }
  return [];
}

const EMOJI = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\p{Cf}]/gu;

const removeEmoji = (text: string): string => removeFormat(text).replaceAll(EMOJI, ' ');

const foldLabel = (text: string): string => foldWord(removeEmoji(text));

/** Punctuation around a number that keeps its meaning, as in `(1)`, `#1`, `1-`. Not so: +1, -1, 2%, 2?, $2. */
const DECORATION = /(?!^[-–—])[\s()[\]{}#*_~"'“”‘’«».:;!–—-]+/gu;
/** NFKD turns the ordinals º and ª into o and a. */
const TYPED_NUMBER = /^(?:option|opcao|numero)? ?(?:no? ?)?([0-9]{1,3}) ?[oa]?$/;

function findByNumber(text: string, menu: OpenMenu): MenuOption[] {
  if (menu.kind === 'poll' || menu.mode === 'native') return [];
  const typed = TYPED_NUMBER.exec(foldText(removeEmoji(text)).replaceAll(DECORATION, ' ').trim());
  return typed ? menu.options.filter((option) => option.number === Number(typed[1])) : [];
}
