import { UNSEEN } from '@gwk/core/text/text-folding';

/** A link of a text. */
export interface FoundLink {
  /** As written. Phones look for it in the text. */
  text: string;
  url: URL;
}

/** Spaces, quotes, East Asian punctuation and invisible characters. */
const NEVER_INSIDE = String.raw`\s<>"\x60“”„«»「」『』【】《》〈〉、。，；！？` + UNSEEN;
/** A letter of another script may stand directly before a link, and so may a mark of formatting. */
const LINK = new RegExp(`(?<![a-z\\d])(?:https?://|(?<![.@/:-])www\\.)[^${NEVER_INSIDE}]+`, 'gi');
/** The apps write formatting with `*`, `_` and `~`. */
const NEVER_LAST = /(?![/#&%@)\]}）］｝-])[\p{P}~|^]/u;
const OPENERS: Readonly<Record<string, string>> = {
  ...{ ')': '(', ']': '[', '}': '{' },
  ...{ '）': '（', '］': '［', '｝': '｛' },
};
const HOST = /^(?:https?:\/\/)?[^/?#:]*/i;
/** Browsers and servers accept no longer links. Parsing a host name takes time that grows with its square. */
const MAX_LINK = 2_048;
/** Links that cannot be parsed before the first good one. */
const MAX_CANDIDATES = 10;

/** Finds the first link of a text. A link of more than 2,048 characters counts as none. */
export function findFirstLink(text: string): FoundLink | null {
  let candidates = 0;
  for (const { 0: found, index } of text.matchAll(LINK)) {
    const quoted = text[index - 1] === "'" ? found.split("'", 1)[0]! : found;
    const link = parseLink(cutHost(cutEnd(quoted)));
    candidates += 1;
    if (link !== null || candidates === MAX_CANDIDATES) return link;
  }
  return null;
}

function parseLink(text: string): FoundLink | null {
  if (text.length > MAX_LINK) return null;
  const isBare = /^www\./i.test(text);
  const url = URL.parse(isBare ? `https://${text}` : text);
  if (url === null) return null;
  // "www.example" is no host.
  return isBare && !/^www(?:\.[^.]+){2,}$/.test(url.hostname) ? null : { text, url };
}

/** Cuts a link before a bracket that the link does not open, and before punctuation at its end. */
function cutEnd(link: string): string {
  let end = findUnopened(link);
  while (end > 0 && NEVER_LAST.test(link[end - 1]!)) end -= 1;
  return link.slice(0, end);
}

function findUnopened(link: string): number {
  const open = new Map(Object.values(OPENERS).map((opener) => [opener, 0]));
  for (let at = 0; at < link.length; at++) {
    const count = open.get(link[at]!);
    if (count !== undefined) open.set(link[at]!, count + 1);
    const opener = OPENERS[link[at]!];
    if (opener === undefined) continue;
    const left = open.get(opener)! - 1;
    if (left < 0) return at;
    open.set(opener, left);
  }
  return link.length;
}

/** Chinese and Japanese texts may follow a host without a space. A top-level domain never has two scripts. */
function cutHost(link: string): string {
  const host = HOST.exec(link)![0];
  const dot = host.lastIndexOf('.');
  const [domain] = /^[a-z]{2,}(?=\P{ASCII})/iu.exec(host.slice(dot + 1)) ?? [];
  return dot === -1 || domain === undefined ? link : host.slice(0, dot + 1 + domain.length);
}
