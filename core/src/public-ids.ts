/**
 * Public identifiers: a prefix and 32 lowercase hex characters (spec: Identifier prefixes).
 * The hex is a UUID of version 7, so ids sort by creation time; databases hold the UUID, consumers see the prefix.
 */
export const ID_PREFIXES = {
  account: 'acc_',
  apiKey: 'key_',
  instance: 'ins_',
  message: 'msg_',
  media: 'med_',
  event: 'evt_',
  endpoint: 'whe_',
  delivery: 'whd_',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

/** `ins_0193...` for a UUID of the database. */
export function toPublicId(kind: IdKind, uuid: string): string {
  return ID_PREFIXES[kind] + uuid.replaceAll('-', '');
}

/** The UUID of a public id, or null when the text is not an id of that kind. */
export function fromPublicId(kind: IdKind, id: string): string | null {
  const prefix = ID_PREFIXES[kind];
  if (id.length !== prefix.length + 32 || !id.startsWith(prefix)) return null;
  const hex = id.slice(prefix.length);
  if (!/^[0-9a-f]{32}$/.test(hex)) return null;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
