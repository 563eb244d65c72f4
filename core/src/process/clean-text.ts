/** Without characters that could change the terminal or the order of the text. It keeps line breaks and tabs. */
export const cleanText = (text: string): string =>
  text.replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069\u2028\u2029]/gu, ' ');

/** Text in one line, without such characters. */
export const cleanLine = (text: string): string => cleanText(text.replace(/\p{Cc}+/gu, ' '));
