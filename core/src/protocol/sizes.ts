// Without zod, because the engine's image does not contain it.

/** Maximum size of the card of a message (QuotedMessage in engine.ts). */
export const MAX_CARD_BYTES = 32_768;

/** Maximum number of people in one list of a group's change (GroupNotice in notices.ts). */
export const MAX_NOTICE_MEMBERS = 100;
