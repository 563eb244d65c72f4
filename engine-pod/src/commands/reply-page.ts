import { MAX_REPLY_LENGTH } from '@gwk/core/protocol/commands';

/** Leaves space for the other fields of the reply: the longest description of a group takes 12,288 characters of JSON. */
const MAX_PAGE_LENGTH = MAX_REPLY_LENGTH - 16_384;

/**
 * The items after `after` in the order of their keys, as many as fit into a reply.
 * @returns `next`: the key of the last item if others follow
 */
export function cutPage<T>(
  items: readonly T[],
  getKey: (item: T) => string,
  { after, limit }: { after: string | null; limit: number },
): { items: T[]; next: string | null } {
  const rest = items
    .map((item) => ({ key: getKey(item), item }))
    .filter(({ key }) => after === null || key > after)
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  let length = 0;
  const end = rest.findIndex(({ item }, index) => {
    length += JSON.stringify(item).length + 1;
    return index >= limit || length > MAX_PAGE_LENGTH;
  });
  const page = end < 0 ? rest : rest.slice(0, end);
  return { items: page.map(({ item }) => item), next: end < 0 ? null : (page.at(-1)?.key ?? null) };
}
