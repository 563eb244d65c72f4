import type { MessageType } from '@gwk/core/resources/message';
import { lookUpType } from '../filename-type.js';
import { bareType, findPageOfType } from '../sniff.js';

const UNKNOWN_TYPES: ReadonlySet<string> = new Set(['application/octet-stream', 'binary/octet-stream']);

interface Promises {
  given: { mimetype?: string | null | undefined; filename?: string | null | undefined };
  /** From the host. */
  type: string | null;
  name: string | null;
}

/** Words for a page in place of a file: a login, an error, an expired link. Null: the file is no page, or a page is meant. */
export function findPage(
  messageType: MessageType,
  sniffed: string,
  { given, type, name }: Promises,
): string | null {
  const page = findPageOfType(sniffed);
  if (!page) return null;
  const words = `the URL answered with ${page.name} in place of the file`;
  if (messageType !== 'document') return words;
  const [asked = null] = [bareType(given.mimetype), lookUpType(given.filename ?? null)].filter(isKnown);
  const promised = asked === null ? [bareType(type), lookUpType(name)].filter(isKnown) : [asked];
  return promised.every((promise) => page.files.test(promise)) ? null : words;
}

const isKnown = (type: string | null): type is string => type !== null && !UNKNOWN_TYPES.has(type);
