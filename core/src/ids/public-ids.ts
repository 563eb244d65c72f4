/**
 * Public ids: a prefix and 32 lowercase hex digits. The digits are a UUIDv7, so ids sort by creation time. The database
 * stores the UUID; only the HTTP interface adds the prefix.
 */
export const ID_PREFIXES = {
  account: 'acc_',
  apiKey: 'key_',
  instance: 'ins_',
  message: 'msg_',
  conversation: 'cnv_',
  media: 'med_',
  event: 'evt_',
  endpoint: 'whe_',
  delivery: 'whd_',
  user: 'usr_',
  session: 'ses_',
  invitation: 'inv_',
  contact: 'alc_',
  auditEntry: 'aud_',
  passkey: 'pky_',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

/** @returns for example `ins_0193...` for the UUID of an instance */
export function toPublicId(kind: IdKind, uuid: string): string {
  return ID_PREFIXES[kind] + uuid.replaceAll('-', '');
}

/** @returns the UUID, or null when `id` is not a public id of that kind */
export function fromPublicId(kind: IdKind, id: string): string | null {
  const prefix = ID_PREFIXES[kind];
  if (id.length !== prefix.length + 32 || !id.startsWith(prefix)) return null;
  const hex = id.slice(prefix.length);
  if (!/^[0-9a-f]{32}$/.test(hex)) return null;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** @returns the creation time of a UUIDv7, in milliseconds since 1970 */
export function parseUuidTime(uuid: string): number {
  return Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16);
}
