import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import type { Texts } from './texts';

export const LANGUAGES = { 'pt-BR': 'Português', en: 'English' } as const;
export type Language = keyof typeof LANGUAGES;

const LOADERS: Record<Language, () => Promise<{ default: Texts }>> = {
  'pt-BR': () => import('./pt/index'),
  en: () => import('./en/index'),
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

async function show(language: Language): Promise<void> {
  const { default: texts } = await LOADERS[language]();
  i18next.addResourceBundle(language, 'translation', texts);
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
