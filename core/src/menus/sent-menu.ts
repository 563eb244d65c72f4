import type { InteractiveMode } from '../states.js';
import type { MenuOption } from './replies.js';

/** A menu as it really left: what answers to it are recognised by. */
export interface SentMenu {
  kind: 'interactive' | 'poll';
  /** Of an interactive message; polls are always drawn by the network, as `native`. */
  mode: InteractiveMode;
  options: MenuOption[];
  /** How many options of a poll may be marked; null for an interactive message. */
  selectable: number | null;
}

/** What of it is content, and so kept sealed. */
export type MenuContent = Pick<SentMenu, 'options' | 'selectable'>;
