import type { Language } from '../resources/console/session.js';

/** Content of an e-mail, as plain text. */
export interface MailText {
  language: Language;
  subject: string;
  paragraphs: readonly string[];
  /** Follows the paragraphs. */
  link?: { label: string; url: string };
}

/** Renders a mail as plain text and as HTML. */
export function renderMail({ language, subject, paragraphs, link }: MailText) {
  const text = [...paragraphs, ...(link ? [`${link.label}:\n${link.url}`] : [])].join('\n\n');
  const blocks = paragraphs.map((paragraph) => `<p>${escape(paragraph).replaceAll('\n', '<br>')}</p>`);
  if (link) blocks.push(`<p><a href="${escape(link.url)}">${escape(link.label)}</a></p>`);
  const html = `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><title>${escape(subject)}</title></head>
<body style="font-family: sans-serif; font-size: 16px; line-height: 1.5">
${blocks.join('\n')}
</body>
</html>
`;
  return { subject, text: `${text}\n`, html };
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!);
