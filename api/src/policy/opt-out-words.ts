import { foldText, foldWord } from '@gwk/core/text/text-folding';
import type { Policy } from './policy.js';

/**
 * Recognises opt-out and resume words. The message must consist of one word of a list. A word in both lists is an
 * opt-out.
 */
export function recogniseOptOut(text: string, policy: Policy['opt_out']): 'opt_out' | 'opt_in' | null {
  if (!policy.enabled) return null;
  const word = normaliseWord(text);
  if (word === '') return null;
  if (policy.keywords.some((keyword) => normaliseWord(keyword) === word)) return 'opt_out';
  return policy.resume_keywords.some((keyword) => normaliseWord(keyword) === word) ? 'opt_in' : null;
}

/** Compares a word without letters or digits (an emoji) as it is. */
function normaliseWord(text: string): string {
  return foldWord(text) || foldText(text);
}
