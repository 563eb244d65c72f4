import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { ConversationTexts, Texts } from './texts';

export const LANGUAGES = { 'pt-BR': 'Português', en: 'English' } as const;
export type Language = keyof typeof LANGUAGES;

const LOADERS: Record<Language, () => Promise<{ default: Texts }>> = {
  'pt-BR': () => import('./pt/index'),
  en: () => import('./en/index'),
};
const CONVERSATION_LOADERS: Record<Language, () => Promise<ConversationTexts>> = {
  'pt-BR': () => import('./pt/conversations'),
  en: () => import('./en/conversations'),
};
const STORED = 'gwk.language';

const isLanguage = (value: string | null): value is Language => value !== null && value in LANGUAGES;

/** The language chosen in this browser, else the first of the browser's that the console has, else English. */
function decideLanguage(): Language {
  const chosen = localStorage.getItem(STORED);
  if (isLanguage(chosen)) return chosen;
  for (const wanted of navigator.languages) {
    if (wanted.toLowerCase().startsWith('pt')) return 'pt-BR';
    if (wanted.toLowerCase().startsWith('en')) return 'en';
  }
  return 'en';
}

let showsConversations = false;

async function addConversationTexts(language: Language): Promise<void> {
  const { conversations } = await CONVERSATION_LOADERS[language]();
  i18next.addResourceBundle(language, 'translation', { conversations });
}

/** Adds the texts of conversations, which the first page does not need, in this language and in those chosen later. */
export async function loadConversationTexts(): Promise<void> {
  showsConversations = true;
  await addConversationTexts(i18next.language as Language);
}

async function show(language: Language): Promise<void> {
  const { default: texts } = await LOADERS[language]();
  i18next.addResourceBundle(language, 'translation', texts);
  if (showsConversations) await addConversationTexts(language);
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
}

export async function startTexts(): Promise<void> {
  await i18next.use(initReactI18next).init({
    resources: {},
    lng: 'en',
    fallbackLng: false,
    nsSeparator: false,
    // React escapes texts.
    interpolation: { escapeValue: false },
  });
  await show(decideLanguage());
}

export async function switchLanguage(language: string): Promise<void> {
  if (!isLanguage(language)) return;
  localStorage.setItem(STORED, language);
  await show(language);
}
