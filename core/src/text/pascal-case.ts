/** Joins the words of a code, a path or a field: `message.sent_from_device` becomes `MessageSentFromDevice`. */
export const pascalCase = (text: string): string =>
  text.replaceAll(/(?:^|[^A-Za-z0-9]+)(\w?)/g, (_, letter: string) => letter.toUpperCase());
