import type { conversations } from './en/conversations';
import type en from './en/index';

type Same<T> = { [K in keyof T]: T[K] extends string ? string : Same<T[K]> };

/** The texts of a language: each has the same keys. */
export type Texts = Same<typeof en>;

/** Texts of the pages that show conversations, which load them. */
export type ConversationTexts = { conversations: Same<typeof conversations> };
