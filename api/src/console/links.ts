/**
 * Address of a page of the console. Secrets are in the fragment, which browsers send to no server. The console is at the root
 * of its host, also if the API has a path of its own.
 */
export function makeLink(
  baseUrl: string,
  page: 'handoff' | 'invitation' | 'password-reset',
  fragment: Readonly<Record<string, string>>,
): string {
  const url = new URL(`/console/${page}`, baseUrl);
  url.hash = String(new URLSearchParams(fragment));
  return url.href;
}
