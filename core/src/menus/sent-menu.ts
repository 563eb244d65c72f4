import type { InteractiveMode } from '../states.js';
import type { MenuOption } from './replies.js';

/** A menu as it was sent, to recognise the replies to it. */
export interface SentMenu {
  kind: 'interactive' | 'poll';
  /** Mode of an interactive message. Polls are always `native`. */
  mode: InteractiveMode;
  options: MenuOption[];
  /** How many options of a poll a voter may select; null for an interactive message. */
  selectable: number | null;
}

/** The confidential part, which is stored encrypted. */
export type MenuContent = Pick<SentMenu, 'options' | 'selectable'>;
