/**
 * The same text to many people who never wrote, in a short time. `max_contacts` pass, the next is refused; one
 * contact counts once.
 */
interface MassSendInput {
  limit: number;
  /** Contacts who were sent this text within the window. */
  count: number;
  /** This contact is one of them. */
  alreadyCounted: boolean;
}

export function decideMassSend({ limit, count, alreadyCounted }: MassSendInput): 'accept' | 'refuse' {
  return alreadyCounted || count < limit ? 'accept' : 'refuse';
}

/** Spaces that nobody sees. */
const UNSEEN = /[\u00ad\u200b-\u200d\u2060\ufeff]/gu;

/** Texts that differ in case, spaces or numbers only are the same text: "Pedido 123" and "pedido  7". */
export function normaliseText(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/\p{Nd}+/gu, '0')
    .replaceAll(UNSEEN, '')
    .replaceAll(/\s+/gu, ' ')
    .trim();
}
