import { LANGUAGES, type Language } from '@gwk/core/language';
import type { Exchange } from './exchange.js';

/** Language of texts for people, by `Accept-Language`: Portuguese unless the client prefers another one. */
export function chooseLanguage(req: Exchange): Language {
  return (req.acceptsLanguages(...LANGUAGES) || LANGUAGES[0]) as Language;
}

/** Headers of an answer with texts for people. */
export function languageHeaders(language: Language): string[] {
  return ['Content-Language', language, 'Vary', 'Accept-Language'];
}
