import { limitMarks, removeFormat } from '@gwk/core/text/text-folding';

interface MassSendInput {
  limit: number;
  /** Contacts who received this text within the window. */
  count: number;
  /** Whether this contact is one of them. */
  alreadyCounted: boolean;
}

/**
 * Limits how many contacts who never wrote may receive the same text in a time window. `max_contacts` contacts may, the
 * next is refused. A contact counts once.
 */
export function decideMassSend({ limit, count, alreadyCounted }: MassSendInput): 'accept' | 'refuse' {
  return alreadyCounted || count < limit ? 'accept' : 'refuse';
}

/** Code units that are normalised. Normalisation turns one character into up to 18. */
const NORMALISED_LENGTH = 8_192;

/**
 * Texts that differ only in case, spaces or numbers are the same text: "Pedido 123" and "pedido  7". After 8,192 code units
 * only equal texts are the same.
 */
export function normaliseText(text: string): string {
  const start = removeFormat(limitMarks(text.slice(0, NORMALISED_LENGTH)).normalize('NFKC'))
    .toLowerCase()
    .replaceAll(/\p{Nd}+/gu, '0')
    .replaceAll(/\s+/gu, ' ')
    .trim();
  return start + text.slice(NORMALISED_LENGTH);
}
