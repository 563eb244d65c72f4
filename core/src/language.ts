/** Languages of the texts for people in answers of the API. The first is the default. */
export const LANGUAGES = ['pt', 'en'] as const;
export type Language = (typeof LANGUAGES)[number];

/** A text for people in each language. */
export type LocalText = Readonly<Record<Language, string>>;
