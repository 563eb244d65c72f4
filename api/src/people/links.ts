import { makeConsoleUrl } from '../http/console-url.js';

/** Address of a page of the console with a secret in the fragment, which browsers send to no server. */
export function makeLink(
  baseUrl: string,
  page: 'handoff' | 'invitation' | 'password-reset',
  fragment: Readonly<Record<string, string>>,
): string {
  const url = makeConsoleUrl(baseUrl, page);
  url.hash = String(new URLSearchParams(fragment));
  return url.href;
}
