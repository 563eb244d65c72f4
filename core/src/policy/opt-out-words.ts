import { foldText, foldWord } from '../text-folding.js';
import type { Policy } from './policy.js';

/**
 * What a typed message asks for (spec: OptOutPolicy). Only a message that consists of one word of the list counts;
 * where a word stands in both lists, the opt-out wins.
 */
export function recogniseOptOut(text: string, policy: Policy['opt_out']): 'opt_out' | 'opt_in' | null {
  if (!policy.enabled) return null;
  const word = compared(text);
  if (word === '') return null;
  if (policy.keywords.some((keyword) => compared(keyword) === word)) return 'opt_out';
  return policy.resume_keywords.some((keyword) => compared(keyword) === word) ? 'opt_in' : null;
}

/** A word of signs alone (an emoji) is compared as it is. */
function compared(text: string): string {
  return foldWord(text) || foldText(text);
}
